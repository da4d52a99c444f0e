"""Whether a run's commit rate stood still while it was measured.

Two tests that ask nothing of the shape of the noise and work on a dozen points, each joined with a size, because
a test alone calls a drift of one per cent "significant" in a long run:

- drift: Kendall's tau of the rate over time (Mann, Econometrica 13 (1945) 245; Kendall, Rank Correlation Methods),
  with the Theil-Sen slope (Sen, JASA 63 (1968) 1379) over the whole run as the size;
- step: Pettitt's test for one change point (Applied Statistics 28 (1979) 126), with the medians on its two sides.

Both need p < 0.05 and a size above 10 % of the run's median rate. Rates of neighbouring seconds are correlated, which
makes small p values too frequent; the size guards against that too.

Repetitions are judged together: five runs with two tests each would else call every third row of plain noise unsteady.
What they have in common (a warm-up that was too short, a checkpoint) shows in the run made of their medians, second by
second; what one of them has for itself must be as certain as the number of repetitions demands (Bonferroni).

A measurement may begin as soon as a warm-up's rate is steady by the same tests and sizes, or after a bound (``Gate``).
They are asked of the last seconds of the warm-up: as many as will be measured, but at least 8 and at most 30. In so few
seconds a test misses a step near either end and every other slow drift, so half as many windows in a row, one a second,
must be steady: by then a step has come to the middle of one. What the windows cannot show, or what comes in the last
moments of the warm-up, the measurement still may show: its own doubt stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import numpy as np
import scipy  # scipy.stats is imported at its first use: that takes two seconds

from acidtest.analysis import SECONDS_NEEDED
from acidtest.journal.protocol import Second

TOLERANCE = 0.10
ALPHA = 0.05
PERMUTED_UP_TO = 60  # seconds
PERMUTATIONS = 1999
AHEAD = 1  # the measurement begins with the next second of the load, which the rig has to hear of before
SEED = 19791126  # of the permutations: the same series gives the same p


@dataclass(frozen=True)
class Steadiness:
    """``change`` is the size found, as a share of the median rate: -0.2 is a loss of a fifth. None when too short."""

    state: Literal["steady", "drifts", "steps", "too short to tell"]
    seconds: int  # whole seconds looked at
    change: float | None
    at_s: float | None  # of a step


def rates_per_s(series: Sequence[Second]) -> list[tuple[float, float]]:
    """``(start, commits a second)`` of the whole seconds of the measurement, without warm-up and a cut last second."""
    return [
        (second.at_s, second.committed / second.length_s)
        for second in series
        if second.at_s >= -1e-9 and second.length_s >= 0.999
    ]


@dataclass(frozen=True)
class RowSteadiness:
    """Repetitions judged together; ``common`` is None where fewer than two of them can be judged."""

    judged: int  # repetitions of eight whole seconds or more
    unsteady: int  # of these
    common: Steadiness | None

    @property
    def steady(self) -> bool:
        return not self.unsteady and (self.common is None or self.common.state == "steady")


def steadiness(series: Sequence[Second]) -> Steadiness:
    """Judge one run's per-second series; fewer than eight whole seconds are "too short to tell", which is no pass."""
    return _judged(rates_per_s(series), ALPHA)


def steadiness_of(rates: Sequence[float]) -> Steadiness:
    """The same of a rate in each whole second, one after another."""
    return _judged([(float(at), rate) for at, rate in enumerate(rates)], ALPHA)


def row_steadiness(repetitions: Sequence[Sequence[Second]]) -> RowSteadiness:
    """Judge the repetitions of one row, each a per-second series as for ``steadiness``."""
    long_enough = [points for series in repetitions if len(points := rates_per_s(series)) >= SECONDS_NEEDED]
    states = [_judged(points, ALPHA / len(long_enough)).state for points in long_enough]
    common = _judged(_typical(long_enough), ALPHA) if len(long_enough) > 1 else None
    return RowSteadiness(len(states), sum(state != "steady" for state in states), common)


def _typical(runs: Sequence[Sequence[tuple[float, float]]]) -> list[tuple[float, float]]:
    """The median of the runs at each second that all of them have, each as a share of its own median rate."""
    seconds = min(len(points) for points in runs)
    rates = np.array([[rate for _, rate in points[:seconds]] for points in runs])
    middles = np.median(rates, axis=1, keepdims=True)
    shares = rates / np.where(middles == 0, 1, middles)
    return [(at, float(share)) for (at, _), share in zip(runs[0], np.median(shares, axis=0), strict=False)]


