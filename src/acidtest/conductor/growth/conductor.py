"""Conducts the series of an experiment, one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path

from acidtest.conductor.base import Begun, Conductor, Ended, RunContext, Steps
from acidtest.conductor.cell import recorded
from acidtest.conductor.growth import room
from acidtest.conductor.growth.series import Series
from acidtest.conductor.recording import CellOutcome
from acidtest.conductor.validity import broken_in
from acidtest.engine import Engine
from acidtest.journal.models import SIZE, Recording
from acidtest.plan import Cell, GrowthPace, Plan, family_of


class Growth(Conductor):
    """Series in place: in each the sizes as they rise, of each size its repetitions one after the other."""

    def __init__(self, plan: Plan) -> None:
        assert plan.experiment.growth is not None
        self._statistics = plan.experiment.growth.statistics
        self._pace = GrowthPace({name: family_of(plan.experiment, name) for name in plan.engines})
        self._series: Series | None = None  # at work

    def needed_bytes(self, cells: Sequence[Cell], engines: Mapping[str, Engine], parent: Path) -> int:
        """None beside those of the series at work, whose largest size must fit where it will lie."""
        room.refuse_what_does_not_fit(cells, engines, parent)
        return 0

    def run(self, cells: Sequence[Cell], context: RunContext) -> Steps:
        largest = room.largest_of_series(cells, context.engines)
        unit_bytes: dict[str, float] = {}  # as loads have shown: of one unit of size, by what shapes them
        for name, of_series in groupby(cells, key=lambda cell: cell.series):
            series = Series(largest[name], context, unit_bytes, self._pace, statistics=self._statistics)
            with closing(series):
                self._series = series
                for _, of_size in groupby(of_series, key=lambda cell: cell.levels[SIZE]):
                    yield from _repetitions(list(of_size), series, context)
            self._series = None

    def left_s(self, cells: Sequence[Cell]) -> float:
        held = {self._series.name: self._series.bytes} if self._series else {}
        return self._pace.left(cells, held)


def _repetitions(cells: Sequence[Cell], series: Series, context: RunContext) -> Steps:
    """The cells of one size. The last check is that of all of them: where it fails, the earlier ones are revised."""
    earlier: list[Recording] = []
    for cell in cells:
        yield Begun(cell)

        def work(outcome: CellOutcome, cell: Cell = cell) -> None:
            series.run(cell, outcome, check_after=cell is cells[-1])

        recording = recorded(cell, context, work)
        revised = []
        if recording.checks_after and (broken := broken_in(recording.checks_after)):
            reason = f"consistency after the last repetition of this size: {broken}"
            revised = [recording.model_copy(update={"status": "invalid", "reason": reason}) for recording in earlier]
        earlier.append(recording)
        yield Ended(cell, [*revised, recording])
