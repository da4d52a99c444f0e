"""Percentiles from the rig's histograms. Nanoseconds inside, milliseconds at the edge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acidtest.journal.pairs import Pairs
from acidtest.journal.protocol import Histogram
from acidtest.words import counted

SHOWN = (0.5, 0.9, 0.99, 0.999)
VALUES_BEYOND = 10


@dataclass(frozen=True)
class Percentile:
    """One latency. ``value_ms`` is None when the histogram holds too few values, and ``reason`` says so."""

    share: float  # 0.99; 1.0 is the maximum
    value_ms: float | None
    reason: str | None

    @property
    def name(self) -> str:
        return "max" if self.share == 1 else f"p{self.share * 100:g}"


def merge(histograms: Sequence[Histogram]) -> Histogram:
    """All values of ``histograms`` in one; the buckets are added, so nothing is lost that they held."""
    held = [histogram for histogram in histograms if histogram.count]
    buckets = np.concatenate([np.zeros((0, 2), np.int64), *(_buckets(histogram) for histogram in held)])
    buckets = buckets[buckets[:, 0].argsort(kind="stable")]
    values, first = np.unique(buckets[:, 0], return_index=True)
    counts = np.add.reduceat(buckets[:, 1], first) if len(first) else first
    total = sum(histogram.count for histogram in held)
    return Histogram.model_construct(
        count=total,
        min_ns=min((histogram.min_ns for histogram in held), default=0),
        max_ns=max((histogram.max_ns for histogram in held), default=0),
        mean_ns=sum(histogram.mean_ns * histogram.count for histogram in held) / total if total else 0.0,
        buckets=Pairs.of(np.stack([values, counts], axis=1).tobytes()),
    )


def _buckets(histogram: Histogram) -> NDArray[np.int64]:
    """Their values and how many each holds, in two columns."""
    pairs = histogram.buckets
    return np.array(pairs.numbers if isinstance(pairs, Pairs) else list(pairs), dtype=np.int64).reshape(-1, 2)


def percentile_ns(histogram: Histogram, share: float) -> int:
    """The value that at least ``share`` (0 to 1) of all values do not exceed: the nearest-rank percentile, in ns.

    The bucket's upper bound answers, so it may lie up to 0.1 % above the true value (three significant figures)
    and never above the maximum. Raises ValueError for an empty histogram.
    Source: HdrHistogram, getValueAtPercentile; nearest rank as in Hyndman and Fan (1996), definition 1.
    """
    return percentiles_ns(histogram, [share])[0]


def percentiles_ns(histogram: Histogram, shares: Iterable[float]) -> list[int]:
    """``percentile_ns`` of each of ``shares``."""
    if not histogram.count:
        raise ValueError("an empty histogram has no percentile")
    values, counts = _buckets(histogram).T
    ranks = [max(1, math.ceil(share * histogram.count - 1e-9)) for share in shares]
    within = np.searchsorted(counts.cumsum(), ranks)
    return [int(ns) for ns in np.minimum(np.append(values, histogram.max_ns)[within], histogram.max_ns)]


def values_needed(share: float) -> int:
    """How many values a percentile needs so that about ten of them lie beyond it: 1,000 for p99, 10,000 for p99.9."""
    return math.ceil(VALUES_BEYOND / (1 - share) - 1e-6)


def percentile(histogram: Histogram, share: float) -> Percentile:
    """One percentile in milliseconds, refused when fewer than ten values lie beyond it; the maximum is always given."""
    if share == 1:
        if not histogram.count:
            return Percentile(1.0, None, "no transaction was committed")
        return Percentile(1.0, histogram.max_ns / 1e6, None)
    needed = values_needed(share)
    if histogram.count < needed:
        reason = f"p{share * 100:g} needs {counted(needed, 'transaction')}, has {histogram.count:,}"
        return Percentile(share, None, reason)
    return Percentile(share, percentile_ns(histogram, share) / 1e6, None)


def percentiles(histogram: Histogram) -> tuple[Percentile, ...]:
    """Those of ``SHOWN``, then the maximum."""
    return tuple(percentile(histogram, share) for share in (*SHOWN, 1.0))


def curve_ms(histogram: Histogram, points: int = 60) -> list[tuple[float, float]]:
    """``(share, milliseconds)`` from the median to the last percentile with ten values beyond it.

    The shares are even on the axis 1 / (1 - share), on which the plot is drawn.
    """
    if histogram.count < values_needed(0.5):
        return []
    last = math.log10(histogram.count / VALUES_BEYOND)
    first = math.log10(2)
    shares = [1 - 10 ** -(first + (last - first) * i / (points - 1)) for i in range(points)]
    return [(share, ns / 1e6) for share, ns in zip(shares, percentiles_ns(histogram, shares), strict=True)]
