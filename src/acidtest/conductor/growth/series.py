"""One series: its database is brought from size to size, and its cells are measured there."""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from typing import Any

from acidtest.conductor.base import RunContext
from acidtest.conductor.cell import measure, read_back
from acidtest.conductor.fatal_errors import refuse_to_go_on, why_failed
from acidtest.conductor.growth.at_work import EngineAtWork
from acidtest.conductor.growth.database import SeriesDatabase, growing
from acidtest.conductor.growth.loading import Arrival, Loader
from acidtest.conductor.recording import CellOutcome
from acidtest.conductor.rig import DiskFull
from acidtest.conductor.validity import broken_in
from acidtest.engine import Instance
from acidtest.engine.base import Launcher
from acidtest.errors import CellFailed, message_of
from acidtest.journal.models import SIZE, DatabaseSize, Warning
from acidtest.place import Place
from acidtest.place.trees import is_full
from acidtest.plan import Cell, GrowthPace

FAR = 0.05  # of the size: by more than this the recording warns
WITHOUT_LOAD: dict[str, Any] = {
    "warehouses_before": None,
    "bytes_before": None,
    "load_s": None,
    "load": [],
    "statistics": None,
}


class Series:
    """The cells of one series, which share a database. ``largest`` is the one with the largest size."""

    def __init__(
        self,
        largest: Cell,
        context: RunContext,
        unit_bytes: MutableMapping[str, float],
        pace: GrowthPace,
        *,
        statistics: bool,
    ) -> None:
        self.name = largest.series
        self._context, self._pace = context, pace
        self._database = SeriesDatabase(largest, context)
        self._loader = Loader(self._database, context, unit_bytes, pace, statistics=statistics)
        self._size: str | None = None  # the level that the database was brought to
        self._arrival: Arrival | None = None  # how it came there
        self._ended: str | None = None  # why nothing more is measured

    @property
    def bytes(self) -> int:
        """Of the database as it is now."""
        return self._database.bytes

    def run(self, cell: Cell, outcome: CellOutcome, *, check_after: bool) -> None:
        """Bring the database to the cell's size, unless it is there, and measure. Raises CellFailed."""
        if self._ended:
            raise CellFailed(self._ended)
        try:
            place = self._database.place()
            self._read_back(cell, place, outcome)
            if any(setting.is_wrong for setting in outcome.place_settings):
                return  # invalid already
            self._measured(cell, place, outcome, check_after=check_after)
        except (CellFailed, OSError) as error:
            full = isinstance(error, DiskFull) or (isinstance(error, OSError) and is_full(error))
            if full:
                reason = f"{self._where(cell)} is full: {message_of(error)}"
            else:
                refuse_to_go_on(self._context)
                reason = why_failed(error, self._context.engine(cell))
            self._end(cell, reason)
            raise CellFailed(reason) from None
        broken = broken_in(outcome.checks_after) if outcome.checks_after else None
        if wrong := outcome.wrong or broken or outcome.died or outcome.out_of_memory:
            self._end(cell, wrong)

    def close(self) -> None:
        """Remove the database, and the place that was made for it."""
        self._database.release()

    def _end(self, cell: Cell, reason: str) -> None:
        """Give up the database: what is in it is not known any more. What was measured before stays."""
        self._ended = f"the series ended at {cell.levels[SIZE]}, repetition {cell.repetition}: {reason}"
        self._database.release()

    def _measured(self, cell: Cell, place: Place, outcome: CellOutcome, *, check_after: bool) -> None:
        database, context = self._database, self._context
        carries_load = self._size != cell.levels[SIZE]
        if carries_load:
            self._arrival = self._loader.bring(cell)
            self._size = cell.levels[SIZE]
        arrival = self._arrival
        assert arrival is not None
        outcome.workload = growing(cell).with_units(database.units)
        outcome.database_size = (
            arrival.database_size if carries_load else arrival.database_size.model_copy(update=WITHOUT_LOAD)
        )
        outcome.checks_before, outcome.wrong = arrival.checked, arrival.wrong
        outcome.warnings = _missed(arrival.database_size)
        if arrival.wrong:
            return
        outcome.needs_checks = False  # not in the midst of the run's own sessions
        began = time.monotonic()

        def then(instance: Instance, launcher: Launcher) -> None:
            database.count(outcome.result)
            if check_after:
                outcome.checks_after = EngineAtWork(cell, context, database, instance, launcher).check()
            instance.seal()

        measure(cell, context, place, database.moved(), outcome, then=then)
        outcome.database_bytes = arrival.database_size.bytes  # without logs, as the size was asked for
        place.settle()
        self._read_back(cell, place, outcome)
        self._pace.measured(cell, time.monotonic() - began)

    def _read_back(self, cell: Cell, place: Place, outcome: CellOutcome) -> None:
        if not self._context.holds(cell):
            read_back(place, outcome)

    def _where(self, cell: Cell) -> str:
        return cell.place.path or cell.place.device or str(self._context.place.path.parent)


def _missed(size: DatabaseSize) -> list[Warning]:
    if size.asked_bytes is None or abs(size.bytes - size.asked_bytes) <= FAR * size.asked_bytes:
        return []
    text = (
        f"Asked for {size.asked} ({size.asked_bytes / 1e6:,.0f} MB), and the database has {size.bytes / 1e6:,.0f} "
        "MB: it holds whole warehouses, engines take room ahead, and what was measured before has made it grow too."
    )
    return [Warning(code="size-missed", about="size", text=text)]
