"""The answer for one series: what is lost, whether there is a knee, and what is to be expected of other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy

from acidtest.analysis import REPETITIONS_FOR_INTERVAL, power
from acidtest.analysis.growth import knee as knees
from acidtest.analysis.growth.curves import PIECEWISE, POWER, SMOOTH, Fit, Reads, cache_misses, fit, line
from acidtest.analysis.growth.forecast import Model, models
from acidtest.analysis.growth.series import MEMORY, Landmark, Series, SizePoint
from acidtest.analysis.pairs import ALPHA
from acidtest.analysis.summary import (
    Floats,
    Interval,
    Summary,
    median,
    ratio,
)
from acidtest.words import counted

SIZES_FOR_PREDICTION = 4
DOUBLINGS_FOR_PREDICTION = 1.0
SPANS_AHEAD = 4  # a prediction goes no further beyond the largest size than so many times the doublings measured
APART = 1.25  # figures of plausible models so many times apart do not agree
WIDE = 10  # ends of an interval so many times apart say little
BEYOND_MEMORY = 2  # sizes larger than memory, before anything is said of more


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval; ``reason`` says why there is none."""

    value: float
    interval: Interval | None
    reason: str | None = None


@dataclass(frozen=True)
class AtSize:
    """A size that has a rate."""

    point: SizePoint
    per_doubling: float | None  # share of the rate lost per doubling since the size before; negative: gained

    @property
    def bytes(self) -> float:
        return self.point.bytes

    @property
    def rate(self) -> Summary:
        return self.point.rate

    @property
    def reads(self) -> float | None:
        """Of a transaction, from the device; None where that was not counted."""
        return median(self.point.reads)


@dataclass(frozen=True)
class SmallestKnee:
    """The mildest knee at one size that would have been shown in four of five such series (``analysis.power``)."""

    bytes: float
    leaves: float | None  # share of the rate that a doubling leaves beyond it; None: none, however steep

    @property
    def decides(self) -> bool:
        """Whether a rate that halves with each doubling would have been found."""
        return power.decides(self.leaves)

    @property
    def said(self) -> str:
        """In a sentence, after what is told of the knee."""
        if self.leaves is None or not self.decides:
            return "a rate that halves with each doubling beyond it, and not before, would have been missed"
        takes = 100 * (1 - self.leaves)
        return f"one from which each doubling takes {takes:.3g} % more {power.NOTICED}"


@dataclass(frozen=True)
class Knee:
    """A size from which on the rate falls faster, shown or not."""

    verdict: Literal["knee", "no knee shown", "cannot tell"]
    bytes: float | None  # where it is shown
    interval: Interval | None  # bytes
    shape: knees.Shape | None  # "cliff": as the misses of a cache
    p: float | None
    searched: Interval | None  # bytes: where one could be shown
    before: float | None  # share of the rate that a doubling takes before it, and after; where it is shown
    after: float | None
    reason: str | None
    smallest: tuple[SmallestKnee, ...] = ()  # at each landmark inside of ``searched``, else in its middle; unless shown

    def near(self, landmark: Landmark) -> str:
        """What is told of a knee at ``landmark``, in a few words."""
        name = "memory size" if landmark.name == MEMORY else landmark.name
        at = f"{name} ({size_text(landmark.bytes)})"
        if self.searched is None:
            return f"cannot tell whether there is a knee at {at}"
        inside = self.searched.low <= landmark.bytes <= self.searched.high
        if self.interval is not None and self.bytes is not None:
            if self.interval.low <= landmark.bytes <= self.interval.high:
                return f"the knee may be at {at}: its interval holds that"
            side = "below" if self.bytes < landmark.bytes else "above"
            return f"the knee is not at {at} but {side} it"
        if not inside:
            return (
                f"cannot tell whether there is a knee at {at}: one can be shown from "
                f"{size_text(self.searched.low)} to {size_text(self.searched.high)}, with two sizes on each side"
            )
        here = next((one for one in self.smallest if one.bytes == landmark.bytes), None)
        if here is None:
            return f"cannot tell whether there is a knee at {at}: what would have been noticed there is not known"
        verdict = "no knee shown" if here.decides else "cannot tell whether there is a knee"
        return f"{verdict} at {at}: {here.said}"


@dataclass(frozen=True)
class Step:
    """A change from one size to the next, beyond what the curve does there anyhow."""

    before: float  # bytes
    after: float
    share: float  # of the rate that is lost from one to the other; negative: gained
    curve_share: float  # that the curve loses between them
    p: float


