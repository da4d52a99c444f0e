"""Curves of a rate against a size, fitted to the logarithm of the rate, so that noise is a share of the rate.

A size enters as ``x``, doublings from the smallest one; a curve gives ``z``, the natural logarithm of the rate.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # scipy.optimize is imported at its first use: that takes a second

from acidtest.analysis.summary import Floats

LN2 = float(np.log(2))
EXACT = 1e-14  # mean squared deviation of logarithms under which figures are equal but for rounding
HELD = 1e-7  # from here to its bounds a parameter does not move
TINY = 1e-12  # of a rate that a curve lets fall to nothing


@dataclass(frozen=True)
class Curve:
    """A family of curves: ``at(parameters, x)``, where to begin, and between which bounds.

    Where each of the parameters is a column, ``at`` gives a row for each of its figures.
    """

    name: str
    supposes: str  # in words
    at: Callable[[Floats, Floats], Floats]
    starts: Callable[[Floats, Floats], Iterable[Sequence[float]]]  # of x and z; the best one is refined
    bounds: Callable[[Floats], Sequence[tuple[float, float]]]  # of each parameter, of x
    simpler: Curve | None = None  # stands in where there are too few sizes for this one
    measured: Callable[[Floats], Floats] | None = None  # of x: z that it has to meet too, measured apart from the rates
    exact: bool = False  # the start is the solution of least squares


@dataclass(frozen=True)
class Fit:
    """A curve through sizes, with what least squares say about it."""

    curve: Curve
    values: Floats  # of the parameters
    scatter: float  # standard deviation of z around it; 0 where nothing is left to tell
    freedom: int  # sizes less parameters
    covariance: Floats  # of the parameters, for a scatter of 1
    limits: Sequence[tuple[float, float]]  # of the parameters

    def at(self, x: float) -> float:
        return float(self.curve.at(self.values, np.array([x]))[0])

    def error(self, x: float, scatter: float) -> float:
        """Standard error of what one more measurement at ``x`` would give: its ``scatter`` and the parameters'."""
        slope = self.tangents(np.array([x]))[0]
        return float(scatter * np.sqrt(1 + slope @ self.covariance @ slope))

    def between(self, x: float, errors: float) -> tuple[float, float]:
        """Least and greatest z of one more measurement at ``x``, so many standard errors away.

        Parameters are moved to where ``z`` is least and greatest at that distance, and the curve is asked there: far
        from the sizes it bends, and a straight line along its slope would leave what it can give.
        """
        slope = self.tangents(np.array([x]))[0]
        length = float(np.sqrt(max(slope @ self.covariance @ slope, 0.0)))
        away = errors * self.scatter * (self.covariance @ slope) / length if length > 0 else 0 * self.values
        low, high = np.array(self.limits).T
        middle, own = self.at(x), errors * self.scatter
        less, more = (
            float(self.curve.at(np.clip(self.values + sign * away, low, high), np.array([x]))[0]) for sign in (-1, 1)
        )
        return middle - float(np.hypot(own, middle - less)), middle + float(np.hypot(own, more - middle))

    def tangents(self, x: Floats) -> Floats:
        """What small changes of the parameters do to ``z``: a column a parameter."""
        return _jacobian(self.curve, self.values, x)


def fit(curve: Curve, x: Floats, z: Floats) -> Fit | None:
    """Least squares; None with fewer than one size more than parameters."""
    limits = curve.bounds(x)
    freedom = len(x) - sum(_free(limit) for limit in limits)
    if freedom < 1:
        return None
    all_x, all_z = x, z
    if curve.measured is not None:
        all_x, all_z = np.concatenate([x, x]), np.concatenate([z, curve.measured(x)])
    low, high = np.array(limits).T
    starts = np.clip(np.array(list(curve.starts(x, z)), dtype=float), low, high)
    begin = starts[int(((curve.at(starts.T[..., None], all_x) - all_z) ** 2).sum(axis=1).argmin())]
    values = begin if curve.exact else _refined(curve, begin, all_x, all_z, low, high)
    left = float(((curve.at(values, x) - z) ** 2).sum())
    slopes = _jacobian(curve, values, all_x)
    # A parameter at its bound is not free; one that the sizes say nothing of has no column.
    free = (values > low + 2 * HELD) & (values < high - 2 * HELD)
    covariance = np.zeros((len(values), len(values)))
    covariance[np.ix_(free, free)] = np.linalg.pinv(slopes[:, free].T @ slopes[:, free], rcond=1e-10, hermitian=True)
    scatter = float(np.sqrt(left / freedom)) if left > EXACT * len(x) else 0.0
    return Fit(curve, values, scatter, freedom, covariance, limits)


