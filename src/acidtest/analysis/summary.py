"""Median, bootstrap interval, and what a row is relative to its base."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy  # scipy.stats is imported at its first use: that takes two seconds
from numpy.typing import NDArray

from acidtest.analysis import REPETITIONS_FOR_INTERVAL

CONFIDENCE = 0.95
RESAMPLES = 9999
SEED = 20071026  # of the resampling: the same journal gives the same interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True)
class Summary:
    """A median with its interval; ``reason`` says why there is no interval."""

    n: int
    median: float | None  # None without a sample
    interval: Interval | None
    reason: str | None


def median(samples: Sequence[float]) -> float | None:
    """Median of ``samples``; None without one."""
    return float(statistics.median(samples)) if len(samples) else None


def summarise(samples: Sequence[float]) -> Summary:
    """Median of ``samples`` (any unit) and the 95 % percentile-bootstrap interval of the median.

    Under five samples there is no interval. Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993),
    chapter 13, with the wider percentiles of Hesterberg, The American Statistician 69 (2015) 371, section 5.3, because
    few samples vary less than what they were drawn from. With five samples the interval is their smallest and largest,
    which holds the true median in 1 - 2 * 0.5**5 = 94 % of experiments; docs/ANALYSIS.md has the coverage for others.
    """
    n, middle = len(samples), median(samples)
    if middle is None:
        return Summary(0, None, None, "no repetition was done")
    if n < REPETITIONS_FOR_INTERVAL:
        return Summary(n, middle, None, needs(n))
    wider = math.sqrt(n / (n - 1)) * scipy.stats.t.ppf(0.5 + CONFIDENCE / 2, n - 1)
    expanded = 2 * float(scipy.stats.norm.cdf(wider)) - 1
    return Summary(n, middle, _bootstrap((tuple(samples),), _median, expanded), None)


def ratio(samples: Sequence[float], base: Sequence[float]) -> Summary:
    """Ratio of the medians, ``samples`` over ``base``, with the percentile bootstrap of both sides resampled; not
    expanded, because two medians of few samples already vary enough (docs/ANALYSIS.md).

    ``n`` is the smaller side's. Under five samples on either side there is no interval, nor where the base is zero
    in some of its resamples. A base whose median is zero has no ratio.
    """
    n, mine, theirs = min(len(samples), len(base)), median(samples), median(base)
    if mine is None or theirs is None:
        return Summary(n, None, None, "no repetition was done")
    if theirs == 0:
        return Summary(n, None, None, "the base is zero")
    middle = mine / theirs
    if n < REPETITIONS_FOR_INTERVAL:
        return Summary(n, middle, None, needs(n))
    if min(base) <= 0:
        return Summary(n, middle, None, "the base is zero in some repetitions")
    return Summary(n, middle, _bootstrap((tuple(samples), tuple(base)), _ratio_of_medians), None)


def needs(n: int) -> str:
    return f"needs {REPETITIONS_FOR_INTERVAL} repetitions, has {n}"


def _median(samples: Floats, axis: int) -> Floats:
    return np.asarray(np.median(samples, axis=axis))


def _ratio_of_medians(samples: Floats, base: Floats, axis: int) -> Floats:
    return np.asarray(np.median(samples, axis=axis) / np.median(base, axis=axis))


@lru_cache(maxsize=4096)  # the same rows stand in several tables, and are asked for by several rules
def _bootstrap(groups: tuple[tuple[float, ...], ...], statistic: object, confidence: float = CONFIDENCE) -> Interval:
    # Percentile, not BCa: the jackknife behind BCa's acceleration is degenerate for the median of few samples.
    interval = scipy.stats.bootstrap(
        tuple(np.asarray(group, dtype=float) for group in groups),
        statistic,
        n_resamples=RESAMPLES,
        confidence_level=confidence,
        method="percentile",
        vectorized=True,
        paired=False,
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return Interval(float(interval.low), float(interval.high))
