"""Which curve foresees best, and what it says of sizes that were not measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from acidtest.analysis.growth.curves import (
    CONSTANT,
    EXACT,
    LOGARITHMIC,
    LOGARITHMIC_TIME,
    PIECEWISE,
    POWER,
    Curve,
    Fit,
    fit,
)
from acidtest.analysis.growth.knee import Found
from acidtest.analysis.summary import Floats, Interval

ORIGINS = 8  # at most: each costs a fit of every curve
NOTHING = float(np.log(1e-3))  # of the first rate
FREEDOM = 2  # under which a curve follows its sizes and says nothing of its own error


@dataclass(frozen=True)
class Model:
    """A fitted curve and how it foresaw."""

    fit: Fit
    forecast_error: float | None  # root mean square of log(rate / forecast); None where none could be tested
    widening: float  # of its own standard error, by how far its forecasts missed beyond it
    plausible: bool  # foresees about as well as the best

    @property
    def name(self) -> str:
        return self.fit.curve.name

    def interval(self, x: float) -> Interval:
        """Of one more measurement, 95 %, in z."""
        return Interval(*self.fit.between(x, scipy.stats.t.ppf(0.975, self.fit.freedom) * self.widening))

    def ends_before(self, x: float) -> bool:
        """Whether nothing is left of the rate there: a law that cannot hold so far."""
        return self.fit.at(x) < self.fit.at(0.0) + NOTHING


def models(x: Floats, z: Floats, knee: Found | None, misses: Curve) -> list[Model]:
    """Every curve that the sizes can bear, the best first; ``knee`` where one is shown, ``misses`` the cache's curve.

    What is asked for lies beyond the largest size, so a curve is judged by what it says of sizes larger than all that
    it was fitted to: the smaller half of the sizes predicts the others, then one more does, and so on (rolling origin,
    Tashman 2000, International Journal of Forecasting 16, 437). Leaving one size out in the middle would test
    interpolation, in which a curve with more parameters wins that goes astray beyond the end. Where a knee is shown
    there are only the curves that have one, and only origins from which it could be seen.

    A curve is plausible unless its squared errors exceed the best one's by more than so few origins' chance (F at 5 %).
    """
    curves = [PIECEWISE, misses] if knee else [CONSTANT, POWER, LOGARITHMIC, LOGARITHMIC_TIME, PIECEWISE, misses]
    fitted = [one for curve in curves if (one := fit(curve, x, z)) and one.freedom >= FREEDOM]
    origins = _seen(x, knee)
    errors = [_predicted(curve, x, z, origins) for curve in fitted]
    if not origins or not fitted:
        return [Model(curve, None, 1.0, True) for curve in sorted(fitted, key=lambda curve: curve.scatter)]
    squares = [max(float((missed**2).mean()), EXACT) for missed, _ in errors]
    bearable = min(squares) * float(scipy.stats.f.ppf(0.95, len(origins), len(origins)))
    judged = [
        Model(curve, float(np.sqrt(square)), _widening(*error), square <= bearable)
        for curve, square, error in zip(fitted, squares, errors, strict=True)
    ]
    return sorted(judged, key=lambda model: model.forecast_error or 0.0)


def _seen(x: Floats, knee: Found | None) -> Sequence[int]:
    """Origins: so many of the smallest sizes predict the others."""
    first = max(3, len(x) // 2)
    if knee is not None:
        first = max(first, int((x <= knee.at).sum()) + 2, 5)
    origins = np.arange(first, len(x))
    if not len(origins):
        return []
    chosen = np.linspace(0, len(origins) - 1, min(ORIGINS, len(origins))).round().astype(int)
    return [int(origins[n]) for n in chosen]


def _predicted(fitted: Fit, x: Floats, z: Floats, origins: Sequence[int]) -> tuple[Floats, Floats]:
    """Errors of all forecasts, and the standard errors that the curve gave for them with its scatter over all sizes.

    From so few sizes that the curve cannot be fitted, its simpler one predicts.
    """
    missed, standard_errors = [], []
    for origin in origins:
        curve: Curve | None = fitted.curve
        early = None
        while curve is not None and (early := fit(curve, x[:origin], z[:origin])) is None:
            curve = curve.simpler
        assert early is not None
        for target in range(origin, len(x)):
            missed.append(z[target] - early.at(x[target]))
            standard_errors.append(early.error(x[target], fitted.scatter))
    return np.array(missed), np.array(standard_errors)


def _widening(missed: Floats, standard_errors: Floats) -> float:
    if not (standard_errors > 0).all():
        return 1.0
    return max(1.0, float(np.sqrt(((missed / standard_errors) ** 2).mean())))
