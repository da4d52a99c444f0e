"""The place ``guest``: a virtio disk, formatted and mounted in a guest that stays up from cell to cell."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from acidtest.errors import CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.experiment.places import RAW
from acidtest.filesystems import FILESYSTEMS
from acidtest.journal.models import Machine, PlaceFacts, SettingInForce
from acidtest.place.base import DirectoryPlace, Place
from acidtest.place.facts import UNKNOWN, place_facts
from acidtest.place.guest import initramfs, kernel
from acidtest.place.guest.filesystem import SCHEDULERS, GuestFileSystem
from acidtest.place.guest.machine import DISK, Guest, GuestRig, Hardware
from acidtest.place.guest.stacks import STACKS
from acidtest.place.ledger import Ledger

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
    """The initramfs for every file system, scheduler and stack that ``has``, and this machine, know."""
    modules = [table.module or name for name, table in FILESYSTEMS.items()]
    modules += [module for stack in STACKS.values() for module in stack.modules]
    programs = [table.program for table in FILESYSTEMS.values()]
    return initramfs.build(has, [*modules, *SCHEDULERS.values()], programs)


class GuestPlace(Place):
    """The disk of ``guest`` as ``spec`` asks for it. What is in ``home`` here is put there when the place is settled.

    Raises CellFailed when the file system cannot be made or mounted, or the queue does not take what is asked; ``home``
    is released by it in any case.
    """

    def __init__(self, spec: PlaceSpec, home: DirectoryPlace, guest: Guest) -> None:
        self._spec, self._home, self._guest = spec, home, guest
        self.path = home.path
        self._at = shlex.quote(str(self.path))
        self._databases: list[Path] = []
        self._bytes = 0
        self._mkfs = ""
        self._system = GuestFileSystem(guest, spec, self.path)
        self._name = self._system.name
        try:
            self._system.plug_in()
            if self._name != RAW:
                self._system.load()
                self._mkfs = self._system.make()
                self._system.mount()
        except BaseException:
            self.release()
            raise

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

    def facts(self) -> PlaceFacts:
        look, below, disk_mb = self._system.look(), place_facts(self._home.path), self._guest.hardware.disk_mb
        return PlaceFacts(
            kind="guest",
            path=str(self.path),
            free_bytes=look.free_bytes if look.mount else (disk_mb << 20) - self._bytes,
            **self._system.facts(look),
            mkfs=self._mkfs,
            image=f"disk, {disk_mb} MiB, written throughout",
            image_on=below.beneath,
        )

    def settings(self) -> list[SettingInForce]:
        return self._system.settings(self._system.look())

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
