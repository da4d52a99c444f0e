"""The one database of a series: where it lies, how large it is, and what was committed to it."""

from __future__ import annotations

import contextlib
from itertools import zip_longest
from pathlib import Path

from acidtest.conductor.base import RunContext
from acidtest.conductor.growth import room
from acidtest.engine import Instance
from acidtest.journal.protocol import RunResult
from acidtest.place import Place, filecache
from acidtest.place import make as make_place
from acidtest.plan import Cell
from acidtest.workload import GrowingWorkload


class SeriesDatabase:
    """Made when first needed, in a place of its own unless it lies in the run's; ``release`` removes both.

    ``largest`` is the cell of the series with the largest size: the place is made for it.
    """

    def __init__(self, largest: Cell, context: RunContext) -> None:
        self.bytes = 0  # of its files, when last looked at
        self.units = 0  # of the workload's size: warehouses
        self.acknowledged: list[int] = []  # commits by kind, of all that was measured on it
        self._largest, self._context = largest, context
        self._engine = context.engine(largest)
        self._place: Place | None = None
        self._directory: Path | None = None
        self._files: list[str] = []  # of the database, in that directory
        self._directories_made = 0

    def place(self) -> Place:
        """Where it lies, made now if it is not there yet. Raises CellFailed."""
        if self._place is None:
            if self._context.holds(self._largest):
                self._place = self._context.place
            else:
                needed = room.room_for(self._largest, self._engine)
                self._place = make_place(
                    room.with_image_for(self._largest.place, needed),
                    self._context.place.path,
                    self._context.ledger,
                    database_bytes=needed,
                    logged=self._largest.workload.observe,
                )
        return self._place

    def create(self, cell: Cell) -> None:
        """Make it, empty, unless it is there already."""
        if self._directory is not None:
            return
        self._directory = self.place().subdirectory("empty")
        instance = self._engine.create(self._directory, cell.settings)
        try:
            instance.seal()
            self._files = [path.name for path in instance.database_files()]
        finally:
            instance.release()

    def moved(self) -> Path:
        """A directory of its own for the next instance, with nothing in it but the database."""
        place = self.place()
        self._directories_made += 1
        directory = place.subdirectory(f"grown-{self._directories_made}")
        old, self._directory = self._directory, directory
        if old is not None:
            for name in self._files:
                (old / name).rename(directory / name)
            place.remove(old)
        return directory

    def count(self, result: RunResult | None) -> None:
        """Note what was acknowledged while it was measured."""
        kinds = [kind.committed for kind in result.kinds] if result else []
        self.acknowledged = [a + b for a, b in zip_longest(self.acknowledged, kinds, fillvalue=0)]

    def release(self) -> None:
        """Remove it, and the place that was made for it."""
        place, directory = self._place, self._directory
        self._place = self._directory = None
        if place is self._context.place and directory is not None:
            place.remove(directory)
        elif place is not None and place is not self._context.place:
            place.release()


def growing(cell: Cell) -> GrowingWorkload:
    """The cell's workload; the reader takes no other beside [growth]."""
    assert isinstance(cell.workload, GrowingWorkload)
    return cell.workload


def bytes_of(instance: Instance) -> int:
    """Size of the files with tables and indexes, without logs."""
    total = 0
    for file in filecache.files_below(instance.data_files()):
        with contextlib.suppress(FileNotFoundError):  # an engine at work removes files
            total += file.stat().st_size
    return total
