"""Measures one cell: the engine over a database in a place, the settings read back, the load, the checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from acidtest.conductor import call_trace, shared_load
from acidtest.conductor.context import RunContext
from acidtest.conductor.device import CellDevice
from acidtest.conductor.fatal_errors import refuse_to_go_on, why_failed
from acidtest.conductor.jobs import job_for
from acidtest.conductor.memory import CellMemory
from acidtest.conductor.recording import CellOutcome, RecordingBuilder, Status
from acidtest.conductor.rig import DiskFull, Start, converse
from acidtest.conductor.steady_start import SteadyStart
from acidtest.conductor.template import Template
from acidtest.conductor.validity import doubts, why_invalid
from acidtest.engine import Instance, log_times
from acidtest.engine.base import Launcher
from acidtest.engine.statements import StatementTrace
from acidtest.errors import CellFailed, told
from acidtest.files import find_rig
from acidtest.journal.models import LogLine, OwnReport, PlaceFacts, Recording
from acidtest.journal.protocol import (
    Answered,
    AskPhase,
    Begins,
    Checked,
    CheckPhase,
    Counted,
    Hello,
    Loaded,
    Maintained,
    Observe,
    Observed,
    Phase,
    Progress,
    Replayed,
    Result,
    Sampled,
    Settings,
)
from acidtest.place import GuestPlace, Place
from acidtest.place.facts import unseen
from acidtest.place.trees import is_full
from acidtest.plan import Cell

DEATH_S = 1.0


def recorded(cell: Cell, context: RunContext, work: Callable[[CellOutcome], None]) -> Recording:
    """Do ``work`` and return the recording of its outcome, as far as it came.

    Only bugs are raised, what could not be released, and what ends every further cell too: the run's own place is full
    or gone (DiskFull, OSError, AcidtestError), the rig is missing (MachineLacks).
    """
    engine = context.engine(cell)
    builder, outcome = RecordingBuilder(cell, engine, context.machine), CellOutcome()
    status: Status = "done"
    reason: str | None = None
    try:
        work(outcome)
    except (CellFailed, OSError) as error:
        status = "failed"
        if isinstance(error, DiskFull) or (isinstance(error, OSError) and is_full(error)):
            if context.holds(cell):
                raise
            reason = f"the place is full: {told(error)}: raise place.size_mb"
        else:
            refuse_to_go_on(context)
            reason = why_failed(error, engine)
    if outcome.died and (gone := engine.gone()):
        status, reason = "failed", gone
    elif outcome.died:
        status, reason = "invalid", f"the server died in mid-run: {outcome.died}"
    elif status == "done" and (wrong := why_invalid(outcome, cell.workload)):
        status, reason = "invalid", wrong
    if outcome.out_of_memory:
        status, reason = "invalid", outcome.out_of_memory
    outcome.place = _place_facts(cell, context, outcome)
    outcome.warnings += doubts(cell, engine, outcome)
    return builder.build(outcome, status, reason)


def _place_facts(cell: Cell, context: RunContext, outcome: CellOutcome) -> PlaceFacts:
    engine = context.engine(cell)
    if not engine.private:
        return unseen("server", engine.last_facts().source)
    if context.holds(cell):
        return context.place_facts
    where = cell.place.device or cell.place.path or str(context.place.path.parent)
    return outcome.place or unseen(cell.place.kind, where)


def read_back(place: Place, outcome: CellOutcome) -> None:
    """Note what the storage is now."""
    outcome.place, outcome.place_settings = place.facts(), place.settings()
    if isinstance(place, GuestPlace):
        outcome.machine = place.machine()


def measure(
    cell: Cell,
    context: RunContext,
    place: Place,
    directory: Path,
    outcome: CellOutcome,
    *,
    after_load: Template | None = None,
    then: Callable[[Instance, Launcher], None] | None = None,
) -> None:
    """Start the engine over the database in ``directory`` and run the cell's work, in its limits.

    The check of ``after_load`` stands for the one before the run where the file cache must stay untouched. ``then`` is
    done with the engine when the work went well, before it is let go of.
    """
    engine = context.engine(cell)
    memory = CellMemory(cell.place, context.ledger)
    device: CellDevice | None = None
    try:
        with memory:
            instance = engine.adopt(directory, cell.settings, cell.durability)
            try:
                if context.generators is not None:
                    instance.listen_at(context.generators.own.address)
                place.settle()
                outcome.database_bytes = place.database_bytes(instance.database_files())
                memory.begin(instance)
                if not isinstance(place, GuestPlace):
                    device = CellDevice(
                        instance.database_files()[0],
                        timed=cell.workload.count is None,
                        warmup_s=cell.workload.warmup_s if cell.workload.warmup_limit_s is None else None,
                        instance=instance,
                    )
                instance.start(memory.launched)
                worked = False
                try:
                    if memory.stays_untouched and after_load and after_load.checked:
                        outcome.checks_before, outcome.checked_for = after_load.checked, after_load.workload
                    launcher = memory.launched if engine.mode(cell.settings) == "embedded" else context.ledger
                    start = partial(place.rig, find_rig(), engine.files()) if isinstance(place, GuestPlace) else None
                    with (
                        call_trace.traced(cell, instance) as trace,
                        call_trace.watched(cell, context.ledger, memory.launched.pids(), directory) as observe,
                    ):
                        run_in_rig(
                            cell,
                            context,
                            instance,
                            launcher,
                            outcome,
                            start=start,
                            observe=observe,
                            trace=trace,
                            memory=memory,
                            device=device,
                        )
                    if outcome.calls and (log := place.disk_log()):
                        outcome.calls = call_trace.with_disk(outcome.calls, log)
                    worked = True
                finally:
                    # The kernel closes a dying server's sessions, which ends the work, before its end can be seen.
                    outcome.died = instance.died(0.0 if worked else DEATH_S)
                if then and not outcome.died:
                    then(instance, launcher)
            finally:
                outcome.engine_log, outcome.log_findings = instance.log(), instance.log_findings()
                outcome.log_lines = _logged(instance, outcome)
                instance.release()
    finally:
        outcome.out_of_memory = memory.wrong()
        outcome.memory_settings = memory.settings()
        outcome.memory = memory.record(outcome.settings, (outcome.workload or cell.workload).terminals)
        if device:
            outcome.device, outcome.sizes = device.record(), device.sizes(outcome.settings)


def _logged(instance: Instance, outcome: CellOutcome) -> list[LogLine]:
    """What the engine's log says of the time of the measurement."""
    if outcome.result is None or outcome.measured_from is None:
        return []
    until = outcome.measured_from + outcome.result.measured_s
    return log_times.between(instance.log_file(), outcome.measured_from, until)


