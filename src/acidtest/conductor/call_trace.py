"""The system calls of one cell's engine: by what means they are watched, and what that does to the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from acidtest.analysis import disk_log
from acidtest.analysis.calls import joined
from acidtest.conductor.instruments import Instrument
from acidtest.conductor.recording import CellOutcome
from acidtest.engine import Instance
from acidtest.engine.instruments import StatementTrace
from acidtest.journal.models import EngineCounts, Warning
from acidtest.journal.protocol import Begins, Event, Job, KernelMeans, Observe, Observed, ObservedCalls, StraceMeans
from acidtest.place import Ledger, tracing
from acidtest.plan import Cell
from acidtest.words import counted


class CallWatch(Instrument):
    """The system calls of the engine."""

    def __init__(self, observe: Observe) -> None:
        self._observe = observe

    def ask(self, job: Job) -> Job:
        return job.model_copy(update={"observe": self._observe})

    def hear(self, event: Event, outcome: CellOutcome) -> None:
        if isinstance(event, Observed):
            outcome.calls = event


class TracedSessions(Instrument):
    """The engine's own trace of statements."""

    def __init__(self, trace: StatementTrace) -> None:
        self._trace = trace

    def hear(self, event: Event, outcome: CellOutcome) -> None:
        if isinstance(event, Begins):
            self._trace.terminals_begin(event)


@contextmanager
def watched(cell: Cell, ledger: Ledger, processes: Sequence[int], directory: Path) -> Iterator[list[Instrument]]:
    """Watch the server's ``processes``, or, without any, the engine embedded in the rig, where the cell is observed.

    What it makes in the kernel for that is released in the end, whatever becomes of the rig.
    """
    if not cell.workload.observe:
        yield []
        return
    where = str(directory.resolve())
    if tracing.means() == "strace":
        program = tracing.strace()
        assert program is not None
        yield [CallWatch(Observe(means=StraceMeans(program=program), processes=list(processes), directory=where))]
        return
    id, instance = ledger.begin_trace()  # noqa: A001
    try:
        yield [CallWatch(Observe(means=KernelMeans(instance=instance), processes=list(processes), directory=where))]
    finally:
        ledger.undo(id)


@contextmanager
def traced(cell: Cell, instance: Instance, outcome: CellOutcome) -> Iterator[list[Instrument]]:
    """Have the engine trace its statements, where the cell is observed and the engine can."""
    trace = instance.statement_trace() if cell.workload.observe else None
    if trace is None:
        yield []
        return
    try:
        trace.begin()
        yield [TracedSessions(trace)]
        if outcome.result:
            outcome.traced_statements = trace.finish(sum(second.committed for second in outcome.result.series))
    finally:
        trace.end()


def with_disk(calls: ObservedCalls, log: Path) -> ObservedCalls:
    """The calls, with what the simulated disk logged during the typical commit among its lines."""
    if calls.typical is None:
        return calls
    began_ns, (_, records) = disk_log.began_ns(log), disk_log.read(log)
    done = [
        (
            began_ns + record.time_ns,
            "flush" if record.is_flush else "write",
            *((None, None) if record.is_flush else (record.at, record.length)),
        )
        for record in records
    ]
    return calls.model_copy(update={"typical": joined(calls.typical, done)})


def counting(counts: EngineCounts | None) -> list[Warning]:
    """What a reader of the rate must know of how the engine's own counters were read."""
    if counts is None or counts.from_s <= 0:
        return []
    text = (
        f"The engine's counters were still being read in the first {counts.from_s:.2g} s of the measurement: give it a "
        "longer warm-up."
    )
    return [Warning(code="counted-late", about="goodput_per_s", text=text)]


def doubts(calls: ObservedCalls | None) -> list[Warning]:
    """What a reader of the numbers must know."""
    if calls is None:
        return []
    by = {"kernel": "the kernel's tracing", "strace": "strace, which stops the engine twice a call"}[calls.means]
    warnings = [
        Warning(
            code="observed",
            about="goodput_per_s",
            text=f"The engine's system calls were watched by {by}: it is slower so than by itself.",
        )
    ]
    if calls.dropped:
        text = f"{counted(calls.dropped, 'event')} of the kernel got lost: every count of calls is a lower bound."
        warnings.append(Warning(code="calls-lost", about="calls", text=text))
    return warnings
