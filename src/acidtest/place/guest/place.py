"""The place ``guest``: a virtio disk, formatted and mounted in a guest that stays up from cell to cell."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acidtest.errors import CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.filesystems import FILESYSTEMS
from acidtest.journal.models import GuestFacts, Machine, PlaceFacts, SettingInForce
from acidtest.place import mkfs, mounts, queue
from acidtest.place.base import Place
from acidtest.place.directory import DirectoryPlace
from acidtest.place.facts import UNKNOWN, Mount, compared, parse_mountinfo, place_facts, queue_facts
from acidtest.place.guest import initramfs, kernel
from acidtest.place.guest.machine import DISK, Guest, GuestRig, Hardware, qemu_version
from acidtest.place.ledger import Ledger
from acidtest.place.storage import new_label

RAW = "raw"  # instead of a file system
SCHEDULERS = {"bfq": "bfq", "kyber": "kyber-iosched"}
QUEUE = f"/sys/block/{DISK.removeprefix('/dev/')}/queue"
# The disk is taken out and put in again: nothing of the queue's settings of the cell before is left.
REPLUG = f"""
device=$(basename $(readlink {QUEUE}/../device))
cd /sys/bus/virtio/drivers/virtio_blk && echo $device >unbind && echo $device >bind && test -b {DISK}
"""
LOOK = f"""
cat /proc/self/mountinfo
echo ==; grep -r . {QUEUE} 2>/dev/null
echo ==; df -k {{path}} | tail -n 1; stat -f -c %s {{path}}
"""
MACHINE = "uname -r; nproc; cat /proc/meminfo /proc/cpuinfo"


class Guests:
    """At most one guest is up: that of the cell before, in case the next may have it too."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._up: tuple[Guest, DirectoryPlace] | None = None
        self._asked: tuple[Hardware, Path] | None = None

    def get(self, hardware: Hardware, at: Path) -> Guest:
        """A guest with this hardware whose disk is a file below ``at``. Raises CellFailed when it does not come up."""
        if self._up is not None and self._asked == (hardware, at) and self._up[0].alive:
            return self._up[0]
        self.end()
        has = kernel.installed()
        if has is None:
            raise CellFailed("the kernel for guests is no longer there: run the same command again")
        home = DirectoryPlace(at, self._ledger, needed_bytes=hardware.disk_mb << 20, holds="the guest's disk")
        try:
            self._up = Guest(home.subdirectory("guest"), self._ledger, has, archive(has), hardware), home
        except BaseException:
            home.release()
            raise
        self._asked = (hardware, at)
        return self._up[0]

    def end(self) -> None:
        """End the guest that is up, if any, and remove its files."""
        if self._up is not None:
            guest, home = self._up
            self._up = None
            guest.release()
            home.release()


def archive(has: kernel.Kernel) -> Path:
    """The initramfs for every file system and scheduler that ``has``, and this machine, know."""
    modules = [table.module or name for name, table in FILESYSTEMS.items()]
    programs = [table.program for table in FILESYSTEMS.values()]
    return initramfs.build(has, [*modules, *SCHEDULERS.values()], programs)


@dataclass(frozen=True)
class _Look:
    """What the guest shows of its disk."""

    mount: Mount | None
    queue: Mapping[str, str]  # file of sysfs -> what it says
    free_bytes: int
    block_bytes: str


