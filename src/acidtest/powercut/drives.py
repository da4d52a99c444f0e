"""The disk whose power is cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from acidtest.place import DirectoryPlace, Ledger
from acidtest.place.cuttable import Drive
from acidtest.place.disk import BATTERIES, SimulatedDisk, faults
from acidtest.plan import Cell

# A disk of so many MiB in the directory, which writes its log there where one is asked for.
Drives = Callable[[Cell, DirectoryPlace, Ledger, int, Path | None], Drive]


def simulated(cell: Cell, home: DirectoryPlace, ledger: Ledger, size_mb: int, log: Path | None) -> Drive:
    """The disk that the cell asks for."""
    return SimulatedDisk(cell.place, home, size_mb, ledger, log=log)


def drive_name(cell: Cell) -> str:
    """What the disk does wrong, whose its cache is, and what of that outlives a cut."""
    keeps = [] if cell.place.disk_keeps == "none" else [f"cut keeps {cell.place.disk_keeps}"]
    battery = [BATTERIES[cell.place.disk_battery]] if cell.place.disk_battery in BATTERIES else []
    return ", ".join([*faults(cell.place), *battery, *keeps]) or "honest"
