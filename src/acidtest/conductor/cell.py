"""Measures one cell: the engine over a database in a place, the settings read back, the load, the checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from acidtest.conductor import call_trace, shared_load
from acidtest.conductor.base import RunContext
from acidtest.conductor.device import CellDevice
from acidtest.conductor.fatal_errors import refuse_to_go_on, why_failed
from acidtest.conductor.instruments import EngineCounting, EngineSampling, Instrument, Witness
from acidtest.conductor.memory import CellMemory
from acidtest.conductor.recording import CellOutcome, RecordingBuilder, Status
from acidtest.conductor.rig import DiskFull
from acidtest.conductor.rig_work import RigWork
from acidtest.conductor.steady_start import SteadyStart
from acidtest.conductor.template import Template
from acidtest.conductor.validity import doubts, why_invalid
from acidtest.engine import Instance, log_times
from acidtest.engine.base import Launcher
from acidtest.errors import CellFailed, message_of
from acidtest.files import find_rig
from acidtest.journal.models import LogLine, PlaceFacts, Recording
from acidtest.journal.protocol import Phase
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
            reason = f"the place is full: {message_of(error)}: raise place.size_mb"
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
    memory = CellMemory(cell.place, context.ledger, sessions=cell.workload.terminals)
    instruments: list[Instrument] = [memory]
    try:
        with memory:
            instance = engine.adopt(directory, cell.settings, cell.durability)
            try:
                if context.generators is not None:
                    instance.listen_at(context.generators.own.address)
                place.settle()
                outcome.database_bytes = place.database_bytes(instance.database_files())
                memory.begin(instance)
                start = None
                if isinstance(place, GuestPlace):  # into which nothing can look from here
                    start = partial(place.rig, find_rig(), engine.files())
                else:
                    instruments += [_device_of(cell, instance), Witness(instance, memory.launched)]
                instance.start(memory.launched)
                if memory.stays_untouched and after_load and after_load.checked:
                    outcome.checks_before, outcome.checked_for = after_load.checked, after_load.workload
                launcher = memory.launched if engine.mode(cell.settings) == "embedded" else context.ledger
                work = RigWork(cell, context, instance, launcher, outcome, instruments, start)
                _run_watched(work, place, directory, memory.launched.pids())
                if then and not outcome.died:
                    then(instance, launcher)
            finally:
                outcome.engine_log, outcome.log_findings = instance.log(), instance.log_findings()
                outcome.log_lines = _logged(instance, outcome)
                instance.release()
    finally:
        for instrument in instruments:
            instrument.record(outcome)


def _device_of(cell: Cell, instance: Instance) -> CellDevice:
    return CellDevice(
        instance.database_files()[0],
        timed=cell.workload.count is None,
        warmup_s=cell.workload.warmup_s if cell.workload.warmup_limit_s is None else None,
        instance=instance,
    )


def _run_watched(work: RigWork, place: Place, directory: Path, processes: Sequence[int]) -> None:
    """Run it in the rig, with the engine's calls and statements watched where the cell is observed."""
    cell, instance, outcome = work.cell, work.instance, work.outcome
    worked = False
    try:
        with (
            call_trace.traced(cell, instance, outcome) as traced,
            call_trace.watched(cell, work.context.ledger, processes, directory) as watched,
        ):
            run_in_rig(replace(work, instruments=[*work.instruments, *traced, *watched]))
        if outcome.calls and (log := place.disk_log()):
            outcome.calls = call_trace.with_disk(outcome.calls, log)
        worked = True
    finally:
        # The kernel closes a dying server's sessions, which ends the work, before its end can be seen.
        outcome.died = instance.died(0.0 if worked else DEATH_S)


def _logged(instance: Instance, outcome: CellOutcome) -> list[LogLine]:
    """What the engine's log says of the time of the measurement."""
    if outcome.result is None or outcome.measured_from is None:
        return []
    until = outcome.measured_from + outcome.result.measured_s
    return log_times.between(instance.log_file(), outcome.measured_from, until)


def run_in_rig(work: RigWork, before: Sequence[Phase] = ()) -> None:
    """Have the rig do the phases ``before``, the cell's work and its checks, and note what it answers.

    Raises CellFailed when the rig cannot go on.
    """
    try:
        if work.context.generators is not None:
            shared_load.run(work, work.context.generators, before)
        else:
            work = _with_own_instruments(work)
            work.do([*work.before(before), work.cell.workload.run_phase(), *work.after()])
    finally:
        if work.answers:
            work.outcome.settings = work.instance.settings_in_force(work.answers)


def _with_own_instruments(work: RigWork) -> RigWork:
    """The same, observed by what the workload waits for and what the engine counts and tells itself."""
    workload, start = work.outcome.workload or work.cell.workload, work.start
    instruments = list(work.instruments)
    if workload.warmup_limit_s is not None:
        steady = SteadyStart(work.cell.workload, work.launcher)
        instruments, start = [steady, *instruments], steady.start
    if counters := work.instance.counters():
        instruments.append(EngineCounting(counters))
    if workload.sample_engine and (figures := work.instance.figures()):
        instruments.append(EngineSampling(figures))
    return replace(work, instruments=instruments, start=start)
