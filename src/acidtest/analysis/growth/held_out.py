"""What is predicted of a held-out size before anything of it is loaded, and how forecasts have fared.

A forecast is worth what it was worth before: so each is made of smaller sizes alone, and those of held-out sizes are in
the journal before the sizes are measured. The share of measured figures that lie in their 95 % intervals is told with
the exact interval of Clopper and Pearson (Biometrika 26 (1934) 404), the error of the figures and the width of the
intervals beside it: an interval that is wide enough holds everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import scipy

from acidtest.analysis import samples
from acidtest.analysis.growth.answer import SIZES_FOR_PREDICTION, Prediction, analyse
from acidtest.analysis.growth.recorded import recorded
from acidtest.analysis.growth.series import RecordedSize, Series
from acidtest.analysis.summary import Interval, median
from acidtest.journal.models import Forecast, Journal

MISSED = 0.05  # of the size: further from it than that, what is measured is no answer to the forecast
LOOKS_BACK = 6  # at most so many sizes of a series are predicted again from the smaller ones: each takes half a second
CONFIDENCE = 0.95


def predict(
    journal: Journal, levels: Mapping[str, str], size: str, bytes_: float | None, units: int | None = None
) -> Forecast | None:
    """The forecast of ``size`` for the series with these ``levels`` (factor -> level, without the size).

    It is made of the sizes that are not held out. ``bytes_`` are those of the size, or it has ``units`` of the
    workload's, and is as large as the largest size measured lets expect. None where something of the size is measured
    already, so that nothing can be predicted any more, or where the journal has this very forecast.
    """
    rows = samples.rows(journal.header, journal.recordings)
    series = next(
        (one for one in recorded(journal.header, rows) if one.recorded and one.recorded.levels == levels), None
    )
    known = series.recorded.sizes if series and series.recorded else ()
    if any(at.asked == size and at.point for at in known):
        return None
    held_out = set(journal.header.experiment.get("growth", {}).get("held_out", []))
    used = [at for at in known if at.point and at.asked not in held_out]
    if bytes_ is None and units is not None and used:
        bytes_ = _bytes_of(units, used)
    prediction = Prediction(bytes_ or 0.0, refused="no prediction: no smaller size has a rate")
    if series is not None and used and bytes_ is not None:
        points = tuple(sorted((at.point for at in used if at.point), key=lambda point: point.bytes))
        prediction = analyse(replace(series, points=points)).predict(bytes_)
    forecast = Forecast(
        written_at=datetime.now(UTC).isoformat(timespec="seconds"),
        levels=dict(levels),
        size=size,
        bytes=bytes_,
        rate_per_s=prediction.rate,
        low=prediction.interval.low if prediction.interval else None,
        high=prediction.interval.high if prediction.interval else None,
        model=prediction.model,
        measured=[at.asked for at in used],
        doubts=list(prediction.doubts),
        refused=prediction.refused,
    )
    same = (one for one in journal.forecasts if one.levels == forecast.levels and one.size == size)
    if any(one.model_copy(update={"written_at": forecast.written_at}) == forecast for one in same):
        return None
    return forecast


def _bytes_of(units: int, used: Sequence[RecordedSize]) -> float | None:
    largest = max(used, key=lambda at: at.bytes or 0)
    return units * largest.bytes / largest.warehouses if largest.bytes and largest.warehouses else None


@dataclass(frozen=True)
class Predicted:
    """A forecast beside what was measured."""

    series: str
    bytes: float  # of the database that was measured
    rate: float  # that was predicted
    interval: Interval
    measured: float | None  # median of the repetitions; None: not yet, or at another size than was predicted
    missing: str | None = None  # why there is no figure

    @property
    def holds(self) -> bool | None:
        return None if self.measured is None else self.interval.low <= self.measured <= self.interval.high


@dataclass(frozen=True)
class Score:
    """How forecasts have fared: those that stand beside a figure."""

    forecasts: tuple[Predicted, ...]

    @property
    def scored(self) -> list[Predicted]:
        return [forecast for forecast in self.forecasts if forecast.measured is not None]

    @property
    def held(self) -> int:
        """Of ``scored``, so many in their interval."""
        return sum(predicted.holds is True for predicted in self.scored)

    @property
    def coverage(self) -> Interval | None:
        """95 %, of the share in their interval; None of none. Forecasts of one series are not independent."""
        n = len(self.scored)
        return exact_interval(self.held, n) if n else None

    @property
    def error(self) -> float | None:
        """Median distance of what was measured from the figure predicted, as a share of the latter."""
        ratios = [
            predicted.measured / predicted.rate for predicted in self.scored if predicted.measured and predicted.rate
        ]
        return None if not ratios else float(np.expm1(np.median(np.abs(np.log(ratios)))))

    @property
    def width(self) -> float | None:
        """Median of the intervals' upper ends over their lower ones."""
        return median(
            [
                predicted.interval.high / predicted.interval.low
                for predicted in self.scored
                if predicted.interval.low > 0
            ]
        )


def exact_interval(hits: int, of: int) -> Interval:
    """Of the probability behind ``hits`` of ``of`` trials, 95 %: Clopper and Pearson."""
    found = scipy.stats.binomtest(hits, of).proportion_ci(CONFIDENCE, method="exact")
    return Interval(float(found.low), float(found.high))


def looking_back(series: Sequence[Series]) -> Score:
    """Each size predicted from the smaller ones of its series alone; held-out sizes are not among them.

    Where a series has more sizes than ``LOOKS_BACK`` that can be predicted, those largest.
    """
    return Score(tuple(predicted for each in series for predicted in _looked_back(each)))


def _looked_back(series: Series) -> list[Predicted]:
    held_out = {at.bytes for at in (series.recorded.sizes if series.recorded else ()) if at.forecast}
    points = tuple(point for point in series.points if point.bytes not in held_out)
    found = []
    for n in range(max(SIZES_FOR_PREDICTION, len(points) - LOOKS_BACK), len(points)):
        measured = median(points[n].rates)
        prediction = analyse(replace(series, points=points[:n])).predict(points[n].bytes)
        if prediction.rate is not None and prediction.interval is not None:
            found.append(Predicted(series.name, points[n].bytes, prediction.rate, prediction.interval, measured))
    return found


def held_out(series: Sequence[Series]) -> Score:
    """What was predicted of held-out sizes, where it was not refused."""
    sizes = [at for one in series for at in (one.recorded.sizes if one.recorded else ())]
    return Score(tuple(found for at in sizes if (found := _held_out(at))))


def _held_out(at: RecordedSize) -> Predicted | None:
    forecast = at.forecast
    if forecast is None or forecast.bytes is None or forecast.rate_per_s is None:
        return None
    assert forecast.low is not None
    assert forecast.high is not None
    interval = Interval(forecast.low, forecast.high)
    missing = None
    if at.point is None or at.bytes is None:
        missing = "it has no rate"
    elif abs(at.bytes - forecast.bytes) > MISSED * forecast.bytes:
        missing = "the database has another size than was foretold"
    measured = None if missing else at.rate.median
    return Predicted(at.series, at.bytes or forecast.bytes, forecast.rate_per_s, interval, measured, missing)
