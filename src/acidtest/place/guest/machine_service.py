"""A guest that stays until it is removed: one service of this machine's, over a simulated disk that stays.

It is a machine of its own in what a power cut takes: kernel, boot id, uptime, memory, the file system on its disk. Its
programs are those of this machine, whose root it has read-only; what it writes elsewhere than on its disk is in its
memory. Nothing but this machine's loopback address reaches it, and it reaches nothing.

Switched off, it loses its power: QEMU stops where it is, then the disk loses what its cache holds, then QEMU is killed.
So nothing that the guest says can come from after the cut. All that is made for it stands in the disk's ledger.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from acidtest.errors import BadInput, CellFailed, not_among
from acidtest.experiment import PlaceSpec
from acidtest.experiment.places import RAW
from acidtest.files import kernel_text, state_directory
from acidtest.filesystems import FILESYSTEMS
from acidtest.place import disk_service, fsck, mkfs
from acidtest.place.guest import initramfs, kernel
from acidtest.place.guest.machine import Hardware, can_run, drive, option, started
from acidtest.place.storage import new_label

ROOT, GIVEN = "root", "given"  # what the guest is given to mount: this machine's root, and what it is to do
AT = "/srv/acidtest"  # in the guest: where its disk is mounted
ADDRESS = "10.0.2.15"  # that of the first guest in QEMU's user network; see its manual
NEEDED = (*initramfs.BASE, "9pnet_virtio", "9p", "overlay", "e1000")
STOPPED_S = 60.0  # for what is under way on the disk
BOOT_S = 600.0  # with software emulation on a busy machine; 15 s on one that is not
POLL_S = 0.1
LAST_WORDS = 4
INIT = f"""\
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox --install -s /bin
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
end() {{ echo "init: $1"; poweroff -f; sleep 9; }}
for module in $(cat /base); do insmod $module || echo "init: $module cannot be loaded"; done
mkdir -p /below /over /given /machine
# cache=loose: what lies there is not written while the guest is up, and a library is mapped into memory.
share() {{ mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288,cache=loose,ro $1 $2; }}
share {ROOT} /below && share {GIVEN} /given || end "this machine's files cannot be mounted"
mount -t tmpfs over /over && mkdir /over/upper /over/work
mount -t overlay -o lowerdir=/below,upperdir=/over/upper,workdir=/over/work over /machine || end "no root"
ifconfig lo 127.0.0.1 up
ifconfig eth0 {ADDRESS} netmask 255.255.255.0 up
mount -t tmpfs run /machine/run
cp /bin/busybox /given/service /given/filesystem /init.then /machine/run
for point in proc sys dev; do mount --move /$point /machine/$point; done
# No chroot: in one there are no user namespaces, which PostgreSQL needs under root.
exec switch_root /machine /run/busybox sh /run/init.then
"""
THEN = f"""\
end() {{ echo "init: $1"; /run/busybox poweroff -f; sleep 9; }}
mkdir -p /dev/pts /dev/shm {AT}
ln -s /proc/self/fd /dev/fd; ln -s fd/0 /dev/stdin; ln -s fd/1 /dev/stdout; ln -s fd/2 /dev/stderr
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t $(cat /run/filesystem) /dev/vda {AT} || end "its disk cannot be mounted"
/bin/sh /run/service </dev/null
end "its service ended with code $?"
"""


@dataclass(frozen=True)
class Record:
    """What the next command must know of a guest; ``guest.json`` in the directory of its disk."""

    filesystem: str
    port: int  # of this machine's loopback address; the service listens at the same one of ``ADDRESS``
    memory_mb: int
    cpus: int
    accelerator: str  # "tcg", "kvm"
    faults: tuple[str, ...]  # of its disk, again after each cut
    process: str = ""  # QEMU's id in the disk's ledger; "" while it is off


RECORD: TypeAdapter[Record] = TypeAdapter(Record)


@dataclass(frozen=True)
class Service:
    """What the guest runs as soon as its disk is mounted: a command of this machine's, in a directory of it."""

    command: Sequence[str]
    directory: Path
    listens: str  # a line of its output with this says that it does

    def script(self) -> str:
        """For a shell in the guest. Its state is on the disk that is cut, as that of a real machine is."""
        kept = ("ACIDTEST_RIG", "PATH", "LANG", "LC_ALL", "PYTHONUTF8")
        variables = {name: os.environ[name] for name in kept if name in os.environ}
        variables |= {
            "ACIDTEST_HOME": f"{AT}/acidtest-home",
            "HOME": "/root",
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
        }
        lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
        lines.append('mkdir -p "$ACIDTEST_HOME"')
        for brought in ("engines", "builds"):
            path = shlex.quote(str((state_directory() / brought).resolve()))
            lines.append(f'ln -sfn {path} "$ACIDTEST_HOME/{brought}"')
        return "\n".join([*lines, f"cd {shlex.quote(str(self.directory))}", f"exec {shlex.join(self.command)}", ""])


