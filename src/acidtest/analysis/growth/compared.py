"""Two series against each other: the same engine on two places, or two engines on one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from acidtest.analysis.growth.series import Series, SizePoint
from acidtest.analysis.summary import Summary, ratio

ALIKE = 0.1  # part of a size by which two databases may differ and be of one size: engines take room in steps


@dataclass(frozen=True)
class RatioAt:
    """How many times as fast the one series is as the other."""

    bytes: float
    ratio: Summary
    interpolated: bool  # the other series has no such size: its rate is read off between two


def compare(one: Series, other: Series) -> list[RatioAt]:
    """``one`` over ``other`` at each size of ``one`` that lies within the other's sizes, by size.

    Where sizes differ, the other's rate is interpolated between its neighbours, logarithm over logarithm, and there is
    no interval; never beyond its smallest and largest. A rate of zero has no ratio.
    """
    points = sorted(other.points, key=lambda point: point.bytes)
    found = []
    for point in sorted(one.points, key=lambda point: point.bytes):
        near = min(points, key=lambda there: abs(np.log(there.bytes / point.bytes)))
        if abs(near.bytes / point.bytes - 1) <= ALIKE:
            found.append(RatioAt(point.bytes, ratio(point.rates, near.rates), False))
        elif points[0].bytes < point.bytes < points[-1].bytes and (between := _between(points, point)):
            mine = float(np.median(point.rates))
            said = "interpolated: the other series has no such size"
            found.append(RatioAt(point.bytes, Summary(len(point.rates), mine / between, None, said), True))
    return found


def _between(points: Sequence[SizePoint], at: SizePoint) -> float | None:
    medians = np.array([float(np.median(point.rates)) for point in points])
    if (medians <= 0).any():
        return None
    sizes = np.log([point.bytes for point in points])
    return float(np.exp(np.interp(np.log(at.bytes), sizes, np.log(medians))))