@dataclass(frozen=True)
class Prediction:
    """What one measurement at ``bytes`` is expected to give; ``refused`` says why nothing is said."""

    bytes: float
    rate: float | None = None
    interval: Interval | None = None  # 95 %, over all plausible models
    model: str | None = None
    spans: float | None = None  # distance beyond the largest size, in doublings measured
    doubts: tuple[str, ...] = ()
    refused: str | None = None


@dataclass(frozen=True)
class GrowthAnswer:
    series: Series  # by size, equal sizes put together
    sizes: tuple[AtSize, ...]
    loss: Estimate | None  # share of the first size's rate that is lost at the last; negative: gained
    # Share lost: slope of the logarithm of the rate over log2 of the size, beside a step up where one is shown.
    per_doubling: Estimate | None
    knee: Knee
    step: Step | None  # where one is shown and no knee
    models: tuple[Model, ...]  # the best first
    refused: str | None  # why nothing is fitted

    def predict(self, size: float) -> Prediction:
        """The rate at ``size`` bytes."""
        refused = self.refused or self._unforeseeable(size)
        if refused:
            return Prediction(size, refused=refused)
        x, span = self._doublings(size), self._doublings(self.sizes[-1].bytes)
        plausible = [model for model in self.models if model.plausible]
        holding = [model for model in plausible if not model.ends_before(x)]
        if not holding:
            return Prediction(size, refused="no prediction: by every plausible model nothing is left of the rate there")
        best = holding[0]
        # A law by which nothing is left has this much to say: it may be next to nothing.
        low = _rate(min(model.interval(x).low for model in holding)) if holding == plausible else 0.0
        interval = Interval(low, _rate(max(model.interval(x).high for model in holding)))
        spans = max(0.0, x / span - 1)
        doubts = self._doubts(size, interval, spans)
        figures = [_rate(model.fit.at(x)) for model in holding]
        if max(figures) > APART * min(figures):
            doubt = f"the plausible models say {min(figures):.4g} to {max(figures):.4g}: which law holds is not shown"
            doubts.insert(0, doubt)
        return Prediction(size, _rate(best.fit.at(x)), interval, best.name, spans, tuple(doubts))

    def by(self, model: Model, size: float) -> float:
        return _rate(model.fit.at(self._doublings(size)))

    def _doublings(self, size: float) -> float:
        return float(np.log2(size / self.sizes[0].bytes))

    def _unforeseeable(self, size: float) -> str | None:
        first, last = self.sizes[0].bytes, self.sizes[-1].bytes
        span = self._doublings(last)
        if len(self.sizes) < SIZES_FOR_PREDICTION:
            return f"no prediction: {SIZES_FOR_PREDICTION} sizes are needed, {_measured(len(self.sizes))}"
        if span < DOUBLINGS_FOR_PREDICTION:
            return f"no prediction: sizes must span a doubling at least, they span {span:.2g}"
        if not self.models:
            return "no prediction: too few sizes for the curves that have a knee; measure more sizes beyond it"
        if size < first * (1 - 1e-9):
            return f"no prediction below {size_text(first)}, the smallest size measured: measure it"
        if self._doublings(size) > span * (1 + SPANS_AHEAD):
            most = first * 2 ** (span * (1 + SPANS_AHEAD))
            spanned = counted(span, "doubling", spec=".3g")
            return (
                f"no prediction beyond {size_text(most)}: the sizes span {spanned}, and no more than {SPANS_AHEAD} "
                "times that is looked ahead"
            )
        for landmark in self.series.landmarks:
            beyond = sum(1 for size in self.sizes if size.bytes > landmark.bytes)
            if landmark.name == MEMORY and size > max(landmark.bytes, last) and beyond < BEYOND_MEMORY:
                return (
                    f"no prediction beyond memory ({size_text(landmark.bytes)}): {_sizes(beyond)} larger than it "
                    f"measured, and {BEYOND_MEMORY} are needed to see what it does"
                )
        return None

    def _doubts(self, size: float, interval: Interval, spans: float) -> list[str]:
        doubts = []
        tested = 1.0 if any(model.forecast_error is not None for model in self.models) else 0.0
        if not tested:
            doubts.append("no forecast of these sizes could be tested, so the interval has the curves' own error alone")
        elif spans > tested:
            doubts.append(
                f"it looks {spans:.2g} times as far ahead, in doublings, as was measured, further than any forecast "
                "could be tested"
            )
        if self.step and self.step.share < 0:
            at = f"{size_text(self.step.before)} and {size_text(self.step.after)}"
            doubts.append(f"no model has the step up between {at}")
        ahead = [landmark.name for landmark in self.series.landmarks if self.sizes[-1].bytes < landmark.bytes <= size]
        if ahead:
            doubts.append(f"between the largest size and this one lies {' and '.join(ahead)}, not seen yet")
        if interval.high > WIDE * interval.low:
            doubts.append("the interval is so wide that it says little")
        return doubts


