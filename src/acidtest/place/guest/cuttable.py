"""A whole machine whose power is cut: a guest with the engine in it, whose disks are simulated ones.

A cut takes the kernel, the file system and the engine at once: the disks lose their power, and QEMU is killed. Another
guest then boots on what survived. It stays up until the load of the next cut, which is the last that it sees.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from acidtest.errors import CellFailed, MachineLacks
from acidtest.experiment import PlaceSpec
from acidtest.filesystems import FILESYSTEMS
from acidtest.journal.models import PlaceFacts, SettingInForce
from acidtest.journal.protocol import CutKeeps, DiskCut, GhostFlushes
from acidtest.place import fsck
from acidtest.place.base import DirectoryPlace
from acidtest.place.cuttable import BLOCK, PROBE_BLOCKS, CuttablePlace, Drive
from acidtest.place.disk import faults_in_force
from acidtest.place.guest import kernel
from acidtest.place.guest.agent import Gone
from acidtest.place.guest.filesystem import GuestFileSystem
from acidtest.place.guest.initramfs import program
from acidtest.place.guest.machine import DISK, SECOND, Guest, GuestRig, Hardware, Saved
from acidtest.place.guest.place import archive
from acidtest.place.guest.stacks import STACKS
from acidtest.place.ledger import Ledger
from acidtest.place.trees import copy_tree

FSCK_S = 600.0
TRIES = 10
# Blocks of one letter, past the guest's page cache; fsync sends the disk a flush, and nothing else does here.
COPY = f"bs={BLOCK} count={PROBE_BLOCKS} iflag=fullblock oflag=direct"
WRITE = f"head -c {BLOCK * PROBE_BLOCKS} /dev/zero | tr '\\0' '{{letter}}' | dd of={{disk}} {COPY} {{then}}"


def lacks(stack: str) -> None:
    """Raise MachineLacks unless this machine has the programs of a stack."""
    if missing := [name for name in STACKS[stack].programs if program(name) is None]:
        raise MachineLacks(
            f"{stack} in a guest needs {', '.join(missing)}", f"apt-get install {STACKS[stack].package} (Debian)"
        )


class CuttableGuest(CuttablePlace):
    """A guest's file system on what ``spec.stack`` makes of ``drive``, which is that of ``files``.

    What lies in ``beside``, and ``programs``, is in the guest's memory: the engine, its configuration and log, the rig.
    """

    tells_times = False

    def __init__(
        self,
        spec: PlaceSpec,
        home: DirectoryPlace,
        drive: Drive,
        files: Sequence[Path],
        ledger: Ledger,
        faults: Sequence[str],
        rig: Path,
        programs: Sequence[Path],
        beside: Path,
    ) -> None:
        super().__init__(spec, home, drive, ledger, faults)
        self._directory = home
        self._files, self._rig, self._programs, self._beside = files, rig, [rig, *programs], beside
        self._stack = STACKS[spec.stack]
        self._hardware = Hardware(spec.guest_memory_mb, spec.guest_cpus, spec.guest_accelerator, 0)
        self._guest: Guest | None = None
        self._system: GuestFileSystem | None = None
        self._saved: Saved | None = None
        self._boots = 0
        self._mkfs = ""
        self.device = Path(self._stack.device)

    def prepare(self, files: Sequence[Path]) -> None:
        """Make the file system. ``files`` are set up here, and are copied into it by ``keep``."""
        self.path.mkdir()
        for file in files:
            copy_tree(file, self.path / file.name)
        _, system = self._plugged()
        self._do("making", self._stack.make)
        self._attached = True
        self._mkfs = system.make()
        self._mount()

    def keep(self) -> None:
        if self._beside.is_dir():  # it was made after the guest came up
            self._up.put(self._beside)
        self._up.put(self.path)
        super().keep()

    def cut(self, keep: CutKeeps, seed: int, flushes: GhostFlushes = "succeed") -> DiskCut:
        """Power fails: first that of the disks, which forget from then on what the guest still tells them."""
        told = super().cut(keep, seed, flushes)
        self._up.kill()
        return told

    def rig(self, job: bytes, environment: Mapping[str, str]) -> GuestRig:
        """Start the rig in the guest."""
        return self._up.rig(self._rig, job, environment, lambda: None)

    def pull(self) -> None:
        """End the guest as it is, and whatever runs in it."""
        self._up.kill()

    def acknowledgements(self) -> tuple[Path, str]:
        return self._up.acknowledgements, self._up.acknowledges_to()

    def file_sizes(self) -> None:
        """They are in the guest."""

    def fetch(self) -> None:
        """Have the files of the mounted file system below ``path`` here."""
        self._up.fetch(self.path)

    def loses(self, keep: CutKeeps, seeds: Sequence[int]) -> bool:
        """As of any place; also whether flushes of the guest reach the disks, without which every cut would lose.

        The guest lives on: nothing of it is under way when the power of its disks fails.
        """
        self._plugged()
        try:
            # What has waited for a second may have been written back, and a guest on a busy machine takes its time.
            return any(self._lose(keep, seed) for _ in range(TRIES) for seed in seeds)
        finally:
            self._fill("\\0", "conv=fsync")  # a stack takes what it finds there for its own

    def _lose(self, keep: CutKeeps, seed: int) -> bool:
        """Whether each of the disks loses something."""
        self._fill("a", "conv=fsync")
        self._fill("b", "")
        self._drive.cut(keep, seed, "succeed")
        self._drive.revive()
        lost = []
        for disk, file in zip(self._disks(), self._files, strict=True):
            with file.open("rb") as opened:
                survived = opened.read(BLOCK * PROBE_BLOCKS)
            if set(survived) - set(b"ab") and not self._faults:
                raise CellFailed(f"the guest's {disk}: what was flushed did not reach the simulated disk")
            lost.append(survived != b"b" * len(survived))
        return all(lost)

    def _fill(self, letter: str, then: str) -> None:
        """The first blocks of each disk."""
        writes = "; ".join(WRITE.format(letter=letter, disk=disk, then=then) for disk in self._disks())
        self._up.run("writing to the guest's disks", f"set -e -o pipefail; exec 2>/run/dd; {writes}")

    def facts(self) -> PlaceFacts:
        system = self._made
        look = system.look()
        told = system.facts(look) | self._drive.facts() | {"kind": "machine"}
        return PlaceFacts(path=str(self.path), free_bytes=look.free_bytes, mkfs=self._mkfs, **told)

    def settings(self) -> list[SettingInForce]:
        seen = self._up.run("reading the stack", self._stack.seen).strip()
        stack = SettingInForce(
            name="place.stack",
            asked=self._spec.stack,
            in_force=self._spec.stack if seen == self._stack.shown else seen or "nothing",
            agrees=seen == self._stack.shown,
            source="sysfs" if self._spec.stack == "md-raid1" else "device mapper",
        )
        return [
            *self._made.settings(self._made.look()),
            *([stack] if self._spec.stack != "none" else []),
            *faults_in_force(self._faults, self._drive.stats()),
        ]

    def release(self) -> None:
        try:
            self.abandon()
        finally:
            self._end_guest()

    @property
    def _up(self) -> Guest:
        if self._guest is None:
            raise Gone("no guest is up")
        return self._guest

    @property
    def _made(self) -> GuestFileSystem:
        assert self._system is not None
        return self._system

    def _disks(self) -> list[str]:
        return [DISK, SECOND][: len(self._files)]

    def _plugged(self) -> tuple[Guest, GuestFileSystem]:
        """A guest with its disks as if they were put in now. Raises Gone where it does not come up, which is no word on
        what lies on them."""
        try:
            if self._guest is None or not self._guest.alive:
                self._boot()
            self._system = GuestFileSystem(self._up, self._spec, self.path, self._stack.device, disks=self._disks())
            self._system.plug_in()
        except CellFailed as error:
            self._end_guest()
            raise Gone(error.message) from None
        return self._up, self._system

    def _boot(self) -> None:
        """A guest boots once, and is saved as it is before its file system is there; this one goes on from then."""
        self._end_guest()
        has = kernel.installed()
        if has is None:
            raise CellFailed("the kernel for guests is no longer there: run the same command again")
        if self._saved is None:
            first = self._new(has)
            check = FILESYSTEMS[self._filesystem].check
            names = [*self._stack.programs, *([check.look[0], *check.repair[:1]] if check else [])]
            tools = [Path(found) for name in names if (found := program(name))]
            first.carry([*self._programs, *tools])
            first.load([*self._stack.modules, FILESYSTEMS[self._filesystem].module or self._filesystem])
            self._saved = first.save(self._home.path / "saved")
            self._end_guest()
        self._new(has)
        if self._beside.is_dir():
            self._up.put(self._beside)

    def _new(self, has: kernel.Kernel) -> Guest:
        self._boots += 1
        directory = self._directory.subdirectory(f"guest-{self._boots}")
        self._guest = Guest(directory, self._ledger, has, archive(has), self._hardware, self._files, self._saved)
        return self._guest

    def _end_guest(self) -> None:
        self._mounted = self._attached = False
        if self._guest is not None:
            self._guest.release()
            self._guest = None
            shutil.rmtree(self._home.path / f"guest-{self._boots}", ignore_errors=True)

    def _attach(self, *, as_asked: bool = True) -> None:
        self._plugged()
        self._attached = True
        self._do("opening", self._stack.open)

    def _do(self, doing: str, script: str) -> None:
        """Something to the stack. Raises CellFailed with the words of its program, and the kernel's."""
        why = "{ dmesg | tail -n 2 >&2; exit 1; }"
        self._up.run(f"{doing} {self._spec.stack} in the guest", f"(set -e; {script}) || {why}")

    def _mount(self) -> None:
        self._made.mount()
        self._mounted = True

    def _unmount(self) -> None:
        if self._mounted:
            self._up.run("unmounting in the guest", f"cd /; umount {self._stack.device}")
            self._mounted = False

    def _detach(self) -> None:
        """Let go of the disks. A guest that was cut, or does not let go, is ended."""
        if self._guest is None:
            return
        if self._is_cut or not self._guest.alive:
            self._end_guest()
            return
        try:
            self._unmount()
            if self._attached:
                self._do("closing", self._stack.close)
                self._attached = False
        except CellFailed:
            self._end_guest()

    def _look(self) -> tuple[fsck.Said, str]:
        return fsck.look(self._filesystem, self.device, self._checked)

    def _mend(self) -> tuple[bool, str]:
        return fsck.repair(self._filesystem, self.device, self._checked)

    def _checked(self, command: Sequence[str]) -> tuple[int, str]:
        """The exit code, and the output, of a program that checks."""
        tool = Path(command[0]).name
        result = self._up.run(
            f"running {tool}", f"{' '.join(command)} >/run/checked 2>&1; echo $?; cat /run/checked", FSCK_S
        )
        code, _, words = result.partition("\n")
        return int(code), words
