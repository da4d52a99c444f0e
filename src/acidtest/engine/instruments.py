"""What an engine tells of itself while load is measured: counters, figures once a second, a trace of statements.

An engine whose instances bring them has them in every recording. The rig asks for counters and figures on a session of
its own beside the terminals': counters at both ends of the measurement, figures once a second unless the workload's
``sample_engine`` is off.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from acidtest.journal.models import (
    EngineCounter,
    EngineCounts,
    EngineFigure,
    EngineSamples,
    TracedStatements,
)
from acidtest.journal.protocol import Begins, Counted, Counting, Sample, Sampled, Sampling


@dataclass(frozen=True)
class Counter:
    """One counter, which only rises."""

    name: str  # "page_reads"
    unit: str  # "pages"


@dataclass(frozen=True)
class Counters:
    """All that an engine is asked for.

    ``session`` answers the number of the session that asks. ``counted`` answers a row for each session, its number
    first, and one with NULL for the whole database; the counters follow in the order of ``table``.
    """

    source: str  # "MON$IO_STATS, MON$RECORD_STATS"
    session: str
    counted: str
    table: Sequence[Counter]

    def asked(self) -> Counting:
        """As the rig is asked for them."""
        return Counting(session=self.session, counted=self.counted, names=[counter.name for counter in self.table])

    def recorded(self, event: Counted) -> EngineCounts:
        """What the rig answered, as a recording keeps it."""
        units = {counter.name: counter.unit for counter in self.table}
        figures = event.model_dump(exclude={"event", "counters"})
        counters = [EngineCounter(unit=units[counter.name], **counter.model_dump()) for counter in event.counters]
        return EngineCounts(source=self.source, counters=counters, **figures)


@dataclass(frozen=True)
class Figure:
    """One figure by the engine's name for it. ``says`` goes before a number: "buffers written by checkpoints"."""

    name: str
    says: str
    rises: bool = True  # counts since some moment, so that two samples make a rate; otherwise it stands at a value
    unit: str = ""  # after the number: "bytes"

    def recorded(self) -> EngineFigure:
        return EngineFigure(name=self.name, says=self.says, rises=self.rises, unit=self.unit)


@dataclass(frozen=True)
class Figures:
    """All that an engine is asked for.

    Each of ``questions`` answers rows of a figure's name and the figure. Without any the rig's session tells them.
    """

    source: str  # "pg_stat_bgwriter, pg_stat_activity"
    questions: Sequence[str]
    table: Sequence[Figure]

    def asked(self) -> Sampling:
        """As the rig is asked for them."""
        return Sampling(questions=list(self.questions), names=[figure.name for figure in self.table])

    def recorded(self, event: Sampled) -> EngineSamples:
        """What the rig answered, as a recording keeps it. Figures that the engine never told are left out."""
        told = [any(sample.values[at] is not None for sample in event.samples) for at in range(len(self.table))]
        return EngineSamples(
            source=self.source,
            not_sampled=event.not_sampled,
            figures=[figure.recorded() for figure, is_told in zip(self.table, told, strict=True) if is_told],
            samples=[
                Sample(
                    at_s=round(sample.at_s, 4),
                    took_s=round(sample.took_s, 6),
                    values=[value for value, is_told in zip(sample.values, told, strict=True) if is_told],
                )
                for sample in event.samples
            ],
        )


class StatementTrace(ABC):
    """A trace session of one instance. In this order: ``begin``, the rig's work, ``finish``; ``end`` always.

    What keeps the engine from tracing is told by ``finish``; it never ends the cell.
    """

    @abstractmethod
    def begin(self) -> None:
        """Start the session; the instance has started."""

    @abstractmethod
    def terminals_begin(self, event: Begins) -> None:
        """From now on, and of these sessions, statements count."""

    @abstractmethod
    def finish(self, committed: int) -> TracedStatements:
        """Stop the session and tell what it saw. ``committed`` transactions were acknowledged to the terminals."""

    @abstractmethod
    def end(self) -> None:
        """Let go of everything, whatever became of it."""
