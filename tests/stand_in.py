"""A stand-in for a machine whose plug is pulled: namespaces on this one, over a simulated disk of acidtest's.

It has processes, mounts, a network, a clock of its uptime and a boot id of its own, all of them new after each start.
Its mounts are a copy of those that were there before the tests began (see ``first_mounts``), and its disk.
Its database lies on a file system on a simulated disk. Its power fails in this order: its cable carries nothing any
more, its disk forgets what it has not flushed, its processes are gone. So no acknowledgement is heard that came later
than the cut.

``python stand_in.py off DIRECTORY`` and ``on DIRECTORY`` are what a switchable socket is elsewhere.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import time
import uuid
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from acidtest.files import opened_by, processes
from acidtest.place import disk_service, link
from acidtest.place.facts import mounts_now
from first_mounts import Mounts

BOOT = r"""
set -eu
mount "$DEVICE" "$DISK"
mount -t proc proc /proc
mount -t tmpfs tmpfs /dev/shm
mount --bind "$BOOT_ID" /proc/sys/kernel/random/boot_id
exec "$@"
"""


@dataclass
class StandIn:
    """``command`` is what the machine starts by itself; ``network`` the namespace that it has."""

    directory: str
    disk: str  # the name of its simulated disk
    mounted: str
    acidtest: str
    network: str
    command: list[str]

    @classmethod
    def read(cls, directory: Path) -> StandIn:
        return cls(**json.loads((directory / "machine.json").read_text()))

    def write(self) -> None:
        (Path(self.directory) / "machine.json").write_text(json.dumps(asdict(self)))

    def on(self, *, restore: bool = True) -> None:
        at = Path(self.directory)
        if restore:
            self._acidtest("disk", "restore", self.disk)
        if not (at / "same-boot-id").exists():
            (at / "boot_id").write_text(f"{uuid.uuid4()}\n")
        home = at / "home"
        up_s = 0 if (at / "uptime-goes-on").exists() else time.clock_gettime(time.CLOCK_BOOTTIME)
        self._inside("ip", "link", "set", link.CABLE, "up")
        machine = [
            "nsenter", f"--net={self.network}", f"--mount={os.environ[Mounts.NAME]}", "--",
            "unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--ipc", "--uts",
            "--time", "--boottime", str(-int(up_s)), "--",
            "sh", "-c", BOOT, "boot", *self.command,
        ]  # fmt: skip
        [device] = [mount.source for mount in mounts_now() if mount.point == self.mounted]
        environment = {**os.environ, "ACIDTEST_HOME": str(home), "DISK": self.mounted, "BOOT_ID": str(at / "boot_id")}
        environment["DEVICE"] = device
        home.mkdir(exist_ok=True)
        with (at / "console").open("ab") as console:
            process = subprocess.Popen(
                machine, env=environment, stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                start_new_session=True,
            )  # fmt: skip
        (at / "process").write_text(json.dumps([process.pid, started_at(process.pid)]))

    def off(self) -> None:
        with disk_service.opened(self.disk) as disk, closing(link._socket_in(Path(self.network))) as control:
            # At once: whatever is flushed in between is heard by nobody.
            down = struct.pack(link.IFREQ, link.CABLE.encode(), 0)
            fcntl.ioctl(control, link.SIOCSIFFLAGS, down)
            disk.cut("none", 1, "succeed")
        # The kernel beneath it lives on, and would send later what no machine without power can send.
        self._inside("ss", "--kill", "--tcp", "--no-header")
        self.end()

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Its processes, of which the first one is recorded; with it all others go."""
        record = Path(self.directory) / "process"
        if not record.exists():
            return
        pid, since = json.loads(record.read_text())
        if since and started_at(pid) == since:
            # The first process of the machine, the parent of which is recorded, is gone after all others of it.
            first = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
            alive = {one: started_at(one) for one in (pid, *first)}
            for one in [pid] if number == signal.SIGKILL else first:
                os.kill(one, number)
            for one, started in alive.items():
                while started_at(one) == started and state_of(one) != "Z":
                    time.sleep(0.01)
        record.unlink()
        while in_use(self.mounted):
            time.sleep(0.01)

    def remove_disk(self) -> None:
        self._acidtest("disk", "remove", self.disk)

    def _inside(self, *command: str) -> None:
        """In its network."""
        subprocess.run([*link.entering(Path(self.network)), *command], check=True, capture_output=True)

    def _acidtest(self, *words: str) -> None:
        """The kernel lets go of what was mounted in a machine a moment after its last process."""
        end = time.monotonic() + 60
        while (ran := _ran([self.acidtest, *words])).returncode == 2 and "in use" in ran.stderr:
            assert time.monotonic() < end, ran.stderr
            time.sleep(0.1)
        assert ran.returncode == 0, ran.stderr


def _ran(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def started_at(pid: int) -> str:
    return _field(pid, 19)


def state_of(pid: int) -> str:
    return _field(pid, 0)


def _field(pid: int, number: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[number]
    except OSError:
        return ""


def in_use(mounted: str) -> bool:
    """Whether a process that ends still has something open there; see proc(5)."""
    device = Path(mounted).stat().st_dev
    return any(opened.st_dev == device for process in processes() for opened in opened_by(process))


def main(words: list[str]) -> Any:
    machine = StandIn.read(Path(words[1]))
    if words[0] == "shutdown":  # in order, as far as its own service goes
        machine.end(signal.SIGTERM)
    return {"off": machine.off, "on": machine.on, "shutdown": lambda: None}[words[0]]()


if __name__ == "__main__":
    main(sys.argv[1:])