class StandingGuest:
    """The guest on ``disk``, to be commanded by one command at a time."""

    def __init__(self, disk: disk_service.StandingDisk, record: Record) -> None:
        self._disk, self.record = disk, record

    @property
    def directory(self) -> Path:
        """Where its files lie, in that of its disk."""
        return self._disk.directory / "guest"

    @property
    def console(self) -> Path:
        """What it has printed since it was made."""
        return self.directory / "console"

    @property
    def pid(self) -> int | None:
        """QEMU's, while it runs."""
        return self._disk.ledger.running(self.record.process)

    def make(self, service: Service) -> None:
        """Make the file system on its disk. Raises CellFailed."""
        device = self._disk.device
        assert device is not None
        self.directory.mkdir()
        given = self.directory / GIVEN
        given.mkdir()
        (given / "filesystem").write_text(self.record.filesystem, encoding="utf-8")
        (given / "service").write_text(service.script(), encoding="utf-8")
        commands = mkfs.commands(self.record.filesystem, PlaceSpec(kind="disk"), device, new_label(), None)
        mkfs.run(self._disk.ledger, commands, self.directory / "mkfs")
        self._keep()

    def switch_on(self, has: kernel.Kernel) -> None:
        """It boots, on what its disk has kept. Raises BadInput where it is on, CellFailed."""
        if self.pid is not None:
            raise BadInput(f"{self._disk.record.name}: is on", f"acidtest plug guest off {self._disk.record.name}")
        if self.record.process:  # it has ended by itself: its disk has its power still
            self.switch_off()
        if self._disk.is_cut:
            self._disk.restore()
            self._disk.add_faults(self.record.faults)
        module = FILESYSTEMS[self.record.filesystem].module or self.record.filesystem
        archive = initramfs.build(has, [], [], init=INIT, needed=[*NEEDED, module], more={"/init.then": THEN})
        with (self.directory / "qemu.log").open("ab") as log:
            process, _ = self._disk.ledger.start_process(
                self._command(has, archive),
                environment=os.environ,
                stderr=log,
                stdout=log,
                directory=Path("/"),  # it keeps no directory of the caller's in use
            )
        self.record = replace(self.record, process=process)
        self._keep()

    def _command(self, has: kernel.Kernel, archive: Path) -> list[str]:
        record = self.record
        return [
            *started(has, archive, Hardware(record.memory_mb, record.cpus, record.accelerator, 0)),
            "-chardev", f"file,id=console,append=on,path={option(self.console)}", "-serial", "chardev:console",
            *drive("disk", self._disk.drive.file), "-device", "virtio-blk-pci,drive=disk,discard=off,write-zeroes=off",
            *_share(ROOT, Path("/")), *_share(GIVEN, self.directory / GIVEN),
            "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{record.port}-{ADDRESS}:{record.port}",
            "-device", "e1000,netdev=net",
        ]  # fmt: skip

    def await_service(self, service: Service, limit_s: float = BOOT_S) -> None:
        """Until its service says that it listens. Raises CellFailed with the last words of its console."""
        end = time.monotonic() + limit_s
        while service.listens not in _text(self.console):
            if self.pid is None or time.monotonic() > end:
                lines = [line for line in _text(self.console).splitlines() if line.strip()]
                lines = lines or _text(self.directory / "qemu.log").splitlines()
                ended = "did not come up" if self.pid is None else f"was not ready within {limit_s:.0f} s"
                raise CellFailed(f"the guest {ended}: {' / '.join(lines[-LAST_WORDS:]) or 'it left no message'}")
            time.sleep(POLL_S)

    def switch_off(self) -> None:
        """Its power fails; that of its disk, too, where it has ended before. Raises CellFailed."""
        if (pid := self.pid) is not None:
            _stop(pid)
        if not self._disk.is_cut:
            self._disk.cut("none", 1, "succeed")
        if self.record.process:
            self._disk.ledger.undo(self.record.process)
            self.record = replace(self.record, process="")
            self._keep()

    def remove(self) -> None:
        """It and its disk, and what is on it, for good."""
        self.switch_off()
        self._disk.remove()

    def _keep(self) -> None:
        temporary = self._disk.directory / "guest.json.new"
        temporary.write_bytes(RECORD.dump_json(self.record, indent=2))
        temporary.rename(self._disk.directory / "guest.json")


