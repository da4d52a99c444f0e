"""What an engine counts itself and tells in its own SQL: a table of counters, and the two questions that read them.

An engine whose instances bring it has its counters in every recording (``Instance.counters``). The rig asks both
questions on a session of its own beside the terminals', at both ends of the measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acidtest.journal.models import EngineCounter, EngineCounts
from acidtest.journal.protocol import Counted, Counting


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
        counters = [EngineCounter(unit=units[one.name], **one.model_dump()) for one in event.counters]
        return EngineCounts(source=self.source, counters=counters, **figures)
