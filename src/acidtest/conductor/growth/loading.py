"""Brings the database of a series to the next size: loads, measures what came of it, and loads what is missing."""

from __future__ import annotations

import time
from collections.abc import Iterator, MutableMapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from acidtest.conductor.admission import MARGIN_BYTES
from acidtest.conductor.base import RunContext
from acidtest.conductor.growth import room
from acidtest.conductor.growth.at_work import EngineAtWork
from acidtest.conductor.growth.database import SeriesDatabase, bytes_of, growing
from acidtest.conductor.memory import CellMemory
from acidtest.conductor.rig import load_phase
from acidtest.conductor.validity import broken_in
from acidtest.conductor.watcher import Loading
from acidtest.errors import CellFailed
from acidtest.families import FAMILIES
from acidtest.journal.models import SIZE, DatabaseSize, LoadSample
from acidtest.journal.protocol import Checked, Loaded, Progress
from acidtest.place import filecache
from acidtest.plan import Cell, GrowthPace, size_bytes

FIRST_SHARE = 0.85  # of a size that is loaded while nothing but an assumption says how large a unit of size gets
NEAR = 0.04  # of the size: what is missed by no more is not loaded after
LOADS_MOST = 3  # for one size
SAMPLES_MOST = 600


@dataclass
class Arrival:
    """How the database came to a size, and what it looked like there."""

    database_size: DatabaseSize
    checked: Checked | None = None
    wrong: str | None = None  # why nothing that is measured at this size counts