def create(
    name: str,
    service: Service,
    *,
    size_mb: int,
    filesystem: str,
    port: int,
    memory_mb: int,
    cpus: int,
    accelerator: str,
    faults: Sequence[str],
    say: Callable[[str], None],
) -> Path:
    """Make a disk of this name and a guest with it, switch it on, and wait until its service listens: its console.

    Raises BadInput, MachineLacks or CellFailed, and then nothing of it is left."""
    check_filesystem(filesystem)
    can_run(accelerator)
    has = kernel.ready(say)
    disk_service.create(name, PlaceSpec(kind="disk", filesystem=RAW, size_mb=size_mb), size_mb)
    with disk_service.opened(name) as disk:
        guest = StandingGuest(disk, Record(filesystem, port, memory_mb, cpus, accelerator, tuple(faults)))
        try:
            guest.make(service)
            guest.switch_on(has)
            guest.await_service(service)
            disk.add_faults(faults)
        except BaseException:
            guest.remove()
            raise
        return guest.console


def check_filesystem(name: str) -> None:
    """Raises BadInput where a guest cannot have it."""
    possible = [filesystem for filesystem in FILESYSTEMS if not fsck.checked_before_mount(filesystem)]
    if name not in possible:
        raise BadInput(not_among("--filesystem", name, possible))
    mkfs.find(name)


@contextlib.contextmanager
def opened(name: str) -> Iterator[StandingGuest]:
    """The guest, for this command alone. Raises BadInput where there is none, CellFailed where its disk is gone."""
    with disk_service.opened(name) as disk:
        try:
            record = RECORD.validate_json((disk.directory / "guest.json").read_bytes())
        except (OSError, ValidationError):
            raise BadInput(f"{name}: is a disk without a guest", "acidtest plug guest create makes one") from None
        yield StandingGuest(disk, record)


def _stop(pid: int) -> None:
    """No instruction of the guest is carried out any more, and nothing is under way, when this returns.

    Raises CellFailed.
    """
    end = time.monotonic() + STOPPED_S
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    while time.monotonic() < end:
        try:
            # Of each thread the letter of its state; see proc(5).
            stats = [kernel_text(task / "stat", "") for task in Path(f"/proc/{pid}/task").iterdir()]
        except OSError:  # it has ended
            return
        if {stat.rpartition(") ")[2][:1] for stat in stats} <= {"T", "Z", ""}:
            return
        time.sleep(0.001)
    raise CellFailed(f"QEMU (process {pid}) could not be stopped within {STOPPED_S:.0f} s")


def _share(tag: str, path: Path) -> list[str]:
    """Options for a directory of this machine that the guest mounts by ``tag``, and cannot write to."""
    share = f"local,id={tag},path={option(path)},security_model=none,readonly=on,multidevs=remap"
    return ["-fsdev", share, "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
