"""Searches for the highest rate: of each combination one run after another, at the rates that somebody decides on.

Who decides knows what the runs show; here runs are only made, each on a fresh copy of the template. The runs of several
combinations take turns, so that a drift of the machine falls on all of them alike.
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Protocol

from acidtest.conductor.admission import Devices
from acidtest.conductor.base import Begun, Ended, Probed, RunContext, Steps
from acidtest.conductor.cell import recorded
from acidtest.conductor.conduct import RunOutcome, conduct
from acidtest.conductor.grid import Grid, run_cell
from acidtest.conductor.output import Output, header
from acidtest.conductor.watcher import Watcher
from acidtest.errors import BadInput
from acidtest.journal.models import CLOSED_LOOP, RATE, Recording
from acidtest.journal.reader import SEARCH
from acidtest.plan import Cell, Plan, cell_seconds, run_at, searches, typical_runs


@dataclass(frozen=True)
class Wanted:
    """The next run of a combination."""

    rate_per_s: float | None  # None: a closed loop
    number: int  # of the runs at this rate, 1-based
    order: int  # of all its runs, 1-based
    least_left: int  # runs that it takes at least, with this one


class Decider(Protocol):
    """Decides from the recordings of a combination which run comes next; None where its search has ended."""

    def __call__(self, recordings: Sequence[Recording]) -> Wanted | None: ...


def search(
    plan: Plan,
    where: Path,
    out: Path,
    watcher: Watcher,
    decide: Decider,
    *,
    retry_failed: bool = False,
    devices: Devices = Devices(),
) -> RunOutcome:
    """Run the searches of ``plan`` that have not ended in ``out``'s journal of searches, which the runs go into.

    With ``retry_failed`` runs that failed are run again. Raises what ``conduct`` raises.
    """
    planned = searches(plan)

    def ended(recordings: Sequence[Recording]) -> Collection[str]:
        return {cell.id for cell in planned.cells if decide(runs_of(cell, recordings)) is None}

    first_line = header(planned).model_copy(update={"factors": header(planned).factors | {RATE: [CLOSED_LOOP]}})
    output = Output(out, first_line, SEARCH, lambda one: retry_failed and one.status == "failed", ended)
    conductor = Search(decide, output, typical_runs(plan))
    return conduct(planned, conductor, output, where, watcher, devices)


def refuse_search(plan: Plan, where: Path) -> None:
    """Raise BadInput where the experiment is one for ``acidtest search``."""
    if plan.experiment.search is not None:
        raise BadInput(
            f"{where}: [search] asks for the highest rate, which is another command's work",
            f"acidtest search {where} --out DIR, or leave [search] out",
        )


def runs_of(cell: Cell, recordings: Sequence[Recording]) -> list[Recording]:
    """Those of the combination of ``cell``."""
    return [
        recording
        for recording in recordings
        if {k: v for k, v in recording.levels.items() if k != RATE} == dict(cell.levels)
    ]


class Search(Grid):
    """A cell is the search of one combination."""

    def __init__(self, decide: Decider, output: Output, typical: int) -> None:
        super().__init__()
        self._decide, self._output, self._typical = decide, output, typical
        self._runs: dict[str, list[Recording]] = {}  # of each search
        self._seconds: dict[str, list[float]] = {}

    def run(self, cells: Sequence[Cell], context: RunContext) -> Steps:
        held = self._output.counting(self._output.held())
        self._runs = {cell.id: runs_of(cell, held) for cell in cells}
        left = list(cells)
        turn = 0
        while left:
            turn += 1
            random.Random(f"{cells[0].seed}:{turn}").shuffle(left)
            for cell in list(left):
                wanted = self._decide(self._runs[cell.id])
                if wanted is None:
                    left.remove(cell)
                    yield Ended(cell, ())
                    continue
                yield from self._one(cell, wanted, context)

    def _one(self, cell: Cell, wanted: Wanted, context: RunContext) -> Steps:
        run = run_at(cell, wanted.rate_per_s, wanted.number, wanted.order, cell.seed)
        yield Begun(run)
        began = time.monotonic()
        recording = recorded(run, context, partial(run_cell, run, context))
        self._seconds.setdefault(cell.id, []).append(time.monotonic() - began)
        self._runs[cell.id].append(recording)
        yield Probed(run, recording)

    def left_s(self, cells: Sequence[Cell]) -> float:
        total = 0.0
        for cell in cells:
            runs = self._runs.get(cell.id, [])
            wanted = self._decide(runs)
            if wanted is not None:
                took = self._seconds.get(cell.id)
                each = median(took) if took else cell_seconds(cell)
                total += each * max(wanted.least_left, self._typical - len(runs))
        return total
