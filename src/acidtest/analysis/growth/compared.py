"""Two series against each other: the same engine on two places, or two engines on one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from acidtest.analysis.growth.series import RecordedSize, Series, SizePoint
from acidtest.analysis.summary import Summary, ratio

ALIKE = 0.1  # part of a size by which two databases may differ and be of one size: engines take room in steps


@dataclass(frozen=True)
class RatioAt:
    """How many times as fast the one series is as the other."""

    bytes: float
    ratio: Summary
    interpolated: bool = False  # the other series has no such size: its rate is read off between two
    asked: str = ""  # the size, as the experiment of both has it


@dataclass(frozen=True)
class Pair:
    """Two recorded series that differ in one factor other than the engine: a place, a setting."""

    name: str  # what is set against what: "sqlite: nvme / rotating"
    factor: str
    first: Series
    second: Series
    at: tuple[RatioAt, ...]  # of the second's rate to the first's; sizes in bytes are the first's
    apart: tuple[str, ...]  # sizes left out: the databases differ by more than a tenth


def compare(one: Series, other: Series) -> list[RatioAt]:
    """``one`` over ``other`` at each size of ``one`` that lies within the other's sizes, by size.

    Where sizes differ, the other's rate is interpolated between its neighbours, logarithm over logarithm, and there is
    no interval; never beyond its smallest and largest. A rate of zero has no ratio.
    """
    points = sorted(other.points, key=lambda point: point.bytes)
    ratios = []
    for point in sorted(one.points, key=lambda point: point.bytes):
        near = min(points, key=lambda there: abs(np.log(there.bytes / point.bytes)))
        if _alike(near, point):
            ratios.append(RatioAt(point.bytes, ratio(point.rates, near.rates)))
        elif points[0].bytes < point.bytes < points[-1].bytes and (between := _between(points, point)):
            mine = float(np.median(point.rates))
            reason = "interpolated: the other series has no such size"
            ratios.append(RatioAt(point.bytes, Summary(len(point.rates), mine / between, None, reason), True))
    return ratios


def pairs(series: Sequence[Series]) -> list[Pair]:
    """Pairs of series of one engine and workload that differ in a single factor, at the sizes that both reached."""
    paired = []
    for first, second in combinations(series, 2):
        if first.recorded is None or second.recorded is None:
            continue
        levels, others = first.recorded.levels, second.recorded.levels
        differ = [factor for factor, level in levels.items() if others.get(factor) != level]
        if len(differ) != 1 or differ[0] in ("engine", "workload"):
            continue
        at, apart = _at_each_size(first.recorded.sizes, second.recorded.sizes)
        if at or apart:
            name = _name(first.name, others[differ[0]], levels[differ[0]])
            paired.append(Pair(name, differ[0], first, second, tuple(at), tuple(apart)))
    return paired


def _at_each_size(first: Sequence[RecordedSize], second: Sequence[RecordedSize]) -> tuple[list[RatioAt], list[str]]:
    """The ratios, by size, and the sizes at which the databases are too different."""
    other = {recorded_size.asked: recorded_size.point for recorded_size in second if recorded_size.point}
    measured = sorted(
        ((recorded_size.point, recorded_size.asked) for recorded_size in first if recorded_size.point),
        key=lambda of: of[0].bytes,
    )
    at, apart = [], []
    for point, asked in measured:
        its = other.get(asked)
        if its is None or not point.bytes or not its.bytes:
            continue
        if _alike(its, point):
            at.append(RatioAt(point.bytes, ratio(its.rates, point.rates), asked=asked))
        else:
            apart.append(asked)
    return at, apart


def _alike(one: SizePoint, other: SizePoint) -> bool:
    return abs(one.bytes / other.bytes - 1) <= ALIKE


def _name(series: str, *levels: str) -> str:
    common = [part for part in series.split(", ") if part not in levels]
    return f"{', '.join(common)}: {' / '.join(levels)}" if common else " / ".join(levels)


def _between(points: Sequence[SizePoint], at: SizePoint) -> float | None:
    medians = np.array([float(np.median(point.rates)) for point in points])
    if (medians <= 0).any():
        return None
    sizes = np.log([point.bytes for point in points])
    return float(np.exp(np.interp(np.log(at.bytes), sizes, np.log(medians))))