class GuestPlace(Place):
    """The disk of ``guest`` as ``spec`` asks for it. What is in ``home`` here is put there when the place is settled.

    Raises CellFailed when the file system cannot be made or mounted, or the queue does not take what is asked; ``home``
    is released by it in any case.
    """

    def __init__(self, spec: PlaceSpec, home: DirectoryPlace, guest: Guest) -> None:
        self._spec, self._home, self._guest = spec, home, guest
        self.path = home.path
        self._at = shlex.quote(str(self.path))
        self._name = spec.filesystem or RAW
        self._databases: list[Path] = []
        self._bytes = 0
        self._mkfs = ""
        self._options = [option for option in map(str.strip, spec.mount.split(",")) if option not in ("", "defaults")]
        self._wanted = queue.wanted(spec)
        try:
            guest.run("plugging in the guest's disk", REPLUG + f"mkdir -p {self._at}")
            self._set_queue()
            if self._name != RAW:
                self._make()
        except BaseException:
            self.release()
            raise

    def _set_queue(self) -> None:
        scheduler = self._wanted.get(queue.SCHEDULER)
        if scheduler in SCHEDULERS:
            self._guest.load([SCHEDULERS[scheduler]])
        for name, value in self._wanted.items():
            has = f"{{ echo 'the guest has' $(cat {QUEUE}/{name}) >&2; exit 1; }}"
            self._guest.run(
                f"the guest's {DISK}: {name} {value}", f"echo {shlex.quote(value)} >{QUEUE}/{name} || {has}"
            )

    def _make(self) -> None:
        self._guest.load([FILESYSTEMS[self._name].module or self._name])
        label = new_label()
        commands = [shlex.join(command) for command in mkfs.commands(self._name, self._spec, Path(DISK), label, None)]
        for command in commands:
            self._guest.run(f"in the guest: {command}", command)
        self._mkfs = "; ".join(commands).replace(DISK, "DEVICE").replace(label, "LABEL")
        options = ",".join(self._options) or "defaults"
        mount = f"mount -t {self._name} -o {shlex.quote(options)} {DISK} {self._at}"
        why = "{ dmesg | tail -n 3 >&2; exit 1; }"
        self._guest.run(f"in the guest: mount -t {self._name} -o {options}", f"dmesg -c >/dev/null; {mount} || {why}")

    def copy(self, paths: Sequence[Path], directory: Path) -> None:
        if self._name == RAW and (len(paths) != 1 or not paths[0].is_file()):
            raise CellFailed("a database of several files cannot lie on one raw device")
        super().copy(paths, directory)
        self._databases = [directory / path.name for path in paths]
        self._bytes = super().database_bytes(self._databases)
        size_mb = self._guest.hardware.disk_mb
        if self._bytes > size_mb << 20:
            raise CellFailed(
                f"the guest's disk: {size_mb} MiB are too few for a database of {self._bytes / 1e6:,.0f} MB: "
                "raise place.size_mb"
            )

    def database_bytes(self, paths: Sequence[Path]) -> int:
        return self._bytes

    def settle(self) -> None:
        """Put everything there, and have it written."""
        self._guest.put(self.path, self._databases[0] if self._name == RAW else None)

    def remove(self, directory: Path) -> None:
        """Nothing for the guest's sake: its file system is made anew for the next cell."""

    def rig(self, program: Path, files: Sequence[Path], job: bytes, environment: Mapping[str, str]) -> GuestRig:
        """Start the rig ``program`` on ``job`` in the guest, with the engine's own ``files``.

        When it is stopped, what the engine's settings and log are read from has been brought back.
        """
        self._guest.carry([program, *files])
        return self._guest.rig(program, job, environment, lambda: self._guest.bring_back(self.path, self._databases))

    def machine(self) -> Machine:
        """What the rig and the engine run on."""
        release, processors, *rest = self._guest.run("reading the guest's processor", MACHINE).splitlines()
        fields = {line.partition(":")[0].strip(): line.partition(":")[2].strip() for line in rest}
        return Machine(
            cpu_model=fields.get("model name", UNKNOWN),
            cpu_count=int(processors),
            memory_bytes=int(fields["MemTotal"].split()[0]) * 1024,
            kernel=f"Linux {release}",
            os="busybox, and no services",
            virtualization=f"QEMU {self._guest.hardware.accelerator}",
        )

    def _look(self) -> _Look:
        output = self._guest.run("reading the storage", LOOK.format(path=self._at))
        mountinfo, files, free = output.split("==\n")
        lines = (line.removeprefix(f"{QUEUE}/").partition(":") for line in files.splitlines())
        (*_, available, _, _), (block,) = map(str.split, free.strip().splitlines())
        here = [m for m in parse_mountinfo(mountinfo) if (m.point, m.source) == (str(self.path), DISK)]
        left = int(available) * 1024 if here else (self._guest.hardware.disk_mb << 20) - self._bytes
        return _Look(here[-1] if here else None, {name: value for name, _, value in lines}, left, block)

    def facts(self) -> PlaceFacts:
        look, below, guest = self._look(), place_facts(self._home.path), self._guest
        with _mirror(look.queue) as files:
            of_queue = queue_facts(Path(files)) | {"device_model": "virtio"}
        return PlaceFacts(
            kind="guest",
            path=str(self.path),
            filesystem=look.mount.filesystem if look.mount else "none",
            mount_point=look.mount.point if look.mount else "none",
            mount_options=look.mount.options if look.mount else "none",
            device=DISK,
            free_bytes=look.free_bytes,
            **of_queue,
            mkfs=self._mkfs,
            image=f"disk, {guest.hardware.disk_mb} MiB, written throughout",
            image_on=below.beneath,
            direct_io="yes",
            guest=GuestFacts(
                kernel=f"{guest.kernel.package} {guest.kernel.version}",
                kernel_sha256=guest.kernel.sha256,
                qemu=qemu_version(),
                accelerator=guest.hardware.accelerator,
                cache="none",
                cpus=guest.hardware.cpus,
                memory_mb=guest.hardware.memory_mb,
            ),
        )

    def settings(self) -> list[SettingInForce]:
        look = self._look()
        with _mirror(look.queue) as files:
            of_queue = queue.in_force(Path(files), self._wanted)
        if self._name == RAW:
            return of_queue
        if look.mount is None:
            raise CellFailed(f"{self.path}: is no longer mounted in the guest")
        table = FILESYSTEMS[self._name]
        settings = [
            compared("filesystem", self._name, look.mount.filesystem, "mountinfo"),
            *mounts.in_force(self._options, look.mount, table.shown_as, table.defaults),
            *mounts.in_force(mkfs.stripe_shown(self._name, self._spec), look.mount, {}, {}),
            *of_queue,
        ]
        if self._spec.block_size is not None:
            settings.append(compared("block_size", self._spec.block_size, look.block_bytes, "statfs"))
        return settings

    def release(self) -> None:
        """Unmount, and remove the files here. A guest that cannot do so is ended."""
        try:
            if self._guest.alive:
                mounted = f"grep -q ' {DISK} ' /proc/self/mountinfo"
                self._guest.run("unmounting", f"cd /; ! {mounted} || umount {DISK} && rm -rf {self._at}")
        except CellFailed:
            self._guest.release()
        finally:
            self._home.release()


def _mirror(files: Mapping[str, str]) -> tempfile.TemporaryDirectory[str]:
    """A directory with the files of the guest's block queue, for what reads those of this machine."""
    directory = tempfile.TemporaryDirectory()
    for name, value in files.items():
        file = Path(directory.name) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value, encoding="utf-8")
    return directory
