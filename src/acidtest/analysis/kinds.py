"""Kinds of transactions over the repetitions of a row, each with its response time against the limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acidtest.analysis.latency import Percentile, merge, percentile
from acidtest.journal.protocol import Histogram, Kind

LIMIT_SHARE = 0.9  # nine of ten transactions must be answered within the limit (TPC-C 5.11, clause 5.2.5.3)


@dataclass(frozen=True)
class KindSummary:
    """One kind of transaction, its counts over all repetitions."""

    name: str
    committed: int
    rolled_back: int
    conflicts: int
    given_up: int
    errors: int
    latency: Histogram  # of all repetitions
    limit_ms: float | None

    @property
    def p90(self) -> Percentile:
        return percentile(self.latency, LIMIT_SHARE)

    @property
    def limit_kept(self) -> bool | None:
        """None without a limit, and where too few transactions were committed to tell."""
        if self.limit_ms is None or self.p90.value_ms is None:
            return None
        return self.p90.value_ms <= self.limit_ms


def of_kinds(measured: Sequence[Sequence[Kind]]) -> tuple[KindSummary, ...]:
    """Each kind over several measurements, which have these kinds."""
    names = dict.fromkeys(kind.name for kinds in measured for kind in kinds)
    summaries = []
    for name in names:
        same = [kind for kinds in measured for kind in kinds if kind.name == name]
        summaries.append(
            KindSummary(
                name=name,
                committed=sum(kind.committed for kind in same),
                rolled_back=sum(kind.rolled_back for kind in same),
                conflicts=sum(kind.conflicts for kind in same),
                given_up=sum(kind.given_up for kind in same),
                errors=sum(kind.errors for kind in same),
                latency=merge([kind.latency for kind in same]),
                limit_ms=same[0].limit_ms,
            )
        )
    return tuple(summaries)
