"""The disk whose power is cut, and what it and the durability level announce that a cut may take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from acidtest.analysis.expected_loss import Announcement, announced_by, gives_up, of_failure
from acidtest.engine import Engine
from acidtest.engine.compare import spoken
from acidtest.errors import CellFailed
from acidtest.journal.protocol import CutKeeps, DiskCut, DiskState, DiskStats, GhostFlushes
from acidtest.place import DirectoryPlace, Ledger
from acidtest.place.cuttable import Drive
from acidtest.place.disk import BATTERIES, SimulatedDisk, faults
from acidtest.place.guest.stacks import STACKS
from acidtest.plan import Cell
from acidtest.powercut.checkers import Judgement
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.failures import FAILURES

# A disk of so many MiB in the directory, which writes its log there where one is asked for.
Drives = Callable[[Cell, DirectoryPlace, Ledger, int, Path | None], Drive]


def simulated(cell: Cell, home: DirectoryPlace, ledger: Ledger, size_mb: int, log: Path | None) -> Drive:
    """The disk that the cell asks for; two of a stack that lies on two, whose power fails together."""
    # One that states are put on is never timed, and has others beside it.
    patient = log is None and FAILURES[cell.place.disk_failure].builds_states
    disk = SimulatedDisk(cell.place, home, size_mb, ledger, log=log, patient=patient)
    if STACKS[cell.place.stack].disks == 1:
        return disk
    try:
        second = DirectoryPlace(home.path, ledger, needed_bytes=0)
        try:
            return Together(disk, SimulatedDisk(cell.place, second, size_mb, ledger), second)
        except BaseException:
            second.release()
            raise
    except BaseException:
        disk.release()
        raise


class Together:
    """Two disks on one supply, the second with a directory of its own. There is no state file, and no log, of both."""

    def __init__(self, first: SimulatedDisk, second: SimulatedDisk, directory: DirectoryPlace) -> None:
        self._disks, self._directory = (first, second), directory
        self.file, self.files = first.file, (first.file, second.file)

    def facts(self) -> dict[str, str]:
        first, _ = (disk.facts() for disk in self._disks)
        return first | {"disk": f"two of: {first['disk']}"}

    def snapshot(self) -> None:
        for disk in self._disks:
            disk.snapshot()

    def load(self, state: DiskState | None = None) -> None:
        if state is not None:
            raise CellFailed("a state of two disks cannot be built")
        for disk in self._disks:
            disk.load()

    def cut(self, keep: CutKeeps, seed: int, flushes: GhostFlushes = "succeed") -> DiskCut:
        """One after the other: a write that only the second still took had not been acknowledged by both."""
        first, second = (disk.cut(keep, seed + at, flushes) for at, disk in enumerate(self._disks))
        return DiskCut(
            kept_bytes=first.kept_bytes + second.kept_bytes,
            lost_bytes=first.lost_bytes + second.lost_bytes,
            torn_writes=first.torn_writes + second.torn_writes,
        )

    def revive(self) -> None:
        for disk in self._disks:
            disk.revive()

    def save(self, file: Path, *, whole: bool) -> None:
        raise CellFailed("what is on two disks cannot be kept in one file")

    def fault(self, fault: str) -> None:
        for disk in self._disks:
            disk.fault(fault)

    def mend(self) -> None:
        for disk in self._disks:
            disk.mend()

    def lies_under(self, device: Path) -> None:
        raise CellFailed("two disks do not lie under one device")

    def stats(self) -> DiskStats:
        """Of the first, while both are there."""
        stats, _ = (disk.stats() for disk in self._disks)
        return stats

    def release(self) -> None:
        for disk in self._disks:
            disk.release()
        self._directory.release()


def files_of(drive: Drive) -> Sequence[Path]:
    """The files of the disks that ``drive`` is."""
    return drive.files if isinstance(drive, Together) else [drive.file]


def drive_name(cell: Cell) -> str:
    """What the disk does wrong, whose its cache is, and what of that outlives a cut."""
    keeps = [] if cell.place.disk_keeps == "none" else [f"cut keeps {cell.place.disk_keeps}"]
    battery = [BATTERIES[cell.place.disk_battery]] if cell.place.disk_battery in BATTERIES else []
    return ", ".join([*faults(cell.place), *battery, *keeps]) or "honest"


def announcement_of(cell: Cell, engine: Engine, evidence: CutEvidence) -> Announcement:
    """By the settings that were in force, where they were asked for; otherwise by those of the cell."""
    if (by := of_failure(cell.place.disk_failure, evidence.replication)) is not None:
        return by
    settings = {name: spoken(value) for name, value in cell.settings.items()}
    settings |= {setting.name: setting.in_force or setting.asked or "" for setting in evidence.settings}
    place, asked = evidence.place, cell.place
    given_up = gives_up(
        drive_name(cell),
        write_cache=place.write_cache if place else asked.write_cache or "",
        mount_options=place.mount_options if place else asked.mount,
        has_cache=asked.disk_cache_mb > 0,
        failure=asked.disk_failure,
    )
    mount = (place.filesystem, place.mount_options) if place else (asked.filesystem or "", asked.mount)
    return announced_by(engine.risk(cell.durability, settings, *mount), cell.durability, given_up, asked.disk_failure)


def is_unannounced(judgement: Judgement, by: Announcement) -> bool:
    """Whether it is lost, and that was not announced."""
    return judgement.verdict == "lost" and not by.covers(damage=bool(judgement.damage))