def _refined(curve: Curve, begin: Floats, x: Floats, z: Floats, low: Floats, high: Floats) -> Floats:
    solution = scipy.optimize.least_squares(
        lambda values: curve.at(values, x) - z,
        np.clip(begin, low + HELD / 10, high - HELD / 10),
        jac=lambda values: _jacobian(curve, values, x),
        bounds=(low, high),
        x_scale="jac",
        max_nfev=60,
    )
    return solution.x if 2 * solution.cost <= ((curve.at(begin, x) - z) ** 2).sum() else begin


def _jacobian(curve: Curve, values: Floats, x: Floats) -> Floats:
    steps = 1e-6 * np.maximum(1.0, np.abs(values))
    more, less = (curve.at((values[:, None] + sign * np.diag(steps))[..., None], x) for sign in (1, -1))
    return np.asarray((more - less).T / (2 * steps))


def line(x: Floats, z: Floats) -> tuple[float, float]:
    """Intercept and slope of least squares."""
    slope = float(((x - x.mean()) * (z - z.mean())).sum() / ((x - x.mean()) ** 2).sum())
    return float(z.mean() - slope * x.mean()), slope


def _shares(x: Floats) -> Floats:
    return np.concatenate([-np.geomspace(2, 1e-3, 8), np.geomspace(1e-3, 0.98, 24)]) / float(x.max())


def _bent(x: Floats, z: Floats) -> Iterable[Sequence[float]]:
    knees = np.linspace(x[1], x[-2], 40)
    bends = -np.maximum(x - knees[:, None], 0)
    columns = np.stack([np.ones_like(bends), np.broadcast_to(x, bends.shape), bends], axis=-1)
    for knee, (begin, slope, more) in zip(knees, np.linalg.pinv(columns) @ z, strict=True):
        if more >= 0:
            yield [begin, slope, more, knee]
    yield [*line(x, z), 0.0, float(np.mean(x[1:-1]))]


FREE = (-1e3, 1e3)  # of a logarithm, or of a slope: no bound that figures reach

CONSTANT = Curve(
    "constant",
    "the rate does not depend on the size",
    lambda p, x: p[0] + 0 * x,
    lambda x, z: [[z.mean()]],
    lambda x: [FREE],
    exact=True,
)
POWER = Curve(
    "power",
    "each doubling takes the same share of the rate",
    lambda p, x: p[0] + p[1] * x,
    lambda x, z: [line(x, z)],
    lambda x: [FREE, FREE],
    CONSTANT,
    exact=True,
)
LOGARITHMIC = Curve(
    "logarithmic",
    "each doubling takes the same number of transactions a second, until none is left",
    lambda p, x: p[0] + np.log(np.maximum(1 - p[1] * x, TINY)),
    lambda x, z: itertools.product([line(x, z)[0]], _shares(x)),
    lambda x: [FREE, (-1e3, (1 - 1e-6) / x.max())],
    CONSTANT,
)
LOGARITHMIC_TIME = Curve(
    "logarithmic time",
    "each doubling adds the same time to a transaction, as searches in deeper indexes do",
    lambda p, x: p[0] - np.log(np.maximum(1 + p[1] * x, TINY)),
    lambda x, z: itertools.product([line(x, z)[0]], -_shares(x)),
    lambda x: [FREE, (-(1 - 1e-6) / x.max(), 1e3)],
    CONSTANT,
)
PIECEWISE = Curve(
    "piecewise",
    "each doubling takes one share of the rate up to a knee and a larger one after it",
    lambda p, x: p[0] + p[1] * x - p[2] * np.maximum(x - p[3], 0),
    _bent,
    lambda x: [FREE, FREE, (0.0, 1e3), (x[1], x[-2])] if len(x) > 3 else [FREE, FREE, (0.0, 1e3), (0.0, 1e3)],
    POWER,
)


