"""Whether a curve has a knee, a size from which on it falls faster, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from acidtest.analysis.growth.curves import EXACT, LN2, SMOOTH, Fit, fit, misses
from acidtest.analysis.summary import SEED, Floats

SIZES_FOR_KNEE = 6  # two at each end outside the search, and something left to judge by
DRAWS = 999
PLACES = 40  # looked at for the test
FINE = 240  # and for the position
DEPTHS = np.geomspace(0.1, 100, 19)

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
    """The sharpest fall from one size to the next, beyond what the curve loses there anyhow."""

    p: float
    after: int  # position of the size before it
    share: float  # of the rate that is lost by it


@dataclass(frozen=True)
class _Falls:
    """Candidates: what each does to z.

    ``scaled`` columns may be of any height, beside a straight line; ``fixed`` ones stand as they are, beside a
    constant.
    """

    scaled: Floats  # sizes × candidates, orthogonal to the line, of length 1; falling
    fixed: Floats  # sizes × candidates, less their mean
    line: Floats  # orthonormal

    def heights(self, z: Floats) -> Floats:
        """Of the scaled candidates in each column of ``z``, none rising."""
        return np.asarray(np.maximum(self.scaled.T @ z, 0))

    def left(self, z: Floats) -> Floats:
        """Squares that the best candidate leaves, of each column of ``z``."""
        straight = z - self.line @ (self.line.T @ z)
        by_scaled = (straight**2).sum(axis=0) - self.heights(z).max(axis=0) ** 2
        by_fixed = self.apart(z).min(axis=0, initial=np.inf) + ((z - z.mean(axis=0)) ** 2).sum(axis=0)
        return np.asarray(np.minimum(by_scaled, by_fixed))

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
    """The step between two neighbouring sizes that fits best beside a straight line; tested as a knee is."""
    if len(x) < SIZES_FOR_KNEE:
        return None
    columns = np.stack([-(x > x[after]).astype(float) for after in range(1, len(x) - 2)], axis=1)
    falls = _candidates(x, columns, np.zeros((len(x), 0)))
    heights = falls.heights(z)
    best = int(heights.argmax())
    raw = columns[:, best] - falls.line @ (falls.line.T @ columns[:, best])
    height = float(heights[best] / np.linalg.norm(raw))
    return Step(_test(x, z, falls), best + 1, float(-np.expm1(-height)))


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
    curve = smooth.curve.at(smooth.values, x)
    drawn = smooth.scatter * noise
    directions, _ = np.linalg.qr(smooth.tangents(x))
    unexplained = ((drawn - directions @ (directions.T @ drawn)) ** 2).sum(axis=0)
    simulated = unexplained / np.maximum(falls.left(curve[:, None] + drawn), EXACT)
    observed = float(((z - curve) ** 2).sum()) / left
    return float((1 + (simulated >= observed * (1 - 1e-9)).sum()) / (DRAWS + 1))


def _falls(x: Floats, places: Floats, depths: Floats) -> _Falls:
    beyond = np.maximum(x[:, None] - places, 0)
    cliffs = -np.log1p(depths[:, None, None] * misses(beyond, 1.0))
    return _candidates(x, -LN2 * beyond, np.concatenate(list(cliffs), axis=1))


def _candidates(x: Floats, scaled: Floats, fixed: Floats) -> _Falls:
    line, _ = np.linalg.qr(np.stack([np.ones_like(x), x], axis=1))
    apart = scaled - line @ (line.T @ scaled)
    return _Falls(apart / np.linalg.norm(apart, axis=0), fixed - fixed.mean(axis=0), line)


def _profiles(x: Floats, z: Floats, places: Floats) -> Sequence[Floats]:
    """Squares left by the best bend and the best cliff at each of ``places``."""
    falls = _falls(x, places, np.geomspace(0.05, 500, 25))
    straight = z - falls.line @ (falls.line.T @ z)
    bends = (straight**2).sum() - falls.heights(z) ** 2
    cliffs = falls.apart(z[:, None])[:, 0].reshape(-1, len(places)).min(axis=0) + ((z - z.mean()) ** 2).sum()
    return bends, cliffs
