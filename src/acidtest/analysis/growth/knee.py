"""Whether a curve has a knee, a size from which on it falls faster, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from acidtest.analysis.growth.curves import EXACT, LN2, SMOOTH, Curve, Fit, fit, misses
from acidtest.analysis.growth.curves import POWER as POWER_LAW
from acidtest.analysis.pairs import ALPHA
from acidtest.analysis.power import POWER
from acidtest.analysis.summary import SEED, Floats

SIZES_FOR_KNEE = 6  # two at each end outside the search, and something left to judge by
DRAWS = 999
PLACES = 40  # looked at for the test
FINE = 240  # and for the position
DEPTHS = np.geomspace(0.1, 100, 19)
SERIES = 400  # simulated to see whether a knee is found
LEFT = (0.98, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)  # of the rate by a doubling: looked at

Shape = Literal["bend", "cliff"]


@dataclass(frozen=True)
class Found:
    """The knee that fits best, shown or not, in doublings from the smallest size."""

    p: float
    shape: Shape  # bend: another slope from here on; cliff: as the misses of a cache
    at: float
    low: float  # 95 % interval of the position
    high: float


@dataclass(frozen=True)
class Step:
    """The sharpest change from one size to the next, beyond what the curve does there anyhow."""

    p: float
    after: int  # position of the size before it
    height: float  # of the rate's logarithm, beside a straight line; below 0: a fall

    @property
    def share(self) -> float:
        """Of the rate that is lost by it; negative: gained."""
        return float(-np.expm1(self.height))


@dataclass(frozen=True)
class _Falls:
    """Candidates: what each does to z.

    ``scaled`` columns may be of any height, beside a straight line; ``fixed`` ones stand as they are, beside a
    constant.
    """

    scaled: Floats  # sizes × candidates, orthogonal to the line, of length 1
    fixed: Floats  # sizes × candidates, less their mean
    line: Floats  # orthonormal; of steps a parabola

    def heights(self, z: Floats) -> Floats:
        """Of the scaled candidates in each column of ``z``, none rising."""
        return np.asarray(np.maximum(self.scaled.T @ z, 0))

    def left(self, z: Floats) -> Floats:
        """Squares that the best candidate leaves, of each column of ``z``."""
        straight = z - self.line @ (self.line.T @ z)
        by_scaled = (straight**2).sum(axis=0) - self.heights(z).max(axis=0) ** 2
        by_fixed = self.apart(z).min(axis=0, initial=np.inf) + ((z - z.mean(axis=0)) ** 2).sum(axis=0)
        return np.asarray(np.minimum(by_scaled, by_fixed))

    def gained(self, z: Floats) -> Floats:
        """Squares that the line alone leaves over those that the best scaled candidate leaves beside it."""
        alone = ((z - self.line @ (self.line.T @ z)) ** 2).sum(axis=0)
        return np.asarray(alone / np.maximum(alone - self.heights(z).max(axis=0) ** 2, EXACT))

    def apart(self, z: Floats) -> Floats:
        """Squares that each fixed candidate leaves of each column of ``z``, less those that the mean leaves."""
        with_lengths = np.vstack([self.fixed, (self.fixed**2).sum(axis=0)])
        return np.asarray(with_lengths.T @ np.vstack([-2 * z, np.ones(z.shape[1])]))


def find(x: Floats, z: Floats) -> Found | None:
    """The knee of ``z`` over ``x``, one figure a size; None with fewer than six sizes.

    A knee is shown where one fits better than each of the smooth curves (power, logarithmic, logarithmic time) by more
    than chance explains. How much chance explains is simulated from that curve with the scatter around it, searching
    all places and shapes again each time, so that the search costs nothing of the 5 % (Hansen 1996, Econometrica 64,
    413: a break at an unknown place); p is the largest of the three. Sizes are the units: repetitions at one size share
    one database, and what is special about that is not known from them.
    """
    if len(x) < SIZES_FOR_KNEE:
        return None
    low, high = searched(x)
    p = _test(x, z, _falls(x, np.linspace(low, high, PLACES), DEPTHS))
    places = np.linspace(low, high, FINE)
    bends, cliffs = _profiles(x, z, places)
    best = np.minimum(bends, cliffs)
    at = int(best.argmin())
    freedom = len(x) - 4
    least = max(float(best[at]), EXACT * len(x))
    within = places[best <= least * (1 + scipy.stats.f.ppf(0.95, 1, freedom) / freedom)]
    shape: Shape = "bend" if bends[at] <= cliffs[at] else "cliff"
    return Found(p, shape, float(places[at]), float(within.min()), float(within.max()))


def sharpest_step(x: Floats, z: Floats) -> Step | None:
    """The step, down or up, between two neighbouring sizes that fits best beside a parabola of the logarithms.

    It is tested as a knee is, and against a parabola alone, so that a curve which none of the smooth ones follows is
    not taken for one with a step.
    """
    if len(x) < SIZES_FOR_KNEE:
        return None
    up = np.stack([(x > x[after]).astype(float) for after in range(1, len(x) - 2)], axis=1)
    columns = np.concatenate([-up, up], axis=1)
    steps = _candidates(x, columns, np.zeros((len(x), 0)), degree=2)
    heights = steps.heights(z)
    best = int(heights.argmax()) % up.shape[1]
    beside = np.stack([np.ones_like(x), x, up[:, best]], axis=1)
    height = float(np.linalg.lstsq(beside, z, rcond=None)[0][2])
    noise = np.random.default_rng(SEED).normal(size=(len(x), DRAWS))
    by_chance = (1 + (steps.gained(noise) >= steps.gained(z[:, None]) * (1 - 1e-9)).sum()) / (DRAWS + 1)
    p = max(_test(x, z, steps), float(by_chance))
    return Step(p, best + 1, height)


def searched(x: Floats) -> tuple[float, float]:
    """Between which sizes a knee can be shown: two at or before it, two after it."""
    return float(x[1]), float(x[-3])


def _test(x: Floats, z: Floats, falls: _Falls) -> float:
    """The largest p over the smooth curves."""
    noise = np.random.default_rng(SEED).normal(size=(len(x), DRAWS))
    left = max(float(falls.left(z[:, None])[0]), EXACT)
    worst = 0.0
    for curve in SMOOTH:
        smooth = fit(curve, x, z)
        assert smooth is not None
        if smooth.scatter == 0:
            return 1.0
        worst = max(worst, _chance(x, z, smooth, left, noise, falls))
    return worst


def _chance(x: Floats, z: Floats, smooth: Fit, left: float, noise: Floats, falls: _Falls) -> float:
    simulated = _by_chance(x, smooth, smooth.scatter, noise, falls)
    observed = float(((z - smooth.curve.at(smooth.values, x)) ** 2).sum()) / left
    return float((1 + (simulated >= observed * (1 - 1e-9)).sum()) / (DRAWS + 1))


def _by_chance(x: Floats, smooth: Fit, scatter: float, noise: Floats, falls: _Falls) -> Floats:
    """What the smooth curve leaves over what the best knee leaves, where there is nothing but the curve and scatter."""
    curve = smooth.curve.at(smooth.values, x)
    drawn = scatter * noise
    directions, _ = np.linalg.qr(smooth.tangents(x))
    unexplained = ((drawn - directions @ (directions.T @ drawn)) ** 2).sum(axis=0)
    return np.asarray(unexplained / np.maximum(falls.left(curve[:, None] + drawn), EXACT))


def smallest(x: Floats, at: float, scatter: float, freedom: int) -> float | None:
    """What a doubling leaves of the rate beyond the mildest knee at ``at`` that ``find`` shows in four of five series.

    The rate is the same up to ``at``; from there on each doubling leaves the same share of it. Series of that law are
    simulated with the ``scatter`` (of logarithms, estimated with so many degrees of ``freedom``), of which a knee is
    shown in power 0.8 or more; a few shares are looked at, from nearly 1 downwards. None where not even the steepest
    is found, or ``at`` lies outside of the sizes at which one can be shown.
    """
    if len(x) < SIZES_FOR_KNEE or not searched(x)[0] <= at <= searched(x)[1]:
        return None
    falls = _falls(x, np.linspace(*searched(x), PLACES), DEPTHS)
    noise = np.random.default_rng(SEED).normal(size=(len(x), DRAWS))
    rng = np.random.default_rng(SEED + 1)
    # A scatter that was estimated too small promises too much; an estimate of a true 1 says how often by how much.
    estimates = np.sqrt(rng.chisquare(freedom, SERIES) / freedom)
    others = rng.normal(size=(len(x), SERIES))
    missed, found = -1, len(LEFT)
    while found - missed > 1:
        middle = (missed + found) // 2
        bent = np.log(LEFT[middle]) * np.maximum(x - at, 0)
        drawn = bent[:, None] + scatter / estimates * others
        missed, found = (missed, middle) if _shown(x, bent, drawn, scatter, noise, falls) >= POWER else (middle, found)
    return LEFT[found] if found < len(LEFT) else None


def _shown(x: Floats, true: Floats, drawn: Floats, scatter: float, noise: Floats, falls: _Falls) -> float:
    """The share of the series ``drawn`` in which a knee is shown; critical values are simulated once a smooth curve."""
    left = np.maximum(falls.left(drawn), EXACT)
    shown = np.ones(drawn.shape[1], dtype=bool)
    for curve in SMOOTH:
        smooth = fit(curve, x, true)
        assert smooth is not None
        own = float(np.sqrt(smooth.scatter**2 + scatter**2))
        critical = np.quantile(_by_chance(x, smooth, own, noise, falls), 1 - ALPHA)
        shown &= _left_by(curve, x, drawn) / left >= critical
    return float(shown.mean())


def _left_by(curve: Curve, x: Floats, z: Floats) -> Floats:
    """Squares that the best of the smooth curves of a kind leaves of each column of ``z``, over a grid of its bend."""
    if curve is POWER_LAW:
        bends = np.stack([np.ones_like(x), x], axis=1)
        line, _ = np.linalg.qr(bends)
        return np.asarray(((z - line @ (line.T @ z)) ** 2).sum(axis=0))
    bound = next(b for b in curve.bounds(x)[1] if abs(b) < 1e3)
    shares = np.concatenate([bound * np.linspace(0, 1, 120), -np.sign(bound) * np.geomspace(1e-3, 1e3, 200) / x.max()])
    shapes = curve.at(np.stack([0 * shares, shares])[..., None], x).T
    shapes -= shapes.mean(axis=0)
    centred = z - z.mean(axis=0)
    apart = (shapes**2).sum(axis=0)[:, None] - 2 * shapes.T @ centred
    return np.asarray(apart.min(axis=0) + (centred**2).sum(axis=0))


def _falls(x: Floats, places: Floats, depths: Floats) -> _Falls:
    beyond = np.maximum(x[:, None] - places, 0)
    cliffs = -np.log1p(depths[:, None, None] * misses(beyond, 1.0))
    return _candidates(x, -LN2 * beyond, np.concatenate(list(cliffs), axis=1))


def _candidates(x: Floats, scaled: Floats, fixed: Floats, degree: int = 1) -> _Falls:
    line, _ = np.linalg.qr(np.vander(x, degree + 1, increasing=True))
    apart = scaled - line @ (line.T @ scaled)
    return _Falls(apart / np.linalg.norm(apart, axis=0), fixed - fixed.mean(axis=0), line)


def _profiles(x: Floats, z: Floats, places: Floats) -> Sequence[Floats]:
    """Squares left by the best bend and the best cliff at each of ``places``."""
    falls = _falls(x, places, np.geomspace(0.05, 500, 25))
    straight = z - falls.line @ (falls.line.T @ z)
    bends = (straight**2).sum() - falls.heights(z) ** 2
    cliffs = falls.apart(z[:, None])[:, 0].reshape(-1, len(places)).min(axis=0) + ((z - z.mean()) ** 2).sum()
    return bends, cliffs
