"""The series that recordings hold, and how fast their loads were as they went on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from acidtest.analysis.database import levels_gained
from acidtest.analysis.growth.series import CACHE, MEMORY, Landmark, Recorded, RecordedSize, Series, SizePoint, shares
from acidtest.analysis.pairs import levels_text
from acidtest.analysis.samples import Row
from acidtest.analysis.summary import median
from acidtest.journal.models import SIZE, DatabaseSize, Forecast, Header, Recording


def recorded(
    header: Header, rows: Sequence[Row], memory_bytes: float | None = None, forecasts: Sequence[Forecast] = ()
) -> list[Series]:
    """One series for each combination of the levels of all factors but size, in the experiment's order, named by what
    varies; none of an experiment that has no growth.

    Landmarks are the memory limit, else the machine's memory (``memory_bytes`` instead of both, where given), the
    engine's own cache, and where indexes get another level: halfway, on a logarithmic axis, between two sizes.
    ``forecasts`` are the journal's.
    """
    asked = header.experiment.get("growth")
    if not asked:
        return []
    groups: dict[tuple[tuple[str, str], ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple((f, level) for f, level in row.levels.items() if f != SIZE), []).append(row)
    keys = [dict(key) for key in groups]
    varying = [f for f in (keys[0] if keys else {}) if len({key.get(f) for key in keys}) > 1]
    series = []
    for key, members in zip(keys, groups.values(), strict=True):
        name = levels_text(key, varying) or members[0].engine
        present = {row.levels[SIZE] for row in members}
        never = tuple(size for size in header.factors.get(SIZE, []) if size not in present)
        predicted = {forecast.size: forecast for forecast in forecasts if forecast.levels == key}
        sizes = tuple(_size(name, row, predicted.get(row.levels[SIZE])) for row in members)
        points = sorted((size.point for size in sizes if size.point), key=lambda point: point.bytes)
        beside = Recorded(members[0].workload, key, sizes, never, asked.get("load") == "fresh")
        series.append(Series(name, tuple(points), tuple(_landmarks(sizes, memory_bytes)), beside))
    return series


def _size(series: str, row: Row, forecast: Forecast | None) -> RecordedSize:
    ended = [*row.done, *row.invalid, *row.failed]
    reached = [r.database_size for r in ended if r.database_size]
    bytes_ = median([float(r.database_size.bytes) for r in (row.done or ended) if r.database_size])
    statistics = next((one.statistics for one in reached if one.statistics), None)
    rates = tuple(row.goodput_per_s)
    return RecordedSize(
        series=series,
        row=row,
        bytes=bytes_,
        point=SizePoint(bytes_, rates, _reads(row.done)) if rates and bytes_ is not None else None,
        loaded=next((one for one in reached if one.load_s is not None), None),
        statistics=statistics,
        statistics_missing="" if statistics else next((o.statistics_said for o in reached if o.statistics_said), ""),
        device=shares([(r.device, r.result.measured_s) for r in row.done if r.device and r.result]),
        forecast=forecast,
    )


def _reads(alike: Sequence[Recording]) -> tuple[float, ...]:
    """Of a transaction; all that the device was read counts."""
    return tuple(
        recording.device.reads / recording.result.counts.committed
        for recording in alike
        if recording.device and recording.result and recording.result.counts.committed
    )


def _landmarks(sizes: Sequence[RecordedSize], memory_bytes: float | None) -> list[Landmark]:
    first = next((recording for size in sizes if size.point for recording in size.row.done), None)
    if first is None:
        return []
    landmarks = [Landmark(MEMORY, memory_bytes or _memory(first))]
    if first.memory and first.memory.cache_bytes:
        landmarks.append(Landmark(CACHE, first.memory.cache_bytes))
    return landmarks + _deeper(sizes)


def _memory(one: Recording) -> float:
    if one.memory and one.memory.limit_bytes:
        return one.memory.limit_bytes
    if one.place.guest:
        return one.place.guest.memory_mb * 2**20
    return one.machine.memory_bytes


def _deeper(sizes: Sequence[RecordedSize]) -> list[Landmark]:
    known = [(size.bytes, size.statistics) for size in sizes if size.bytes is not None and size.statistics]
    landmarks = []
    for (bytes_before, before), (bytes_after, after) in itertools.pairwise(sorted(known, key=lambda one: one[0])):
        if deeper := [index for index, _ in levels_gained(before, after)]:
            first, *others = deeper
            more = f" and {len(others):,} more" if others else ""
            name = f"depth {first.depth} of {first.table}'s {first.name}{more}"
            landmarks.append(Landmark(name, float(np.sqrt(bytes_before * bytes_after))))
    return landmarks


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
