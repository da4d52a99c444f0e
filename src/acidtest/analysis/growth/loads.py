"""How fast the loads of a growing database were as they went on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from acidtest.analysis.growth.series import RecordedSize
from acidtest.journal.models import DatabaseSize

PIECES = 60  # of a load's curve


@dataclass(frozen=True)
class LoadPoint:
    at_s: float  # middle of a piece, from the start of the first load of the same database
    bytes: float  # of the database's files then
    mb_per_s: float


def load_curve(sizes: Sequence[RecordedSize]) -> list[list[LoadPoint]]:
    """How fast each load of a series was as it went on, a list a load. Loads of one growing database follow one
    another in time; one from nothing begins at 0. A load's samples are put together into at most 60 pieces."""
    curves, begun_s = [], 0.0
    for at in sizes:
        if not at.loaded or not at.loaded.load_s:
            continue
        begun_s = begun_s if at.loaded.warehouses_before else 0.0
        points = []
        for before, after in pairwise(_thinned(at.loaded)):
            if after[0] > before[0]:
                rate = (after[1] - before[1]) / (after[0] - before[0]) / 1e6
                points.append(LoadPoint(begun_s + (before[0] + after[0]) / 2, after[1], rate))
        begun_s += at.loaded.load_s
        if len(points) > 1:
            curves.append(points)
    return curves


def _thinned(loaded: DatabaseSize) -> list[tuple[float, float]]:
    """Times and sizes: the load's start, its samples, its end."""
    whole_s = loaded.load_s or 0.0
    points = [(0.0, float(loaded.bytes_before or 0))]
    for sample in loaded.load:
        if sample.at_s >= points[-1][0] + whole_s / PIECES:
            points.append((sample.at_s, float(sample.bytes)))
    if whole_s > points[-1][0] + whole_s / PIECES / 2:
        points.append((whole_s, float(loaded.bytes)))
    return points
