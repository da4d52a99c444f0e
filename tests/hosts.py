"""Hosts for tests of fleets: network namespaces, joined to ours by pairs of virtual interfaces, with an sshd in each.

Each has a home of acidtest's and a /run/lock of its own, as a machine has. Nothing of it is reached from elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from first_mounts import Mounts

DAEMONS = ("sshd", "slurmd ")
PASSED_ON = ("PYTHONPATH", "ACIDTEST_RIG", "PATH", "PYENV_VERSION")


def run(*command: str | Path) -> str:
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, timeout=60).stdout


@dataclass
class SshHost:
    """One host, as a client of ssh sees it."""

    namespace: str
    ours: str  # our address on the pair of interfaces that joins it
    address: str
    home: Path

    def cut_link(self) -> None:
        run("ip", "link", "set", self.interface, "down")

    def mend_link(self) -> None:
        run("ip", "link", "set", self.interface, "up")

    @property
    def interface(self) -> str:
        return f"v{self.namespace[-8:]}"

    def processes(self) -> dict[int, str]:
        """The command lines of what runs in the namespace, by process."""
        found = {}
        for pid in map(int, run("ip", "netns", "pids", self.namespace).split()):
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found[pid] = line.strip()
        return found

    def find(self, words: str) -> list[int]:
        return [pid for pid, line in self.processes().items() if words in line]

    def at_work(self) -> dict[int, str]:
        """What runs there beside the daemon that the host is reached by."""
        return {pid: line for pid, line in self.processes().items() if not any(daemon in line for daemon in DAEMONS)}

    def enter(self, *command: str | Path) -> str:
        """Run ``command`` there, and see the file systems that are mounted there."""
        daemon = next(pid for pid, line in self.processes().items() if any(daemon in line for daemon in DAEMONS))
        return run("nsenter", f"--target={daemon}", "--net", "--mount", *command)

    def signal(self, number: signal.Signals) -> None:
        """To all that runs there beside the daemon."""
        for pid in self.at_work():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def power_off(self) -> None:
        """Kill all that runs there at once but that daemon, which is there again when the power is."""
        for number in (signal.SIGSTOP, signal.SIGKILL):  # none of them sees another one end
            self.signal(number)

    def left(self) -> list[str]:
        """What is there of acidtest's: ledgers with something in them, and what its runs keep."""
        ledgers = [str(path) for path in self.home.glob("ledger/*.jsonl")]
        return ledgers + [str(path) for path in self.home.glob("fleet/*")]

    def clear(self) -> None:
        """End what a test has left there."""
        self.mend_link()
        self.power_off()
        for name in ("fleet", "ledger"):
            shutil.rmtree(self.home / name, ignore_errors=True)


class SshHosts:
    """Some of them, and what a client needs to reach them."""

    def __init__(self, hosts: Sequence[SshHost], listen: str, key: Path, known: Path) -> None:
        self.hosts, self.listen, self.key, self.known = list(hosts), listen, key, known

    def clear(self) -> None:
        """End what a test has left running there."""
        for host in self.hosts:
            host.clear()

    def fleet(self, path: Path, more: str = "") -> Path:
        """A fleet's file of all of them."""
        names = ", ".join(f'"{host.address}"' for host in self.hosts)
        tables = "\n".join(
            f'[hosts."{host.address}"]\nhome = "{host.home}"\nlisten = "{host.address}"\npython = "{sys.executable}"\n'
            for host in self.hosts
        )
        path.write_text(
            f'ssh = [{names}]\nlisten = "{self.listen}"\n{more}\n'
            f'[ssh_options]\nusername = "root"\nclient_keys = ["{self.key}"]\nknown_hosts = "{self.known}"\n{tables}'
        )
        return path


@contextmanager
def ssh_hosts(directory: Path, count: int) -> Iterator[SshHosts]:
    """``count`` hosts for as long as the block goes on; their files lie in ``directory``."""
    key, of_host = directory / "key", directory / "host-key"
    for path in (key, of_host):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path)
    (directory / "authorized").write_text(key.with_suffix(".pub").read_text())
    (directory / "authorized").chmod(0o600)
    Path("/run/sshd").mkdir(exist_ok=True)
    with ExitStack() as held:
        listen = held.enter_context(address())
        hosts = [held.enter_context(joined(directory, number)) for number in range(1, count + 1)]
        for number, host in enumerate(hosts, start=1):
            held.enter_context(_sshd(directory, number, host, of_host))
        known = directory / "known"
        public = of_host.with_suffix(".pub").read_text().split()[:2]
        known.write_text("".join(f"{host.address} {' '.join(public)}\n" for host in hosts))
        yield SshHosts(hosts, listen, key, known)