def analyse(series: Series) -> GrowthAnswer:
    """All that is told of ``series``; well under a second for dozens of sizes. Rates are finite and not negative."""
    series = _in_order(series)
    points = series.points
    medians = np.array([median(point.rates) or 0.0 for point in points])
    x = np.log2(np.array([point.bytes for point in points]) / points[0].bytes)
    refused = None
    if (medians <= 0).any():
        at = size_text(points[int((medians <= 0).argmax())].bytes)
        refused = f"nothing is fitted: the rate at {at} is zero, which has no ratio to the others"
    elif len(points) < 2:
        refused = "nothing is fitted: one size alone has no growth"
    sizes = tuple(
        AtSize(
            point, None if refused or not n else _lost(float(np.log(medians[n] / medians[n - 1])) / (x[n] - x[n - 1]))
        )
        for n, point in enumerate(points)
    )
    if refused:
        nothing = Knee("cannot tell", None, None, None, None, None, None, None, refused)
        return GrowthAnswer(series, sizes, None, None, nothing, None, (), refused)
    z = np.log(medians)
    knee = knees.find(x, z)
    shown = knee if knee is not None and knee.p <= ALPHA else None
    memory = next(
        (float(np.log2(landmark.bytes / points[0].bytes)) for landmark in series.landmarks if landmark.name == MEMORY),
        None,
    )
    misses = cache_misses(_reads(sizes, x), memory)
    step = None if shown else _step(x, z)
    # Without a step up, which growth does not cause; a step down is a part of what it takes.
    straight = fit(POWER, x, z - step.height * (x > x[step.after]) if step and step.height > 0 else z)
    around = (
        fit(PIECEWISE, x, z)
        if shown
        else min((one for c in SMOOTH if (one := fit(c, x, z))), key=_scatter, default=None)
    )
    return GrowthAnswer(
        series,
        sizes,
        _loss(points, around),
        _per_doubling(x, z, straight),
        _knee(series, x, z, knee),
        _between(points, x, z, step, straight) if step else None,
        tuple(models(x, z, shown, misses)) if len(points) >= SIZES_FOR_PREDICTION else (),
        None,
    )