def _judged(points: Sequence[tuple[float, float]], alpha: float) -> Steadiness:
    if len(points) < SECONDS_NEEDED:
        return Steadiness("too short to tell", len(points), None, None)
    at = np.array([start for start, _ in points])
    rates = np.array([rate for _, rate in points])
    middle = float(np.median(rates))
    if middle == 0:
        return Steadiness("steady" if not rates.any() else "drifts", len(points), 0.0, None)
    if rates.min() == rates.max():
        return Steadiness("steady", len(points), 0.0, None)
    split, p_step = pettitt(rates)
    step = float(np.median(rates[split:]) - np.median(rates[:split])) / middle
    drift = float(scipy.stats.theilslopes(rates, at).slope) * float(at[-1] - at[0]) / middle
    p_drift = float(scipy.stats.kendalltau(at, rates).pvalue)
    drifts = p_drift < alpha and abs(drift) > TOLERANCE
    steps = p_step < alpha and abs(step) > TOLERANCE
    if steps and (not drifts or _step_fits_better(at, rates, split)):
        return Steadiness("steps", len(points), step, float(at[split]))
    if drifts:
        return Steadiness("drifts", len(points), drift, None)
    return Steadiness("steady", len(points), drift, None)


def pettitt(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[int, float]:
    """Index at which the second part begins, and the two-sided p, of Pettitt's change-point test.

    Pettitt's approximate p does not fall below 0.05 for fewer than 11 values, whatever they are: up to
    ``PERMUTED_UP_TO`` values p is that of a seeded permutation test, beyond it is his.
    """
    n = len(values)
    ranks = np.asarray(scipy.stats.rankdata(values))
    u = _u(ranks)
    split = int(np.argmax(u)) + 1
    largest = float(u[split - 1])
    if n > PERMUTED_UP_TO:
        return split, min(1.0, 2 * math.exp(-6 * largest**2 / (n**3 + n**2)))
    as_large = int((_u(ranks[_permutations(n)]).max(axis=-1) >= largest - 1e-9).sum())
    return split, (as_large + 1) / (PERMUTATIONS + 1)


@cache
def _permutations(n: int) -> np.ndarray[tuple[int, int], np.dtype[np.int8]]:
    """Of ``n`` positions, a row each: the same in every test of so many values."""
    positions = np.tile(np.arange(n, dtype=np.int8), (PERMUTATIONS, 1))
    return np.random.default_rng(SEED).permuted(positions, axis=1)


def _u(ranks: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Pettitt's |U| for every split, from ranks along the last axis."""
    n = ranks.shape[-1]
    before = np.cumsum(ranks, axis=-1)[..., :-1]
    u: np.ndarray[Any, np.dtype[np.float64]] = np.abs(2 * before - np.arange(1, n) * (n + 1))
    return u


def _step_fits_better(
    at: np.ndarray[tuple[int], np.dtype[np.float64]],
    rates: np.ndarray[tuple[int], np.dtype[np.float64]],
    split: int,
) -> bool:
    line = scipy.stats.theilslopes(rates, at)
    of_line = np.abs(rates - (line.intercept + line.slope * at)).sum()
    parts = (rates[:split], rates[split:])
    of_step = sum(float(np.abs(part - np.median(part)).sum()) for part in parts)
    return bool(of_step < of_line)


@dataclass
class Gate:
    """Told of commits about once a second, it says when to measure."""

    earliest_s: float
    window: int  # seconds, 8 at least
    per_s: list[float] = field(default_factory=list)  # the rate between two news, in commits a second
    judged: Steadiness | None = None  # the last window
    in_a_row: int = 0  # steady windows, up to the last one
    _at_s: float = 0.0
    _committed: int = 0

    @property
    def needed(self) -> int:
        """So many windows in a row have to be steady."""
        return self.window // 2

    @property
    def is_open(self) -> bool:
        """Whether the rate was steady within the bound."""
        return self.in_a_row >= self.needed

    def hear(self, at_s: float, committed: int) -> int | None:
        """So many commits since the load began, ``at_s`` ago. Answers the second of the load from which to measure."""
        if self.is_open:
            return None
        length_s = at_s - self._at_s
        if length_s < 0.5:  # news between two others make no second
            return None
        self.per_s.append((committed - self._committed) / length_s)
        self._at_s, self._committed = at_s, committed
        if len(self.per_s) < self.window:
            return None
        self.judged = steadiness_of(self.per_s[-self.window :])
        self.in_a_row = self.in_a_row + 1 if self.judged.state == "steady" else 0
        if at_s < self.earliest_s:
            self.in_a_row = min(self.in_a_row, self.needed - 1)
        return math.floor(at_s) + AHEAD if self.is_open else None
