"""Two networks with one cable between them: what a primary and its replica reach each other by, and nothing else.

Each end is a network namespace (network_namespaces(7)) that a process of ours holds, and the cable a veth(4): when
the processes end, all of it is gone. Who drives load comes in by a server's Unix socket, which no namespace hides.
Where a third votes with the two, its network is the switch in the middle, to which both have a cable.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from acidtest.errors import CellFailed, MachineLacks
from acidtest.place.ledger import Ledger

# Of the block that is set aside for tests between networks (RFC 2544): nobody else is in these two networks.
PRIMARY, REPLICA, ARBITRATOR, PREFIX = "198.18.0.1", "198.18.0.2", "198.18.0.3", 29
CABLE = "cable"  # as both ends call it
SWITCH = "switch"  # a bridge in the arbitrator's network, see bridge(8)
READY_S = 10.0
CLONE_NEWNET = 0x40000000  # setns(2)
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1  # netdevice(7)
IFREQ = "16sh22x"


def network_of(pid: int) -> Path:
    """That a process is in."""
    return Path(f"/proc/{pid}/ns/net")


def entering(network: Path) -> list[str]:
    """What a command is preceded by that is to run there; see nsenter(1)."""
    return ["nsenter", f"--net={network}", "--"]


class Inside:
    """Starts processes in one of the networks; all else is the ledger's."""

    def __init__(self, ledger: Ledger, network: Path) -> None:
        self._ledger, self.network = ledger, network

    def start_process(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        stderr: IO[bytes],
        stdout: IO[bytes] | None = None,
    ) -> tuple[str, subprocess.Popen[bytes]]:
        return self._ledger.start_process(
            [*entering(self.network), *command], environment=environment, stderr=stderr, stdout=stdout
        )

    def end_process(self, id: str, process: subprocess.Popen[bytes]) -> None:  # noqa: A002
        self._ledger.end_process(id, process)

    def make_directory(self, path: Path) -> str:
        return self._ledger.make_directory(path)

    def remove_directory(self, id: str) -> None:  # noqa: A002
        self._ledger.remove_directory(id)


class Link:
    """The cable and its two ends, until ``release``. Raises MachineLacks where there are no such networks.

    With ``arbitrated`` there is a third network, which stays linked with the replica when the link is down.
    """

    arbitrator: Inside | None = None

    def __init__(self, ledger: Ledger, *, arbitrated: bool = False) -> None:
        self._ledger = ledger
        for program, package in (("ip", "iproute2"), ("nsenter", "util-linux"), ("unshare", "util-linux")):
            if shutil.which(program) is None:
                raise MachineLacks(f"a link between two servers needs the program {program}", f"install {package}")
        self._held: list[tuple[str, subprocess.Popen[bytes]]] = []
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by release
        self._control: socket.socket | None = None
        try:
            primary, replica = self._network(), self._network()
            if arbitrated:
                between = self._network()
                _configure(between, f"link add {SWITCH} type bridge forward_delay 0")
                for port, holder in (("primary", primary), ("replica", replica)):
                    _cable(CABLE, holder, port, between)
                    _configure(between, f"link set {port} master {SWITCH} up")
                _address(between, SWITCH, ARBITRATOR)
                self.arbitrator = Inside(ledger, network_of(between))
            else:
                _cable(CABLE, primary, CABLE, replica)
            for holder, address in ((primary, PRIMARY), (replica, REPLICA)):
                _address(holder, CABLE, address)
            self.primary, self.replica = (Inside(ledger, network_of(holder)) for holder in (primary, replica))
            self._control = _socket_in(network_of(primary))
        except BaseException:
            self.release()
            raise

    def _network(self) -> int:
        """The process that holds a new one."""
        command = ["unshare", "--net", "sleep", "infinity"]
        id, process = self._ledger.start_process(  # noqa: A001
            command, environment=os.environ, stderr=self._stderr, stdout=self._stderr
        )
        self._held.append((id, process))
        end = time.monotonic() + READY_S
        ours = Path("/proc/self/ns/net").stat().st_ino
        while process.poll() is None and time.monotonic() < end:
            # What it executes next says that it has come to its own.
            with contextlib.suppress(OSError):
                inside = network_of(process.pid).stat().st_ino != ours
                if inside and Path(f"/proc/{process.pid}/comm").read_text(encoding="utf-8").strip() == "sleep":
                    return process.pid
            time.sleep(0.005)
        self._stderr.seek(0)
        text = self._stderr.read().decode(errors="replace").strip()
        raise MachineLacks(f"this machine gives no network namespace: {text or 'no answer'}", "run acidtest as root")

    def up(self) -> None:
        """Carry what is sent. The addresses stay from one time to the next."""
        self._set(self._flags() | IFF_UP)

    def down(self) -> None:
        """Carry nothing from this moment on, in neither direction; neither end is told. Raises CellFailed."""
        self._set(self._flags() & ~IFF_UP)
        if self._flags() & IFF_UP:
            raise CellFailed("the link between the servers could not be taken down")

    def _flags(self) -> int:
        assert self._control is not None
        answer = fcntl.ioctl(self._control, SIOCGIFFLAGS, struct.pack(IFREQ, CABLE.encode(), 0))
        return int(struct.unpack(IFREQ, answer)[1])

    def _set(self, flags: int) -> None:
        assert self._control is not None
        fcntl.ioctl(self._control, SIOCSIFFLAGS, struct.pack(IFREQ, CABLE.encode(), flags))

    def release(self) -> None:
        """End both networks, and with them what is still in there."""
        if self._control is not None:
            self._control.close()
            self._control = None
        while self._held:
            self._ledger.end_process(*self._held.pop())
        self._stderr.close()


def _cable(name: str, holder: int, other_name: str, other: int) -> None:
    """With one end in the network of each holder, called so there."""
    ends = [name, "netns", str(holder), "type", "veth", "peer", "name", other_name, "netns", str(other)]
    _run("ip", "link", "add", "name", *ends)


def _address(holder: int, device: str, address: str) -> None:
    for command in (f"addr add {address}/{PREFIX} dev {device}", f"link set {device} up", "link set lo up"):
        _configure(holder, command)


def _configure(holder: int, command: str) -> None:
    _run(*entering(network_of(holder)), "ip", *command.split())


def _run(*command: str) -> None:
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    if ended.returncode != 0:
        raise MachineLacks(
            f"the link between two servers could not be made: {' '.join(command)}: {ended.stderr.strip()}",
            "run acidtest as root, on a kernel with network namespaces and veth",
        )


def _socket_in(network: Path) -> socket.socket:
    """A socket by which that network is configured, without a process in it: a veth is taken down in microseconds.

    A thread enters the network, see setns(2); the socket stays in the one in which it was made.
    """
    made: list[socket.socket | OSError] = []

    def make() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        with network.open("rb") as handle:
            if libc.setns(handle.fileno(), CLONE_NEWNET) != 0:
                made.append(OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno())))
                return
        made.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if not made or isinstance(made[0], OSError):
        raise MachineLacks(f"{network}: cannot be entered: {made[0] if made else 'no answer'}", "run acidtest as root")
    return made[0]