def size_text(size: float) -> str:
    """``9.04 GB``: four figures, 10^9 bytes a GB."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit * 0.99995:
            return f"{size / unit:.4g} {name}"
    return f"{size:.4g} bytes"


def _in_order(series: Series) -> Series:
    points: dict[float, SizePoint] = {}
    for point in series.points:
        if point.rates:
            same = points.get(point.bytes, SizePoint(point.bytes, ()))
            counted = len(point.reads) == len(point.rates) and len(same.reads) == len(same.rates)
            reads = same.reads + point.reads if counted else ()
            put_together = SizePoint(point.bytes, same.rates + point.rates, reads)
            points[point.bytes] = point if put_together == point else put_together  # which may be summarised already
    if not points or any(not np.isfinite(rate) or rate < 0 for point in points.values() for rate in point.rates):
        raise ValueError("a series has at least one size with a rate, and rates are finite and not negative")
    return replace(series, points=tuple(points[size] for size in sorted(points)))


def _reads(sizes: Sequence[AtSize], x: Floats) -> Reads | None:
    """None where reads were not counted at all sizes."""
    reads = [size.reads for size in sizes if size.reads is not None]
    if len(reads) < len(sizes):
        return None
    return Reads(x, 1 / np.array([size.rate.median for size in sizes]), np.array(reads))


def _lost(log_ratio: float) -> float:
    """The share that is lost where the logarithm changes by so much."""
    return float(-np.expm1(min(log_ratio, 700.0)))


def _rate(z: float) -> float:
    return float(np.exp(min(z, 700.0)))


def _scatter(fitted: Fit) -> float:
    return fitted.scatter


def _loss(points: Sequence[SizePoint], around: Fit | None) -> Estimate:
    """From the repetitions where there are enough, else from the scatter of all sizes around the curve."""
    first, last = points[0].rates, points[-1].rates
    value = 1 - float(np.median(last)) / float(np.median(first))
    if min(len(first), len(last)) >= REPETITIONS_FOR_INTERVAL:
        of = ratio(last, first)
        return Estimate(value, of.interval and Interval(1 - of.interval.high, 1 - of.interval.low), of.reason)
    if around is None or around.freedom < 2:
        return Estimate(value, None, f"needs {REPETITIONS_FOR_INTERVAL} repetitions of both sizes, or four sizes")
    half = float(scipy.stats.t.ppf(0.975, around.freedom)) * around.scatter * np.sqrt(2)
    change = float(np.log(1 - value))
    return Estimate(value, Interval(_lost(change + half), _lost(change - half)))


def _per_doubling(x: Floats, z: Floats, straight: Fit | None) -> Estimate:
    if straight is None:
        return Estimate(_lost(float((z[-1] - z[0]) / x[-1])), None, "needs three sizes")
    slope = float(straight.values[1])
    half = float(scipy.stats.t.ppf(0.975, straight.freedom)) * straight.scatter * np.sqrt(straight.covariance[1, 1])
    return Estimate(_lost(slope), Interval(_lost(slope + half), _lost(slope - half)))


def _knee(series: Series, x: Floats, z: Floats, knee: knees.Found | None) -> Knee:
    points = series.points
    if knee is None:
        reason = f"a knee takes {knees.SIZES_FOR_KNEE} sizes to show, {_measured(len(points))}"
        return Knee("cannot tell", None, None, None, None, None, None, None, reason)

    def at(doublings: float) -> float:
        return float(points[0].bytes * 2**doublings)

    searched = Interval(*map(at, knees.searched(x)))
    if knee.p > ALPHA:
        smallest = _smallest(series, x, z, searched)
        decides = smallest[0].decides
        missed = None if decides else f"{smallest[0].said}; measure more sizes, or longer ones"
        verdict: Literal["no knee shown", "cannot tell"] = "no knee shown" if decides else "cannot tell"
        return Knee(verdict, None, None, None, knee.p, searched, None, None, missed, smallest)
    below, above = x <= knee.at, x >= knee.at
    before, after = (_lost(line(x[side], z[side])[1]) for side in (below, above))
    interval = Interval(at(knee.low), at(knee.high))
    return Knee("knee", at(knee.at), interval, knee.shape, knee.p, searched, before, after, None)


def _smallest(series: Series, x: Floats, z: Floats, searched: Interval) -> tuple[SmallestKnee, ...]:
    """At memory first, for that is what was asked."""
    first = series.points[0].bytes
    inside = [landmark for landmark in series.landmarks if searched.low <= landmark.bytes <= searched.high]
    inside.sort(key=lambda landmark: landmark.name != MEMORY)
    at = list(dict.fromkeys(landmark.bytes for landmark in inside)) or [float(np.sqrt(searched.low * searched.high))]
    scatter, freedom = _noise(series.points, x, z)
    return tuple(SmallestKnee(size, knees.smallest(x, float(np.log2(size / first)), scatter, freedom)) for size in at)


def _noise(points: Sequence[SizePoint], x: Floats, z: Floats) -> tuple[float, int]:
    """Scatter of a size's figure, and its degrees of freedom: around the curve that fits best, bent or not.

    No less than what the repetitions of a size give their median (standard error 1.25 of that of a mean).
    """
    fits = [one for curve in (*SMOOTH, PIECEWISE) if (one := fit(curve, x, z)) is not None]
    best = min(fits, key=_scatter)
    repeated = [point.rates for point in points if len(point.rates) > 1]
    deviation = power.spread(repeated) if repeated else None
    own = 1.25 * deviation / np.sqrt(min(map(len, repeated))) if deviation is not None else 0.0
    if own > best.scatter:
        return float(own), sum(len(rates) - 1 for rates in repeated)
    return best.scatter, best.freedom


def _between(points: Sequence[SizePoint], x: Floats, z: Floats, step: knees.Step, straight: Fit | None) -> Step:
    at, to = step.after, step.after + 1
    curve = float(straight.values[1] * (x[to] - x[at])) if straight else 0.0
    return Step(points[at].bytes, points[to].bytes, _lost(float(z[to] - z[at])), _lost(curve), step.p)


def _step(x: Floats, z: Floats) -> knees.Step | None:
    step = knees.sharpest_step(x, z)
    return step if step is not None and step.p <= ALPHA else None


def _sizes(count: int) -> str:
    return "no size" if not count else "one size" if count == 1 else counted(count, "size")


def _measured(count: int) -> str:
    return counted(count, "was measured", "were measured")
