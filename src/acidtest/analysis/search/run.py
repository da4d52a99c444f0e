"""One run of a search, judged: whether the rate that was offered held the limit, and if not, why.

In an open loop the rate of commits is that of the schedule as long as the engine keeps up, so whether a run is steady
is looked for in its latencies: a queue that grows makes each second slower than the one before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy  # scipy.stats is imported at its first use: that takes two seconds

from acidtest.analysis import SECONDS_NEEDED
from acidtest.analysis.latency import percentile_ns, values_needed
from acidtest.analysis.steady import ALPHA
from acidtest.journal.protocol import Histogram, RunResult, Second
from acidtest.limits import Clause, Limit

GROWN = 1.0  # the median second's latency rises by as much as it is, from the first second to the last
GENERATOR_SHARE = 0.5  # of the limit that the generator's own lateness takes
BUSY_MAX = 0.90  # of the time, of the generator's threads

# limit: a latency is not below its limit. unserved: more arrivals than allowed had no answer. growing: the queue grew.
# generator: arrivals began late, or its threads were always busy. too few: transactions, for a percentile.
Why = Literal["limit", "unserved", "growing", "generator", "too few"]
SATURATED: tuple[Why, ...] = ("unserved", "growing")


@dataclass(frozen=True)
class SearchRun:
    """What one run says of one offered rate."""

    rate_per_s: float | None  # offered; None: a closed loop
    served_per_s: float
    values_ms: tuple[float, ...]  # of each clause of the limit; infinite where as many arrivals had no answer
    ratio: float  # of the value that is worst to its limit: below 1 holds
    why: Why | None  # it does not hold
    unserved: float  # share of the arrivals that had no answer: given up, failed, or still waiting beyond the limit
    p50_ms: float
    p99_ms: float
    mean_ms: float
    needed: int = 0  # transactions for the percentile, where there are too few

    @property
    def holds(self) -> bool:
        return self.why is None

    @property
    def saturated(self) -> bool:
        return self.why in SATURATED


def judged(
    result: RunResult, limit: Limit, *, rate_per_s: float | None, unserved_max: float, embedded: bool
) -> SearchRun:
    """``result`` against ``limit``. ``rate_per_s`` is what was offered, ``unserved_max`` the share of arrivals that may
    have no answer; of an ``embedded`` engine the rig's processor time is the engine's too.

    An arrival that was given up, that failed, or that was still waiting at the end and had waited longer than the limit
    counts as one that took forever.
    """
    counts, arrivals = result.counts, result.arrivals
    waiting = arrivals.unfinished if arrivals else 0
    waited_ms = arrivals.unfinished_wait_ms_max if arrivals else 0.0
    failed = counts.given_up + counts.errors
    asked = max(1, (arrivals.scheduled if arrivals else 0) or counts.committed + counts.rolled_back + failed + waiting)
    values = [_value(result, clause, waiting / asked, waited_ms) for clause in limit.clauses]
    ratios = [value / clause.limit_ms for (value, _), clause in zip(values, limit.clauses, strict=True)]
    unserved = (failed + waiting) / asked
    why: Why | None = None
    if rate_per_s is not None:
        why = _why(result, limit, max(ratios), unserved > unserved_max, embedded=embedded)
    needed = max(needed for _, needed in values)
    if why in (None, "limit") and needed:
        why = "too few"
    latency = result.latency
    return SearchRun(
        rate_per_s=rate_per_s,
        served_per_s=result.goodput_per_s,
        values_ms=tuple(value for value, _ in values),
        ratio=max(ratios),
        why=why,
        unserved=unserved,
        p50_ms=_ms(latency, 0.5),
        p99_ms=_ms(latency, 0.99),
        mean_ms=latency.mean_ns / 1e6,
        needed=needed,
    )


def _ms(histogram: Histogram, share: float) -> float:
    return percentile_ns(histogram, share) / 1e6 if histogram.count else math.inf


def _value(result: RunResult, clause: Clause, waiting: float, waited_ms: float) -> tuple[float, int]:
    """The figure of a clause in milliseconds, and how many transactions it needs where there are too few; else 0."""
    histogram, lost = result.latency, result.counts.given_up + result.counts.errors
    if clause.kind:
        kind = next((kind for kind in result.kinds if kind.name == clause.kind), None)
        if kind is None:
            return math.inf, 0
        histogram, lost = kind.latency, kind.given_up + kind.errors
    beyond = lost + (
        round(waiting * histogram.count / (1 - waiting)) if waited_ms >= clause.limit_ms and waiting < 1 else 0
    )
    if not histogram.count:
        return math.inf, 0
    share = clause.share
    if share is None or share == 1:
        plain = histogram.mean_ns if share is None else histogram.max_ns
        return (math.inf if beyond and share else plain / 1e6), 0
    total = histogram.count + beyond
    needed = values_needed(share)
    rank = math.ceil(share * total - 1e-9)
    value = math.inf if rank > histogram.count else percentile_ns(histogram, rank / histogram.count) / 1e6
    return value, needed if total < needed else 0


def _why(result: RunResult, limit: Limit, ratio: float, unserved: bool, *, embedded: bool) -> Why | None:
    """Why the run does not hold. A generator that is late, or has no time left, is no fault of the server's."""
    grows = growing(result.series)
    if ratio < 1 and not unserved and not grows:
        return None
    if _generator_late(result, limit) or (not embedded and _generator_busy(result)):
        return "generator"
    if unserved:
        return "unserved"
    return "growing" if grows else "limit"


def _generator_busy(result: RunResult) -> bool:
    seconds = result.measured_s * result.threads
    return seconds > 0 and (result.cpu.process_user_s + result.cpu.process_system_s) / seconds > BUSY_MAX


def _generator_late(result: RunResult, limit: Limit) -> bool:
    """Whether free terminals began so late that this alone takes half of a limit."""
    arrivals = result.arrivals
    late = arrivals.lateness if arrivals else None
    if arrivals is None or late is None or not late.count or not arrivals.scheduled:
        return False
    return any(
        _lateness_ms(late, arrivals.scheduled, clause.share) > GENERATOR_SHARE * clause.limit_ms
        for clause in limit.clauses
    )


def _lateness_ms(late: Histogram, scheduled: int, share: float | None) -> float:
    """A statistic over all arrivals; one that found every terminal busy did not wait for the generator."""
    if share is None:
        return late.mean_ns * late.count / scheduled / 1e6
    among = 1 - (1 - share) * scheduled / late.count
    return percentile_ns(late, among) / 1e6 if among > 0 else 0.0


def growing(series: Sequence[Second]) -> bool:
    """Whether each second's median latency rises through the run, by as much as the median second's is.

    Kendall's tau of latency over time with p < 0.05, and the Theil-Sen slope over the whole run as the size: see
    ``analysis.steady``. A queue that grows from nothing at an even pace gives a size of 2. Fewer than eight whole
    seconds with a commit do not tell.
    """
    whole = [second for second in series if second.at_s >= -1e-9 and second.length_s >= 0.999 and second.committed]
    if len(whole) < SECONDS_NEEDED:
        return False
    at = np.array([one.at_s for one in whole])
    latency = np.array([one.latency_ns_p50 for one in whole], dtype=float)
    middle = float(np.median(latency))
    if middle <= 0 or latency.min() == latency.max():
        return False
    if float(scipy.stats.kendalltau(at, latency).pvalue) >= ALPHA:
        return False
    return float(scipy.stats.theilslopes(latency, at).slope) * float(at[-1] - at[0]) >= GROWN * middle
