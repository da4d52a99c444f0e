"""A file system on a simulated disk whose power is cut, again and again from the same state.

In order, of one cut: ``begin``, load on ``path``, ``cut``, the engine is killed, ``recover``, inspection, ``end``. From
``cut`` on the disk answers and forgets, so that nothing hangs; what survived comes back with ``recover``. The file
system is unmounted in the ordinary way, never lazily: as long as somebody uses the old one, the new one is not mounted.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from acidtest.errors import CellFailed, MachineLacks
from acidtest.experiment import PlaceSpec
from acidtest.experiment.places import RAW
from acidtest.files import fsync_path, sync_filesystem
from acidtest.filesystems import FILESYSTEMS
from acidtest.journal.models import PlaceFacts, SettingInForce
from acidtest.journal.protocol import CutKeeps, DiskCut, DiskState, DiskStats, GhostFlushes
from acidtest.place import fsck, loops, mkfs, mounts, queue
from acidtest.place.asynchronous import write_through
from acidtest.place.disk import IGNORES_WRITE_THROUGH, faults_in_force
from acidtest.place.facts import place_facts
from acidtest.place.ledger import Ledger
from acidtest.place.storage import new_label
from acidtest.place.trees import copy_tree, file_sizes

PROBE_BLOCKS, BLOCK = 64, 4096


class Drive(Protocol):
    """The simulated disk, as far as cutting its power goes."""

    file: Path

    def facts(self) -> dict[str, str]: ...
    def snapshot(self) -> None: ...
    def load(self, state: DiskState | None = None) -> None: ...
    def cut(self, keep: CutKeeps, seed: int, flushes: GhostFlushes) -> DiskCut: ...
    def revive(self) -> None: ...
    def save(self, file: Path, *, whole: bool) -> None: ...
    def fault(self, fault: str) -> None: ...
    def mend(self) -> None: ...
    def lies_under(self, device: Path) -> None: ...
    def stats(self) -> DiskStats: ...
    def release(self) -> None: ...


@dataclass(frozen=True)
class Recovery:
    """How the file system came back."""

    seconds: float  # of the check before the mount, where there is one, and of the mount
    repaired: bool  # it could be mounted only after a repair
    said: str = ""  # by the file system's own program, where that looked before the mount


@dataclass(frozen=True)
class Held:
    """What a place holds of the machine, for another process to take up: entries of the ledger and the device."""

    loop: str | None = None
    device: str = ""
    attached: bool = False
    mount: str | None = None
    mounted: bool = False
    cut: bool = False


class Home(Protocol):
    """A directory of ours."""

    @property
    def path(self) -> Path: ...


class CuttablePlace:
    """``drive`` with the file system that ``spec`` asks for, or none (``raw``). ``home`` holds the mount point, unless
    it is to be ``point``; both are the caller's."""

    tells_times = True  # False where what runs on it takes longer than on this machine

    def __init__(
        self,
        spec: PlaceSpec,
        home: Home,
        drive: Drive,
        ledger: Ledger,
        faults: Sequence[str] = (),
        point: Path | None = None,
    ) -> None:
        self._faults = faults  # what the drive does wrong, from ``begin`` on; a cut or a load repairs it
        self._spec, self._home, self._drive, self._ledger = spec, home, drive, ledger
        self._filesystem = spec.filesystem or ""
        self._point = point
        self.path = point or home.path / "mounted"
        self._options = mounts.options_of(spec.mount)
        self._loop: str | None = None  # kept from cut to cut, with the disk's file behind it or not
        self._attached = False
        self._is_cut = False
        self.survivors = home.path / "survivors"  # what the last cut left, as ``recover`` found it
        self._mount_id: str | None = None  # kept likewise, for this device
        self._mounted = False
        self.mount_s = 0.0  # of the last mount alone
        self.device = Path()

    def held(self) -> Held:
        """For ``take_up``."""
        device = str(self.device) if self._loop else ""
        return Held(self._loop, device, self._attached, self._mount_id, self._mounted, self._is_cut)

    def take_up(self, held: Held) -> None:
        """Go on where another process has left it. Whether it is mounted is read back: that process may have been
        stopped on the way, and anybody may unmount."""
        self._loop, self.device, self._attached = held.loop, Path(held.device), held.attached
        self._mount_id, self._is_cut = held.mount, held.cut
        self._mounted = held.mount is not None and bool(mounts.mounted_at(self.path, self.device))

    def prepare(self, files: Sequence[Path]) -> None:
        """Make the file system and copy ``files`` into it. It is mounted afterwards. Raises CellFailed."""
        self._attach()
        if self._filesystem == RAW:
            return
        commands = mkfs.commands(self._filesystem, self._spec, self.device, new_label(), None)
        mkfs.run(self._ledger, commands, self._home.path / "output", FILESYSTEMS[self._filesystem].unsure)
        if self._point is None:
            self.path.mkdir()
        self._mount()
        for file in files:
            copy_tree(file, self.path / file.name)
        sync_filesystem(self.path)

    def keep(self) -> None:
        """Unmount; from this state ``begin`` begins each time."""
        self._detach()
        self._drive.snapshot()

    def keep_state(self, state: DiskState) -> None:
        """As ``keep``, of a disk that is in this state, of nothing but the writes in a log. Raises CellFailed."""
        self._drive.load(state)
        self._drive.snapshot()

    def begin(self, state: DiskState | None = None) -> None:
        """The kept state, with ``state``'s writes on it where they are given; without them it is mounted.

        Raises CellFailed."""
        self._drive.load(state)
        self._arm()
        # A state is only recovered: nobody drives load on it, and the queue may be as the kernel has it.
        self._attach(as_asked=state is None)
        if state is None:
            self._mount()

    def cut(self, keep: CutKeeps, seed: int, flushes: GhostFlushes = "succeed") -> DiskCut:
        """Power fails."""
        self._is_cut = True
        return self._drive.cut(keep, seed, flushes)

    def fault(self, fault: str) -> None:
        """From now on the drive has this fault (docs/SIMULATED-DISK.md), until a cut or a load repairs it."""
        self._drive.fault(fault)

    def mend(self) -> None:
        """The drive does nothing wrong from now on."""
        self._drive.mend()

    def rest(self) -> None:
        """Unmount and detach, after load: what is read of it later comes from the medium."""
        self._detach()

    def read_block(self, at: int) -> None:
        """Read the ``BLOCK`` bytes from byte ``at`` of the device, past every cache, of a disk at rest. Raises
        CellFailed."""
        self._attach()
        try:
            with mmap.mmap(-1, BLOCK) as aligned:
                handle = os.open(self.device, os.O_RDONLY | os.O_DIRECT)
                try:
                    os.preadv(handle, [aligned], at)
                finally:
                    os.close(handle)
        except OSError as error:
            raise CellFailed(f"{self.device}: block at {at:,}: {error.strerror}") from None
        finally:
            self._detach()

    def wake(self) -> Recovery:
        """After ``rest``, mount it again. Raises CellFailed when it cannot be mounted."""
        self._attach()
        return self.mount_survivor()

    def recover(self) -> Recovery:
        """Drop the old mount, whose users are gone, and mount what survived. Raises CellFailed when it cannot be."""
        self.abandon()
        self.survivors.unlink(missing_ok=True)
        try:
            self._drive.save(self.survivors, whole=False)
        except CellFailed:  # no room for them; the cut is judged all the same
            self.survivors.unlink(missing_ok=True)
        self._arm()
        self._attach()
        return self.mount_survivor()

    def recover_state(self, state: DiskState | None) -> Recovery:
        """As ``recover``, after ``end``, of a disk that is in this state: the kept one with a log's writes on it."""
        self._drive.load(state)
        self._arm()
        self._attach()
        return self.mount_survivor()

    def mount_survivor(self) -> Recovery:
        """As a restart does. Raises CellFailed with the kernel's words when it cannot be mounted, repaired or not."""
        began = time.monotonic()
        if self._filesystem == RAW:
            return Recovery(0.0, repaired=False)
        said = self._mend()[1] if fsck.checked_before_mount(self._filesystem) else ""
        try:
            self._mount()
            return Recovery(time.monotonic() - began, repaired=False, said=said)
        except CellFailed:
            is_mended, said = self._mend()
            if not is_mended:
                raise
            self._mount()
            return Recovery(time.monotonic() - began, repaired=True, said=said)

    def end(self) -> tuple[fsck.Said, str]:
        """Unmount, let the file system's own program look at it, and let go of the device."""
        self._unmount()
        try:
            return self._look()
        finally:
            self._detach()

    def release(self) -> None:
        """Let go of the device, mounted or not, for good."""
        self.abandon()
        self._forget_mount()
        if self._loop is not None:
            self._ledger.undo(self._loop)
            self._loop = None

    def abandon(self) -> None:
        """Unmount and detach, wherever a cut has got to. What survived is the disk."""
        self._detach()
        if self._is_cut:
            self._drive.revive()
            self._is_cut = False

    def go_back(self, state: DiskState | None) -> Recovery:
        """As ``recover``, to the kept state, with ``state``'s writes on it where they are given."""
        self.abandon()
        return self.recover_state(state)

    def save(self, state: DiskState | None, file: Path) -> None:
        """Write into ``file`` the whole disk in this state, which nothing has recovered on, or without one as it is
        kept. Raises CellFailed."""
        self._drive.load(state)
        self._drive.save(file, whole=True)

    def save_as_it_is(self, file: Path) -> None:
        """As ``save``, of the disk as it was unmounted last. Raises CellFailed."""
        self._drive.save(file, whole=True)

    def loses(self, keep: CutKeeps, seeds: Sequence[int]) -> bool:
        """Whether a cut loses any of what was written and not flushed; of a drive that is to ignore write-through also
        any of what was written through. Otherwise no verdict on this disk means anything.

        Overwrites the disk.
        """
        ways = [_write]
        if IGNORES_WRITE_THROUGH in self._faults:
            ways.append(lambda device, block: write_through(device, block * PROBE_BLOCKS))
        return all(any(self._loses_what(way, keep, seed) for seed in seeds) for way in ways)

    def _loses_what(self, write: Callable[[Path, bytes], None], keep: CutKeeps, seed: int) -> bool:
        old, new = bytes([seed & 0x7F]) * BLOCK, bytes([seed & 0x7F | 0x80]) * BLOCK
        self._attach()
        try:
            _write(self.device, old)
            fsync_path(self.device)
            if write is not _write:
                self._drive.fault(IGNORES_WRITE_THROUGH)
            write(self.device, new)
            self._drive.cut(keep, seed, "succeed")
        finally:
            self._detach()
        self._drive.revive()
        self._attach()
        try:
            survived = _read(self.device)
        finally:
            self._detach()
        return survived != new * PROBE_BLOCKS

    def facts(self) -> PlaceFacts:
        return place_facts(self.path).model_copy(update=self._drive.facts() | {"direct_io": "yes"})  # else not attached

    def settings(self) -> list[SettingInForce]:
        """The file system, mount options and queue asked for, as read back."""
        if self._filesystem == RAW:
            return self._queue_in_force()
        mounted = mounts.mounted_at(self.path, self.device)
        if not mounted:
            raise CellFailed(f"{self.path}: is not mounted")
        table = FILESYSTEMS[self._filesystem]
        shown = mounted[-1].filesystem
        named = SettingInForce(
            name="place.filesystem",
            asked=self._filesystem,
            in_force=shown,
            agrees=shown == self._filesystem,
            source="mountinfo",
        )
        return [
            named,
            *mounts.in_force(self._options, mounted[-1], table.shown_as, table.defaults),
            *self._queue_in_force(),
            *faults_in_force(self._faults, self._drive.stats()),
        ]

    def file_sizes(self) -> dict[str, int] | None:
        """Of each file of the mounted file system its bytes; None where they cannot be seen from here."""
        return None if self._filesystem == RAW else file_sizes(self.path)

    def stats(self) -> DiskStats:
        """What the disk did so far. Raises CellFailed where it has ended."""
        return self._drive.stats()

    def _look(self) -> tuple[fsck.Said, str]:
        return fsck.look(self._filesystem, self.device)

    def _mend(self) -> tuple[bool, str]:
        return fsck.repair(self._filesystem, self.device)

    def _queue_in_force(self) -> list[SettingInForce]:
        return queue.in_force(queue.queue_of(self.device), queue.wanted(self._spec))

    def _arm(self) -> None:
        for fault in self._faults:
            self._drive.fault(fault)

    def _attach(self, *, as_asked: bool = True) -> None:
        try:
            direct = self._attached_directly()
        except OSError as error:
            raise CellFailed(f"{self._drive.file}: could not be made a loop device: {error.strerror}") from None
        self._attached = True
        if not direct:
            # The host's page cache would keep what the disk has lost: every cut would be survived.
            raise MachineLacks("loop devices without direct I/O on a FUSE file", "needs Linux 4.10 or newer")
        self._drive.lies_under(self.device)
        if as_asked:
            # Each change holds the queue for a while. Nothing is to be restored: the device goes with us.
            at = queue.queue_of(self.device)
            wanted = queue.wanted(self._spec)
            queue.put(self.device, at, {name: value for name, value in wanted.items() if queue.read(at, name) != value})

    def _attached_directly(self) -> bool:
        if self._loop is not None:
            try:
                return self._ledger.attach_again(self._loop)
            except loops.Taken:
                self._forget_mount()  # it was of that device
                self._ledger.undo(self._loop)
        self._loop, self.device, direct = self._ledger.attach_loop(self._drive.file)
        return direct

    def _mount(self) -> None:
        began = time.monotonic()
        if self._mount_id is None:
            self._mount_id = self._ledger.mount(self.device, self.path, self._filesystem, self._options)
        else:
            self._ledger.mount_again(self._mount_id, self._filesystem, self._options)
        self.mount_s = time.monotonic() - began
        self._mounted = True

    def _unmount(self) -> None:
        if self._mounted and self._mount_id is not None:
            self._ledger.unmount(self._mount_id)
            self._mounted = False

    def _forget_mount(self) -> None:
        if self._mount_id is not None:
            self._ledger.undo(self._mount_id)
            self._mount_id = None

    def _detach(self) -> None:
        self._unmount()
        if self._loop is not None and self._attached:
            self._ledger.let_go_of_image(self._loop)
            self._attached = False


def _write(device: Path, block: bytes) -> None:
    with mmap.mmap(-1, BLOCK) as aligned:
        aligned[:] = block
        handle = os.open(device, os.O_WRONLY | os.O_DIRECT)
        try:
            for number in range(PROBE_BLOCKS):
                os.pwrite(handle, aligned, number * BLOCK)
        finally:
            os.close(handle)


def _read(device: Path) -> bytes:
    with mmap.mmap(-1, PROBE_BLOCKS * BLOCK) as aligned:
        handle = os.open(device, os.O_RDONLY | os.O_DIRECT)
        try:
            os.preadv(handle, [aligned], 0)
        finally:
            os.close(handle)
        return bytes(aligned)
