"""One row of a run's tables, with all that is computed of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acidtest.analysis.calls import CommitCalls
from acidtest.analysis.compare import Comparison
from acidtest.analysis.engine_figures import EngineWork
from acidtest.analysis.kinds import KindSummary
from acidtest.analysis.latency import Percentile
from acidtest.analysis.memory import MemorySummary
from acidtest.analysis.pairs import levels_text
from acidtest.analysis.parts import Part
from acidtest.analysis.samples import Row
from acidtest.analysis.search.recorded import Search
from acidtest.analysis.sizes import SizeSummary
from acidtest.analysis.stalls import Stall
from acidtest.analysis.summary import Summary
from acidtest.analysis.workload_figures import Operations, Reads, Replays
from acidtest.journal.models import OwnReport, Recording
from acidtest.journal.protocol import Loaded


@dataclass(frozen=True)
class Line:
    """One row of a table."""

    row: Row
    label: str  # of the levels that vary in its table
    goodput: Summary  # commits a second
    throughput_per_s: float | None  # attempts that ended, whatever their end; median of the repetitions
    seconds: float | None  # median duration of a run by count; None for a run by duration
    relative: Summary | None  # base = 1; None without a base
    is_base: bool
    against_base: Comparison | None  # None for the base itself and without one
    percentiles: tuple[Percentile, ...]  # of analysis.latency.SHOWN, then the maximum
    counts: Mapping[str, int]  # of analysis.parts.COUNTED, over all repetitions
    classes: Mapping[str, int]  # conflicts and errors by class, the most frequent first
    new_order_per_min: float | None  # tpcc only; median of the repetitions
    reads: Reads | None  # scan only
    operations: Operations | None  # maintenance only
    replays: Replays | None  # replay only
    threads: int | None  # of the generator; the most that drove a repetition
    arrivals: Mapping[str, int] | None  # scheduled, late, unfinished; open loop only
    generator_us: float | None  # the rig's own processor time a transaction; median of the repetitions
    session_us: float | None  # and that of the session calls, the engine's where it is embedded
    memory: MemorySummary | None  # None where nothing was asked of it
    sizes: SizeSummary | None  # of database and log; None where no repetition is done
    engine_work: EngineWork | None  # as the engine itself counts it; None where it is not asked
    calls: CommitCalls | None  # None where nobody watched
    observed: Recording | None  # the first repetition that was watched
    notes: tuple[int, ...]  # numbers of Results.findings
    terminal_classes: tuple[Part, ...] = ()  # of terminals; none where all are alike
    stages: tuple[Part, ...] = ()  # none where the load does not change
    stalls: tuple[Stall, ...] = ()  # of all repetitions
    own_reports: tuple[OwnReport, ...] = ()  # of the first repetition

    @property
    def levels(self) -> Mapping[str, str]:
        return self.row.levels

    @property
    def kinds(self) -> tuple[KindSummary, ...]:
        return self.row.kinds

    @property
    def verdict(self) -> str:
        return self.against_base.verdict if self.against_base else ""


@dataclass(frozen=True)
class Load:
    """How one database was filled that some rows began with."""

    label: str  # of the levels that those rows share
    levels: Mapping[str, str]
    loaded: Loaded


def name_of(row: Row | Search, factors: Sequence[str]) -> str:
    """By the levels of ``factors``; "all" where none applies."""
    return levels_text(row.levels, factors) or "all"
