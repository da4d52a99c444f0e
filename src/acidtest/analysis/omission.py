"""What the percentiles of a closed loop leave out: the same load in an open loop and in a closed one, side by side.

In a closed loop a terminal that waits submits nothing. While the engine stands still, the transactions that would have
arrived are not submitted and so not counted (G. Tene, "How NOT to measure latency", 2013: coordinated omission). In an
open loop each transaction's response counts from the moment at which it was due, its service from its start; a closed
loop has services only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acidtest.analysis.latency import Percentile, merge, percentile
from acidtest.analysis.samples import Row
from acidtest.analysis.summary import median
from acidtest.journal.protocol import Histogram

SHARES = (0.5, 0.99, 0.999)
# In these a workload may differ from another that asks for the same transactions.
OF_PACE = frozenset(
    {"name", "rate_per_s", "arrivals", "think_ms", "warmup_s", "warmup_limit_s", "duration_s", "count", "terminals"}
)
RATES_DIFFER = 0.1


@dataclass(frozen=True)
class Omission:
    """Percentiles stand in the order of ``SHARES``."""

    levels: Mapping[str, str]  # without the workload
    open: Row
    closed: Row
    asked_per_s: float | None  # arrivals a second; None of classes with rates of their own
    open_per_s: float  # commits a second, medians of the repetitions
    closed_per_s: float
    response: tuple[Percentile, ...]  # of the open loop, from when each transaction was due
    service: tuple[Percentile, ...]  # of the open loop, from when it was started
    closed_loop: tuple[Percentile, ...]

    def hidden(self, share: float) -> float | None:
        """How many times as long as the closed loop says a user waits, at this percentile."""
        at = SHARES.index(share)
        response, closed = self.response[at].value_ms, self.closed_loop[at].value_ms
        return response / closed if response is not None and closed else None

    @property
    def is_same_load(self) -> bool:
        """Whether the closed loop came to about the open loop's rate: else their latencies are those of two loads."""
        return abs(self.closed_per_s / self.open_per_s - 1) <= RATES_DIFFER if self.open_per_s else False


def omissions(rows: Sequence[Row]) -> list[Omission]:
    """One for each pair of rows that differ in nothing but their pace: an open loop and a closed one."""
    found = []
    closed = [row for row in rows if _paced(row) == "closed"]
    for row in rows:
        if _paced(row) == "open":
            found += [_omission(row, other) for other in closed if _asks(other) == _asks(row)]
    return found


def _paced(row: Row) -> str:
    results = row.results
    if not results or row.is_staged or row.first.replay or any(result.classes for result in results):
        return ""
    return "open" if all(result.arrivals for result in results) else "closed"


def _asks(row: Row) -> tuple[object, ...]:
    levels = tuple((factor, level) for factor, level in row.levels.items() if factor != "workload")
    parameters = ((key, repr(value)) for key, value in row.first.workload.items() if key not in OF_PACE)
    return levels, row.guest, sorted(parameters)


def _omission(open_: Row, closed: Row) -> Omission:
    def shown(latency: Histogram) -> tuple[Percentile, ...]:
        return tuple(percentile(latency, share) for share in SHARES)

    return Omission(
        levels={factor: level for factor, level in open_.levels.items() if factor != "workload"},
        open=open_,
        closed=closed,
        asked_per_s=open_.first.workload.get("rate_per_s"),
        open_per_s=median(open_.goodput_per_s) or 0.0,
        closed_per_s=median(closed.goodput_per_s) or 0.0,
        response=shown(open_.latency),
        service=shown(merge([result.service for result in open_.results])),
        closed_loop=shown(closed.latency),
    )