def run_in_rig(
    cell: Cell,
    context: RunContext,
    instance: Instance,
    launcher: Launcher,
    outcome: CellOutcome,
    *,
    before: Sequence[Phase] = (),
    start: Start | None = None,
    observe: Observe | None = None,
    trace: StatementTrace | None = None,
    memory: CellMemory | None = None,
    device: CellDevice | None = None,
) -> None:
    """Have the rig do the phases ``before``, the cell's work and its checks, and note in ``outcome`` what it answers.

    Raises CellFailed when the rig cannot go on.
    """
    if context.generators is not None:
        shared_load.run(
            cell, context, context.generators, instance, launcher, outcome, before=before, memory=memory, device=device
        )
        return
    # A check reads the whole database. Where the file cache must stay as it was made, the one after the load stands
    # for the check of its copy.
    checks_now = outcome.needs_checks and outcome.checks_before is None
    phases: list[Phase] = [*before, *([CheckPhase()] if checks_now else []), cell.workload.run_phase()]
    questions = {question.sql: question for question in cell.workload.questions()}
    phases += [AskPhase(questions=list(questions))] if questions else []
    phases += [CheckPhase()] if outcome.needs_checks else []
    counters = instance.counters()
    figures = instance.figures() if (outcome.workload or cell.workload).sample_engine else None
    job = job_for(
        cell,
        instance,
        phases,
        workload=outcome.workload,
        inspected=True,
        observe=observe,
        count=counters,
        sample=figures,
    )
    wait = SteadyStart(cell.workload, launcher) if cell.workload.warmup_limit_s is not None else None
    answers: list[Settings] = []
    witnessed = True  # everything was seen that the engine cannot be asked for
    try:
        with closing(converse(job, launcher, instance.environment(), wait.start if wait else start)) as events:
            for event in events:
                match event:
                    case Hello():
                        outcome.engine_version = event.engine_version
                    case Settings():
                        answers.append(event)
                        if memory and start is None:  # in a guest nothing can be looked at from here
                            memory.look()
                            witnessed = instance.witness(memory.launched.pids())
                    case Loaded():
                        outcome.load = event
                    case Checked() if outcome.result is None:
                        outcome.checks_before = event
                    case Checked():
                        outcome.checks_after = event
                    case Result():
                        outcome.result = event
                        outcome.steady_wait = wait.record(outcome.result) if wait else None
                        if device:
                            device.measured()
                        if memory:
                            memory.measured(outcome.result)
                    case Observed():
                        outcome.calls = event
                    case Begins() if trace:
                        trace.terminals_begin(event)
                    case Counted() if counters:
                        outcome.engine_counts = counters.recorded(event)
                    case Sampled() if figures:
                        outcome.engine_samples = figures.recorded(event)
                    case Maintained():
                        outcome.maintenance = event
                    case Replayed():
                        outcome.replay = event
                    case Answered():
                        asked = questions[event.question]
                        columns = list(asked.columns)
                        outcome.own_reports.append(
                            OwnReport(title=asked.title, columns=columns, rows=event.rows, by_kind=asked.by_kind)
                        )
                    case Progress():
                        if wait:
                            wait.hear(event)
                        if event.phase == "run" and outcome.measured_from is None and start is None:
                            warmup_s = wait.warmup_s if wait else cell.workload.warmup_s
                            outcome.measured_from = time.time() - max(0.0, event.elapsed_s - warmup_s)
                        if device:
                            device.progress(event)
                        if memory and not witnessed:
                            witnessed = instance.witness(memory.launched.pids())
                        context.watcher.progress(cell, event)
        if trace and outcome.result:
            committed = sum(second.committed for second in outcome.result.series)
            outcome.traced_statements = trace.finish(committed)
    finally:
        if answers:
            outcome.settings = instance.settings_in_force(answers)