class Loader:
    """Loads the database of one series.

    ``unit_bytes`` is how large units of the workload's size have become, by what shapes them: shared by all
    series, so that a later one needs no assumption.
    """

    def __init__(
        self,
        database: SeriesDatabase,
        context: RunContext,
        unit_bytes: MutableMapping[str, float],
        pace: GrowthPace,
        *,
        statistics: bool,
    ) -> None:
        self._database, self._context = database, context
        self._known, self._pace, self._statistics = unit_bytes, pace, statistics

    def bring(self, cell: Cell) -> Arrival:
        """Load until the database has the cell's size; check it and take its statistics. Raises CellFailed."""
        database, watcher = self._database, self._context.watcher
        database.create(cell)
        target = size_bytes(cell, self._family(cell))
        with self._started(cell) as at_work:
            instance = at_work.instance
            database.bytes = bytes_of(instance)
            before, bytes_before = database.units, database.bytes if database.units else 0
            self._make_sure_of_room(cell, target)
            samples = _Samples()
            rows = 0
            for part in range(LOADS_MOST):
                wanted = self._wanted(cell, target, part)
                if wanted <= database.units:
                    break
                phase = load_phase(database.units)
                with closing(at_work.converse(phase, wanted)) as events:
                    for event in events:
                        if isinstance(event, Loaded):
                            rows += event.rows
                        elif isinstance(event, Progress):
                            now = bytes_of(instance)
                            at_s = samples.add(now, rows + event.done)
                            watcher.loading(cell, Loading(now, target, at_s, now - bytes_before))
                database.place().settle()
                database.units, database.bytes = wanted, bytes_of(instance)
                self._learn(cell)
            load_s = samples.add(database.bytes, rows, last=True)
            if rows:
                added = database.bytes - bytes_before
                self._pace.loaded(cell, added, load_s)
                watcher.loading(cell, Loading(database.bytes, target, load_s, added, ended=True))
            arrival = self._inspected(cell, at_work)
            instance.seal()
            database.bytes = bytes_of(instance)
            update: dict[str, Any] = {"warehouses": database.units, "bytes": database.bytes}
            if rows:
                update |= {
                    "warehouses_before": before,
                    "bytes_before": bytes_before,
                    "load_s": load_s,
                    "load": samples.kept,
                }
            arrival.database_size = arrival.database_size.model_copy(update=update)
            return arrival

    @contextmanager
    def _started(self, cell: Cell) -> Iterator[EngineAtWork]:
        """The started engine over the database, as it loads, in the cell's memory limit."""
        context, engine = self._context, self._context.engine(cell)
        specs = engine.setting_specs()
        settings = {name: value for name, value in cell.settings.items() if not specs[name].by_level}
        memory = CellMemory(cell.place, context.ledger)
        try:
            with memory:
                instance = engine.adopt(self._database.moved(), settings, engine.durability_levels()[0])
                try:
                    self._database.place().settle()
                    if cell.place.memory_mb is not None:
                        filecache.drop(filecache.files_below(instance.database_files()))
                    instance.start(memory.launched)
                    launcher = memory.launched if engine.mode(cell.settings) == "embedded" else context.ledger
                    yield EngineAtWork(cell, context, self._database, instance, launcher)
                finally:
                    instance.release()
        except CellFailed as error:
            if wrong := memory.wrong():
                raise CellFailed(f"while it was loaded: {wrong}") from None
            raise CellFailed(f"loading {cell.levels[SIZE]}: {error.message}") from None
        if wrong := memory.wrong():
            raise CellFailed(f"while it was loaded: {wrong}")

    def _inspected(self, cell: Cell, at_work: EngineAtWork) -> Arrival:
        """Check the loaded database, and take its statistics."""
        began = time.monotonic()
        database = self._database
        assert cell.size is not None
        size = DatabaseSize(
            asked=cell.size.asked, asked_bytes=cell.size.bytes, warehouses=database.units, bytes=database.bytes
        )
        arrival = Arrival(size, at_work.check())
        if arrival.checked and (broken := broken_in(arrival.checked)):
            arrival.wrong = f"consistency after the load: {broken}"
        elif self._statistics:
            try:
                arrival.database_size = size.model_copy(update={"statistics": at_work.statistics()})
            except CellFailed as error:
                arrival.wrong = f"statistics of the database: {error.message}"
                arrival.database_size = size.model_copy(update={"statistics_said": error.message})
        else:
            arrival.database_size = size.model_copy(update={"statistics_said": "growth.statistics = false"})
        self._pace.looked(cell, database.bytes, time.monotonic() - began)
        return arrival

    # -------------------------------------------------------------------------------------------- how much to load

    def _wanted(self, cell: Cell, target: int, part: int) -> int:
        """How many units of size to load up to now."""
        database = self._database
        assert cell.size is not None
        if cell.size.units is not None:
            return cell.size.units
        missing = target - (database.bytes if database.units else self._fixed(cell))
        if part and missing <= NEAR * target:
            return database.units
        known = self._known.get(self._shape(cell))
        if known is None:
            more = int(FIRST_SHARE * missing / growing(cell).unit_bytes(self._family(cell)))
        else:
            more = round(missing / known)
        return max(database.units + more, 1)

    def _learn(self, cell: Cell) -> None:
        # Over all of them: Firebird takes room by a sixteenth of its file, which would all count for the last few.
        database = self._database
        if database.bytes > self._fixed(cell):
            self._known[self._shape(cell)] = (database.bytes - self._fixed(cell)) / database.units

    def _fixed(self, cell: Cell) -> int:
        """What is assumed to be there beside the units of size."""
        family = self._family(cell)
        return FAMILIES[family].empty_bytes + growing(cell).fixed_bytes(family)

    def _shape(self, cell: Cell) -> str:
        engine = self._context.engine(cell)
        specs = engine.setting_specs()
        shaping = sorted((name, cell.settings.get(name)) for name, spec in specs.items() if spec.shapes_files)
        return f"{engine.id} {shaping} {growing(cell).shape()}"

    def _family(self, cell: Cell) -> str:
        return self._context.engine(cell).family

    def _make_sure_of_room(self, cell: Cell, target: int) -> None:
        database = self._database
        added = max(0, target - database.bytes)
        logs = 0 if database.units else self._context.engine(cell).log_bytes(cell.settings)
        needed, free = int(room.ROOM * added) + logs + MARGIN_BYTES, room.free_bytes(database.place().path)
        if added and free < needed:
            raise CellFailed(
                f"growing from {database.bytes / 1e6:,.0f} to {target / 1e6:,.0f} MB needs about "
                f"{needed / 1e6:,.0f} MB, and the place has {free / 1e6:,.0f} MB free"
            )


@dataclass
class _Samples:
    """What a load has written over time, at most twice ``SAMPLES_MOST`` kept."""

    began: float = field(default_factory=time.monotonic)
    kept: list[LoadSample] = field(default_factory=list)
    _apart_s: float = 0.5

    def add(self, bytes_: int, rows: int, *, last: bool = False) -> float:
        at_s = time.monotonic() - self.began
        if last or not self.kept or at_s - self.kept[-1].at_s >= self._apart_s:
            self.kept.append(LoadSample(at_s=round(at_s, 3), bytes=bytes_, rows=rows))
        if len(self.kept) > SAMPLES_MOST and not last:
            del self.kept[1::2]
            self._apart_s *= 2
        return at_s
