"""Drives a conductor: what is refused, what is left to run, and every recording on the drive before the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from acidtest.conductor import admission
from acidtest.conductor.admission import Devices
from acidtest.conductor.base import Begun, Conductor, Looked, Probed, RunContext, Steps
from acidtest.conductor.output import Output
from acidtest.conductor.template import Templates
from acidtest.conductor.verify import verify
from acidtest.conductor.watcher import Watcher
from acidtest.conductor.workload_description import described
from acidtest.engine import Engine
from acidtest.journal.models import Forecast, Journal
from acidtest.journal.writer import JournalWriter
from acidtest.place import DirectoryPlace, Guests, Ledger, machine_facts, place_facts, release_leftovers
from acidtest.place.lease import leased
from acidtest.plan import Cell, Plan

Predict = Callable[[Journal, Cell], Forecast | None]  # None where the journal has the forecast, or came too late


@dataclass(frozen=True)
class RunOutcome:
    """What a run left in the journal."""

    journal: Journal
    ran: int  # cells run now


def conduct(
    plan: Plan,
    conductor: Conductor,
    output: Output,
    where: Path,
    watcher: Watcher,
    devices: Devices = Devices(),
    predict: Predict | None = None,
) -> RunOutcome:
    """Have ``conductor`` run the cells of ``plan`` that ``output`` lacks. ``where`` is the experiment's file.

    Each recording is on the drive before the conductor goes on, and what ``predict`` says of a held-out size before
    anything of it is loaded. Raises BadInput (an experiment that cannot run, a bad
    output directory, another experiment's journal, no space), MachineLacks (an engine or the rig is missing), and
    AcidtestError for what could not be released, and where the place or the journal was removed in mid-run. A cell that
    cannot run is a recording with status ``failed``. Cells that have run need nothing: their engines may be gone.
    """
    verify(plan, where)
    plan = described(plan)
    held = output.held()
    left = output.remaining(plan, held)
    engines = admission.admit(plan, left, conductor, where, devices, watcher)
    needed = dict.fromkeys(cell.engine for cell in left)
    if held:
        facts = {id: admission.facts_of(engines[id]) for id in needed}  # noqa: A001
        admission.refuse_changed_engines(held, facts, where)
    if held and (same := admission.refuse_other_programs(held, engines.values(), where)):
        watcher.doubts(same)
    if notes := [note for id in needed for note in engines[id].notes()]:  # noqa: A001
        watcher.doubts(notes)
    if released := release_leftovers():
        watcher.released(released)
    parent = Path(plan.experiment.place.path or output.directory)
    if held and held.damaged:
        watcher.doubts([line.told for line in held.damaged])
    if held and not left:  # nothing is needed and nothing is written
        watcher.begins(len(plan.cells), len(plan.cells), str(parent))
        return RunOutcome(held, 0)
    admission.admit_servers(left, engines, where)
    with output.opened() as writer:
        remaining = output.remaining(plan, writer.journal)
        watcher.begins(len(plan.cells) - len(remaining), len(plan.cells), str(parent))
        needed_bytes = admission.admit_remaining(remaining, conductor, engines, parent, devices, watcher)
        if remaining:
            with at_work(parent, needed_bytes, output.directory, engines, watcher) as context:
                _run(conductor, remaining, context, writer, predict)
        return RunOutcome(writer.journal, len(remaining))


class Estimate:
    """The seconds that are left.

    A conductor looks at every cell that is left before it answers, which for a hundred thousand of them would take
    longer than a short cell. So it is asked again only when one in ``ASKED_PER`` has ended since; meanwhile the clock
    counts down.
    """

    ASKED_PER = 500

    def __init__(self, left_s: Callable[[Sequence[Cell]], float], clock: Callable[[], float] = time.monotonic) -> None:
        self._left_s, self._clock = left_s, clock
        self._at: tuple[int, float, float] | None = None  # cells left, what was answered then, and when

    def seconds(self, left: Collection[Cell]) -> float:
        """Of the cells that are left."""
        if self._at is not None:
            cells, answer, asked = self._at
            if 0 < cells - len(left) < cells // self.ASKED_PER:
                return max(0.0, answer - (self._clock() - asked))
        answer = self._left_s(list(left))
        self._at = len(left), answer, self._clock()
        return answer


def _run(
    conductor: Conductor, cells: Sequence[Cell], context: RunContext, writer: JournalWriter, predict: Predict | None
) -> None:
    left = {cell.id: cell for cell in cells}
    estimate = Estimate(conductor.left_s)
    watcher, who = context.watcher, f"the run into {context.out}"
    shared = partial(leased, alone=False, who=who, tell=lambda line: watcher.doubts([line]))
    with closing(leasing(conductor.run(cells, context), shared)) as steps:
        for step in steps:
            if isinstance(step, Begun):
                watcher.cell_begins(step.cell, estimate.seconds(left.values()))
                if predict and step.cell.held_out and (forecast := predict(writer.journal, step.cell)):
                    writer.append(forecast)
                continue
            if isinstance(step, Probed):
                writer.append(step.recording)
                watcher.cell_ended(step.cell, step.recording, estimate.seconds(left.values()))
                continue
            if isinstance(step, Looked):
                writer.append(step.explored)
                continue
            for recording in step.recordings:
                writer.append(recording)
            del left[step.cell.id]
            if step.recordings:
                watcher.cell_ended(step.cell, step.recordings[-1], estimate.seconds(left.values()))
        assert not left, "a conductor ends every cell that it is given"


def leasing(steps: Steps, lease: Callable[[], AbstractContextManager[None]]) -> Steps:
    """The steps, each of them taken within a ``lease`` of this machine."""
    with closing(steps):
        while True:
            with lease():
                step = next(steps, None)
            if step is None:
                return
            yield step


@contextmanager
def at_work(
    parent: Path, needed_bytes: int, out: Path, engines: Mapping[str, Engine], watcher: Watcher
) -> Iterator[RunContext]:
    """What a conductor needs for one run on this machine; all that it made is released in the end.

    The run's own place lies in ``parent``, where ``needed_bytes`` must be free. Raises BadInput where they are not.
    """
    with ExitStack() as held:
        ledger = held.enter_context(closing(Ledger()))
        place = DirectoryPlace(parent, ledger, needed_bytes=needed_bytes, holds="what this run writes")
        held.callback(place.release)
        guests = Guests(ledger)
        held.callback(guests.end)
        yield RunContext(
            out=out,
            place=place,
            place_facts=place_facts(place.path),
            ledger=ledger,
            machine=machine_facts(),
            engines=engines,
            templates=Templates(place, ledger),
            guests=guests,
            watcher=watcher,
        )