def misses(u: Floats, skew: Floats | float) -> Floats:
    """Share of accesses that miss a cache, ``u`` doublings beyond its size (Zipf-like access: hits (1 / size)^skew)."""
    return np.asarray(-np.expm1(-LN2 * skew * np.maximum(u, 0)))


SKEWS = (0.1, 0.3, 1.0)
DEPTHS = np.geomspace(0.01, 1e3, 11)  # time of the misses, were all accesses misses, over the time of a hit


@dataclass(frozen=True)
class Reads:
    """What the device was read where it was watched, at each size of a series."""

    x: Floats
    time_s: Floats  # of a transaction, on the whole machine: one over the rate
    reads: Floats  # of a transaction

    def times(self, x: Floats) -> tuple[float, Floats]:
        """Time without misses, and that of the misses at each ``x``: as the sizes up to there have it.

        A read takes a transaction what its time rises by with each, by least squares of shares of the time. That is not
        the device's time for one: terminals wait side by side, for reads and for each other.
        """
        known = self.x <= x.max()
        time_s, reads = self.time_s[known], self.reads[known]
        hit_s, read_s = scipy.optimize.nnls(np.stack([1 / time_s, reads / time_s], axis=1), np.ones(len(reads)))[0]
        return float(hit_s), read_s * np.interp(x, self.x[known], reads)


def cache_misses(reads: Reads | None = None, memory: float | None = None) -> Curve:
    """Time per transaction = hit time + misses × miss time; hits are min(1, (cache / size)^skew).

    Skew 1 is access to all pages alike; the smaller, the more often the same pages are asked for. Where ``reads`` were
    counted, misses are not supposed but measured: the curve has to meet hit time and reads as well as the rates, so a
    loss that brings no reads is none of the cache's, and the hit time is not fitted. ``memory`` is where the cache
    ends, in doublings from the smallest size, and counts where no size lies beneath it.
    """

    def bounds(x: Floats) -> Sequence[tuple[float, float]]:
        depth = (float(np.log(1e-4)), float(np.log(1e5)))
        start = FREE
        if reads is not None and (hit_s := reads.times(x)[0]) > 0:
            start = _held(-np.log(hit_s))
        ends = (0.0, float(x.max())) if memory is None or memory > 0 else _held(memory)
        return [start, depth, (0.05, 1.0), ends]

    def at(p: Floats, x: Floats) -> Floats:
        return np.asarray(p[0] - np.log1p(np.exp(p[1]) * misses(x - p[3], p[2])))

    def starts(x: Floats, z: Floats) -> Iterable[Sequence[float]]:
        start, _, _, ends = bounds(x)
        places = np.linspace(*ends, 13) if _free(ends) else np.array(ends[:1])
        for place, skew in itertools.product(places, SKEWS):
            falls = np.log1p(DEPTHS[:, None] * misses(x - place, skew))
            begins = (z + falls).mean(axis=1) if _free(start) else np.full(len(DEPTHS), np.mean(start))
            best = int(((begins[:, None] - falls - z) ** 2).sum(axis=1).argmin())
            yield [float(begins[best]), float(np.log(DEPTHS[best])), skew, float(place)]

    def measured(x: Floats) -> Floats:
        assert reads is not None
        hit_s, miss_s = reads.times(x)
        return np.asarray(-np.log(np.maximum(hit_s + miss_s, TINY)))

    return Curve(
        "cache misses",
        "what does not fit into a cache is read from storage, the more the larger the database",
        at,
        starts,
        bounds,
        LOGARITHMIC_TIME,
        measured if reads is not None else None,
    )


def _held(value: float) -> tuple[float, float]:
    """Bounds of a parameter that is not fitted."""
    return float(value) - HELD, float(value) + HELD


def _free(bounds: tuple[float, float]) -> bool:
    return bounds[1] - bounds[0] > 3 * HELD


SMOOTH = (POWER, LOGARITHMIC, LOGARITHMIC_TIME)
