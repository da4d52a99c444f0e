"""How large an effect must be for a test to find it: what "no difference shown" is worth.

An effect counts as found where the test shows it in four of five experiments (power 0.8, the convention of J. Cohen,
Statistical Power Analysis for the Behavioral Sciences, 1988, section 2.4), at the spread that the runs themselves have.
What is told is the smallest such effect and never the power at the effect that was seen, which only says p again in
other words (Hoenig and Heisey, The American Statistician 55 (2001) 19). A test that would have missed a halving decides
nothing: it "cannot tell".

Effects are ratios of the lower rate to the higher one, so that 0.5 is a halving. Simulations are seeded; spreads are
those of logarithms of rates, taken as normal. They are estimates of few figures, and the power is that over experiments
whose spread is estimated so: at the estimate alone it would be 0.7 with five repetitions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import scipy  # scipy.stats is imported at its first use: that takes two seconds

from acidtest.analysis.summary import SEED, Floats

POWER = 0.8
NOTICED = "would probably have been noticed"  # of an effect that is found with this power
HALVING = 0.5
MANY = (5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 50)  # repetitions: looked at when it is asked how many would do
NUMBERS = 4_000_000  # drawn at most for one simulation
TOLERANCE = 1e-9


def decides(ratio: float | None) -> bool:
    """Whether a test whose smallest effect is ``ratio`` would have found a halving."""
    return ratio is not None and ratio >= HALVING - TOLERANCE


def in_words(ratio: float) -> str:
    """``a rate 12 % lower``, for a sentence that goes on with what would have happened to it."""
    lower = 100 * (1 - ratio)
    return f"a rate {lower:.2g} % lower" if lower >= 0.1 else "any difference"


def spread(groups: Sequence[Sequence[float]]) -> float | None:
    """Standard deviation of the logarithms within groups, pooled; None where a figure is not above zero."""
    if any(value <= 0 for group in groups for value in group):
        return None
    logs = [np.log(np.asarray(group, dtype=float)) for group in groups]
    freedom = sum(len(group) - 1 for group in logs)
    if freedom < 1:
        return None
    return math.sqrt(sum(float(((group - group.mean()) ** 2).sum()) for group in logs) / freedom)


@lru_cache(maxsize=4096)
def rank_shift(n: int, m: int, alpha: float, p_of: Callable[[Sequence[float], Sequence[float]], float]) -> float | None:
    """By how many standard deviations ``n`` and ``m`` normal samples must lie apart for a rank test to find it.

    ``p_of`` is the test: two-sided, a function of the ranks alone. None where no arrangement of the ranks gives a p of
    ``alpha``. A set of samples that is moved until U has reached its critical value has been found from there on, so
    one pass over the simulated sets gives the shift that is enough for four of five.
    """

    def p(u: int) -> float:
        ahead, over = divmod(u, m)
        first = [m + 1.0] * ahead + [over + 0.5] * (1 if over else 0)
        first += [0.0] * (n - len(first))
        return p_of([value + 1e-6 * k for k, value in enumerate(first)], [float(k) for k in range(1, m + 1)])

    if p(n * m) > alpha:
        return None
    low, high = n * m // 2, n * m  # the second one is enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if p(middle) <= alpha else (middle, high)
    sets = int(np.clip(NUMBERS / (n * m), 200, 4000))
    rng = np.random.default_rng(SEED)
    first, second = rng.normal(size=(sets, n, 1)), rng.normal(size=(sets, 1, m))
    missing = np.partition((second - first).reshape(sets, n * m), high - 1, axis=1)[:, high - 1]
    return max(0.0, float(np.quantile(missing / _estimated(n + m - 2, sets, rng), POWER)))


@lru_cache(maxsize=1024)
def factor_shift(contexts: int, levels: int, n: int, alpha: float, resamples: int, z: float) -> float | None:
    """By how many standard deviations a factor's extreme levels must lie apart for it to be shown to matter.

    The design: ``contexts`` groups of rows, each with all ``levels``, ``n`` repetitions a row; levels between the
    extremes lie in their middle, the least favourable case (Cohen 1988, section 8.2). Found is what both tests of
    ``analysis.effects`` find: the permutation test, whose power is that of the F test of a two-way layout (Edgington
    and Onghena, Randomization Tests, 2007), at ``alpha``; and the bootstrap interval of the ratio, whose lower end,
    ``z`` of its standard errors below the ratio, is above 1. None where no arrangement gives such a p.
    """
    arrangements = contexts * (math.lgamma(levels * n + 1) - levels * math.lgamma(n + 1))
    if math.lgamma(levels + 1) - arrangements > math.log(alpha) or 1 / (resamples + 1) > alpha:
        return None
    sets = int(np.clip(NUMBERS / (contexts * levels * n), 100, 2000))
    rng = np.random.default_rng(SEED)
    drawn = rng.normal(size=(sets, contexts, levels, n))
    whole = drawn.mean(axis=(1, 2, 3))
    of_levels = drawn.mean(axis=(1, 3)) - whole[:, None]
    of_contexts = drawn.mean(axis=(2, 3)) - whole[:, None]
    rest = drawn - of_contexts[:, :, None, None] - of_levels[:, None, :, None] - whole[:, None, None, None]
    freedom = contexts * levels * n - contexts - (levels - 1)
    if freedom < 1:
        return None
    bound = scipy.stats.f.isf(alpha, levels - 1, freedom) * (levels - 1) * (rest**2).sum(axis=(1, 2, 3)) / freedom
    # Of levels at -1/2, 0, ..., 1/2 the sum of squares is a parabola in how far they lie apart.
    apart = of_levels[:, -1] - of_levels[:, 0]
    missing = bound / (contexts * n) - (of_levels**2).sum(axis=1)
    root = apart**2 + 2 * missing
    by_test = np.where(root < 0, 0, np.sqrt(np.maximum(root, 0)) - apart)
    ordered = np.sort(drawn[:, :, (0, -1), :], axis=3)
    weights = _median_weights(n, rng)
    variance = np.einsum("scli,ij,sclj->s", ordered, np.cov(weights, rowvar=False, bias=True), ordered) / contexts**2
    medians = np.median(ordered, axis=3)
    by_interval = z * np.sqrt(variance) - (medians[:, :, 1] - medians[:, :, 0]).mean(axis=1)
    needed = np.maximum(by_test, by_interval) / _estimated(freedom, sets, rng)
    return max(0.0, float(np.quantile(needed, POWER)))


def _estimated(freedom: int, sets: int, rng: np.random.Generator) -> Floats:
    """Standard deviations as so few figures estimate a true one of 1: what is told from them must hold nevertheless."""
    return np.sqrt(rng.chisquare(freedom, sets) / freedom)


def _median_weights(n: int, rng: np.random.Generator) -> Floats:
    """What each resample's median takes of the ordered samples: a row a resample."""
    picked = np.sort(rng.integers(n, size=(4000, n)), axis=1)
    middle = picked[:, [(n - 1) // 2, n // 2]]
    weights = np.zeros((len(picked), n))
    for column in middle.T:
        weights[np.arange(len(picked)), column] += 0.5
    return weights


def repetitions(shift: Callable[[int], float | None], spread: float) -> int | None:
    """About how many repetitions on each side find a halving; None where not even fifty do.

    ``shift`` says for a number of repetitions by how many standard deviations the sides must lie apart.
    """
    for n in MANY:
        needed = shift(n)
        if needed is not None and decides(math.exp(-needed * spread)):
            return n
    return None
