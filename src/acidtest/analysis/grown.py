"""The rows of databases that grow as series: one database's sizes, the smallest first, with loads and statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from acidtest.analysis.device import DeviceShares, shares
from acidtest.analysis.growth.compared import ALIKE
from acidtest.analysis.samples import Row
from acidtest.analysis.summary import Summary, median, ratio, summarise
from acidtest.journal.models import NOT_APPLICABLE, SIZE, DatabaseStatistics, Grown, Header

PIECES = 60  # of a load's curve


@dataclass(frozen=True)
class AtSize:
    """One size of a series, with all its repetitions."""

    series: str  # its name
    row: Row
    bytes: float | None  # of the database's files before each repetition was measured, median; None: never loaded
    goodput: Summary
    loaded: Grown | None  # of the cell that carries the load
    statistics: DatabaseStatistics | None
    statistics_said: str
    device: DeviceShares | None

    @property
    def asked(self) -> str:
        return self.row.levels[SIZE]

    @property
    def warehouses(self) -> int | None:
        told = self.row.first.grown
        return told.warehouses if told else None

    @property
    def reasons(self) -> list[str]:
        """Why cells have no number, each once."""
        return list(dict.fromkeys(r.reason or r.status for r in (*self.row.invalid, *self.row.failed)))

    @property
    def commits(self) -> int:
        """Of all repetitions of which the device is known."""
        return sum(r.result.counts.committed for r in self.row.done if r.device and r.result)

    @property
    def load_s(self) -> float | None:
        return self.loaded.load_s if self.loaded else None

    @property
    def load_mb_per_s(self) -> float | None:
        """By how much the database's files grew during the load, over its time; MB are 1,000,000 bytes."""
        if not self.loaded or not self.loaded.load_s:
            return None
        return (self.loaded.bytes - (self.loaded.bytes_before or 0)) / self.loaded.load_s / 1e6


@dataclass(frozen=True)
class GrownSeries:
    """The sizes of one combination of the other factors' levels."""

    workload: str
    levels: dict[str, str]  # of the other factors
    name: str  # the levels that tell it from the other series
    sizes: tuple[AtSize, ...]
    never: tuple[str, ...]  # sizes that were planned, and of which no cell has ended

    @property
    def measured(self) -> list[AtSize]:
        """Those that have a rate and a size, by that size."""
        found = [one for one in self.sizes if one.row.done and one.bytes is not None]
        return sorted(found, key=lambda one: one.bytes or 0)


@dataclass(frozen=True)
class LoadPoint:
    at_s: float  # middle of a piece, from the start of the first load of the same database
    bytes: float  # of the database's files then
    mb_per_s: float


@dataclass(frozen=True)
class RatioAt:
    asked: str
    bytes: float  # of the first
    ratio: Summary  # of the second's rate to the first's


@dataclass(frozen=True)
class Beside:
    """Two series that differ in one factor other than the engine: a place, a setting."""

    factor: str
    first: GrownSeries
    second: GrownSeries
    at: tuple[RatioAt, ...]
    apart: tuple[str, ...]  # sizes left out: the databases differ by more than a tenth

    @property
    def name(self) -> str:
        """What is set against what: "sqlite: nvme / rotating"."""
        levels = [one.levels[self.factor] for one in (self.second, self.first)]
        common = [part for part in self.first.name.split(", ") if part not in levels]
        return f"{', '.join(common)}: {' / '.join(levels)}" if common else " / ".join(levels)


def series(header: Header, rows: Sequence[Row]) -> list[GrownSeries]:
    """The series of ``rows``, in the experiment's order; none of an experiment that has no growth."""
    if not header.experiment.get("growth"):
        return []
    groups: dict[tuple[tuple[str, str], ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple((f, level) for f, level in row.levels.items() if f != SIZE), []).append(row)
    keys = [dict(key) for key in groups]
    told_apart = [f for f in (keys[0] if keys else {}) if len({key.get(f) for key in keys}) > 1]
    found = []
    for key, members in zip(keys, groups.values(), strict=True):
        present = {row.levels[SIZE] for row in members}
        name = ", ".join(key[f] for f in told_apart if key[f] != NOT_APPLICABLE) or members[0].engine
        never = tuple(size for size in header.factors.get(SIZE, []) if size not in present)
        found.append(GrownSeries(members[0].workload, key, name, tuple(_at_size(name, row) for row in members), never))
    return found


def _at_size(series: str, row: Row) -> AtSize:
    ended = [*row.done, *row.invalid, *row.failed]
    told = [r.grown for r in (row.done or ended) if r.grown]
    looked_into = [r.grown for r in ended if r.grown]
    statistics = next((grown.statistics for grown in looked_into if grown.statistics), None)
    return AtSize(
        series=series,
        row=row,
        bytes=median([float(grown.bytes) for grown in told]),
        goodput=summarise(row.goodput_per_s()),
        loaded=next((grown for grown in looked_into if grown.load_s is not None), None),
        statistics=statistics,
        statistics_said="" if statistics else next((g.statistics_said for g in looked_into if g.statistics_said), ""),
        device=shares([(r.device, r.result.measured_s) for r in row.done if r.device and r.result]),
    )


def load_curve(one: GrownSeries) -> list[list[LoadPoint]]:
    """How fast each load of a series was as it went on, a list a load. Loads of one growing database follow one
    another in time; one from nothing begins at 0. A load's samples are put together into at most 60 pieces."""
    curves, begun_s = [], 0.0
    for at in one.sizes:
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


def _thinned(loaded: Grown) -> list[tuple[float, float]]:
    """Times and sizes: the load's start, its samples, its end."""
    whole_s = loaded.load_s or 0.0
    found = [(0.0, float(loaded.bytes_before or 0))]
    for sample in loaded.load:
        if sample.at_s >= found[-1][0] + whole_s / PIECES:
            found.append((sample.at_s, float(sample.bytes)))
    if whole_s > found[-1][0] + whole_s / PIECES / 2:
        found.append((whole_s, float(loaded.bytes)))
    return found


def beside(found: Sequence[GrownSeries]) -> list[Beside]:
    """Pairs of series of one engine and workload that differ in a single factor, at the sizes that both reached."""
    pairs = []
    for first, second in combinations(found, 2):
        differ = [f for f, level in first.levels.items() if second.levels.get(f) != level]
        if len(differ) != 1 or differ[0] in ("engine", "workload"):
            continue
        other = {one.asked: one for one in second.measured}
        at, apart = [], []
        for one in first.measured:
            its = other.get(one.asked)
            if not its or not one.bytes or not its.bytes:
                continue
            if abs(its.bytes / one.bytes - 1) > ALIKE:
                apart.append(one.asked)
                continue
            at.append(RatioAt(one.asked, one.bytes, ratio(its.row.goodput_per_s(), one.row.goodput_per_s())))
        if at or apart:
            pairs.append(Beside(differ[0], first, second, tuple(at), tuple(apart)))
    return pairs