def _network() -> str:
    """Of 198.18.0.0/15, which RFC 2544 gives to tests; by chance, for tests run side by side."""
    taken = run("ip", "-4", "addr")
    while (net := f"198.{random.choice((18, 19))}.{random.randrange(256)}") in taken:
        pass
    return net


@contextmanager
def address() -> Iterator[str]:
    """An address of ours that all hosts reach, by whichever pair of interfaces."""
    listen = f"{_network()}.1"
    run("ip", "addr", "add", f"{listen}/32", "dev", "lo")
    try:
        yield listen
    finally:
        run("ip", "addr", "del", f"{listen}/32", "dev", "lo")


@contextmanager
def joined(directory: Path, number: int) -> Iterator[SshHost]:
    """A host without any daemon; what runs there in the end is killed."""
    name = f"acidtest-{uuid.uuid4().hex[:8]}"
    net = _network()
    home = directory / f"home-{number}"
    home.mkdir()
    host = SshHost(name, f"{net}.1", f"{net}.2", home)
    engines = Path(os.environ["ACIDTEST_HOME"]) / "engines"
    (home / "engines").symlink_to(engines.resolve())
    run("ip", "netns", "add", name)
    try:
        run("ip", "link", "add", host.interface, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "addr", "add", f"{host.ours}/30", "dev", host.interface)
        run("ip", "link", "set", host.interface, "up")
        # Hosts reach each other through ours; no other interface forwards anything for that.
        Path(f"/proc/sys/net/ipv4/conf/{host.interface}/forwarding").write_text("1")
        for device, at in (("lo", None), ("eth0", host.address)):
            if at:
                run("ip", "-n", name, "addr", "add", f"{at}/30", "dev", device)
            run("ip", "-n", name, "link", "set", device, "up")
        run("ip", "-n", name, "route", "add", "default", "via", host.ours)
        yield host
    finally:
        for pid in host.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        subprocess.run(["ip", "link", "del", host.interface], check=False, capture_output=True)
        run("ip", "netns", "del", name)


def inside(host: SshHost, command: str) -> list[str]:
    """Which runs ``command``, of a shell, on ``host``, with a /run/lock of its own and no mount of any test."""
    own = f"mount -t tmpfs tmpfs /run/lock && exec {command}"
    namespaces = [f"--net=/run/netns/{host.namespace}", f"--mount={os.environ[Mounts.NAME]}"]
    # "ip netns exec" would mount another /sys, without control groups.
    return ["nsenter", *namespaces, "unshare", "--mount", "sh", "-c", own]


@contextmanager
def _sshd(directory: Path, number: int, host: SshHost, key: Path) -> Iterator[None]:
    conf = directory / f"sshd-{number}.conf"
    # Its shells read no files of ours, which may start whatever else whenever a command is run.
    own = {"HOME": str(host.home)} | {key: os.environ[key] for key in PASSED_ON if key in os.environ}
    passed = " ".join(f'{key}="{value}"' for key, value in own.items())
    conf.write_text(
        f"ListenAddress {host.address}\nHostKey {key}\nAuthorizedKeysFile {directory}/authorized\n"
        "PermitRootLogin prohibit-password\nPasswordAuthentication no\nStrictModes no\nUsePAM no\n"
        f"PidFile none\nMaxStartups 100\nSetEnv {passed}\n"
    )
    with (directory / f"sshd-{number}.log").open("wb") as log:
        process = subprocess.Popen(inside(host, f"/usr/sbin/sshd -D -e -f {conf}"), stderr=log, stdout=log)
    try:
        _await_sshd(host, process, log.name)
        yield
    finally:
        process.kill()
        process.wait(30)


def _await_sshd(host: SshHost, process: subprocess.Popen[bytes], log: str) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        assert process.poll() is None, Path(log).read_text()
        if f"Server listening on {host.address}" in Path(log).read_text():
            return
        time.sleep(0.05)
    raise AssertionError(f"no sshd in {host.namespace}: {Path(log).read_text()}")
