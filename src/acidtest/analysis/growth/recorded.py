"""The series that a journal holds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from acidtest.analysis.database import levels_gained
from acidtest.analysis.growth.series import CACHE, MEMORY, Landmark, Series, SizePoint
from acidtest.journal.models import SIZE, Grown, Recording


@dataclass(frozen=True)
class Recorded:
    """One database that grew, with what was measured beside its rates."""

    series: Series
    recordings: tuple[Recording, ...]  # that count: done, with a size and a result


def recorded(recordings: Sequence[Recording], memory_bytes: float | None = None) -> list[Recorded]:
    """One series for each combination of the levels of all factors but size, in order; named by what varies.

    Landmarks are the memory limit, else the machine's memory (``memory_bytes`` instead of both, where given), the
    engine's own cache, and where indexes get another level: halfway, on a logarithmic axis, between two sizes.
    """
    groups: dict[tuple[tuple[str, str], ...], list[Recording]] = {}
    for one in recordings:
        if one.status == "done" and one.grown is not None and one.result is not None:
            levels = tuple((factor, level) for factor, level in one.levels.items() if factor != SIZE)
            groups.setdefault(levels, []).append(one)
    varying = {
        factor for factor, _ in next(iter(groups), ()) if len({dict(levels).get(factor) for levels in groups}) > 1
    }
    found = []
    for levels, group in groups.items():
        name = ", ".join(level for factor, level in levels if factor in varying) or dict(levels).get("engine", "series")
        found.append(_recorded(name, group, memory_bytes))
    return found


def _recorded(name: str, group: Sequence[Recording], memory_bytes: float | None) -> Recorded:
    sizes: dict[str, list[Recording]] = {}
    for one in group:
        sizes.setdefault(one.levels.get(SIZE) or _grown(one).asked, []).append(one)
    points = sorted(
        (
            SizePoint(
                float(np.median([_grown(one).bytes for one in alike])),
                tuple(one.result.goodput_per_s for one in alike if one.result),
                _reads(alike),
            )
            for alike in sizes.values()
        ),
        key=lambda point: point.bytes,
    )
    landmarks = [Landmark(MEMORY, memory_bytes or _memory(group[0]))]
    if group[0].memory and group[0].memory.cache_bytes:
        landmarks.append(Landmark(CACHE, group[0].memory.cache_bytes))
    series = Series(name, tuple(points), (*landmarks, *_deeper(group)))
    return Recorded(series, tuple(group))


def _grown(one: Recording) -> Grown:
    assert one.grown is not None
    return one.grown


def _memory(one: Recording) -> float:
    if one.memory and one.memory.limit_bytes:
        return one.memory.limit_bytes
    if one.place.guest:
        return one.place.guest.memory_mb * 2**20
    return one.machine.memory_bytes


def _deeper(group: Sequence[Recording]) -> list[Landmark]:
    looked = [(grown.bytes, grown.statistics) for one in group if (grown := _grown(one)).statistics]
    found = []
    for (bytes_before, before), (bytes_after, after) in itertools.pairwise(sorted(looked, key=lambda one: one[0])):
        assert before and after
        if deeper := [index for index, _ in levels_gained(before, after)]:
            first, *others = deeper
            more = f" and {len(others)} more" if others else ""
            name = f"depth {first.depth} of {first.table}'s {first.name}{more}"
            found.append(Landmark(name, float(np.sqrt(float(bytes_before) * bytes_after))))
    return found


def _reads(alike: Sequence[Recording]) -> tuple[float, ...]:
    """Of a transaction; all that the device was read counts."""
    return tuple(
        one.device.reads / one.result.counts.committed
        for one in alike
        if one.device and one.result and one.result.counts.committed
    )
