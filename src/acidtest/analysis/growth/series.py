"""One database that grows, recorded by us or published by others: its sizes, their rates, and where a drop may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from acidtest.analysis.samples import Row
from acidtest.analysis.summary import Summary, summarise
from acidtest.journal.models import SIZE, DatabaseSize, DatabaseStatistics, DeviceWork, Forecast

MEMORY = "memory"  # the landmark beyond which reads come from storage
CACHE = "the engine's cache"


@dataclass(frozen=True)
class SizePoint:
    """What was measured at one size."""

    bytes: float  # of the database's files
    rates: tuple[float, ...]  # a second, one for each repetition
    reads: tuple[float, ...] = ()  # of a transaction, from the device, beside each rate; () unknown

    @cached_property
    def rate(self) -> Summary:
        return summarise(self.rates)


@dataclass(frozen=True)
class Landmark:
    """A size at which a drop may be expected."""

    name: str  # "memory", "the engine's cache", "depth 4 of order_line's order_line_pk"
    bytes: float


@dataclass(frozen=True)
class RecordedSize:
    """One size that the experiment asked for, with all its repetitions, whether they gave a rate or not."""

    series: str  # its name
    row: Row
    bytes: float | None  # of the database's files before each repetition was measured, median; None: never loaded
    point: SizePoint | None  # None where no repetition gave a rate
    loaded: DatabaseSize | None  # of the cell that carries the load
    statistics: DatabaseStatistics | None
    statistics_missing: str  # why there are none
    device: DeviceShares | None
    forecast: Forecast | None = None  # that was written down before it was loaded; None of a size not held out

    @property
    def asked(self) -> str:
        """As the experiment has it: "9.04 GB"."""
        return self.row.levels[SIZE]

    @property
    def rate(self) -> Summary:
        """Of the repetitions; of none without a rate."""
        return self.point.rate if self.point else summarise(())

    @property
    def warehouses(self) -> int | None:
        size = self.row.first.database_size
        return size.warehouses if size else None

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
class Recorded:
    """What recordings know of a series beside its rates."""

    workload: str
    levels: Mapping[str, str]  # of the factors other than size
    sizes: tuple[RecordedSize, ...]  # in the experiment's order
    never: tuple[str, ...]  # sizes that were planned, and of which no cell has ended
    fresh: bool  # each size was loaded from nothing


@dataclass(frozen=True)
class Series:
    """One engine on one place, size by size."""

    name: str
    points: tuple[SizePoint, ...]  # ascending; those that have a rate
    landmarks: tuple[Landmark, ...] = ()
    recorded: Recorded | None = None  # None of rates that somebody has published


@dataclass(frozen=True)
class Waits:
    """Of one kind of request, over all measurements together."""

    count: int
    share: float | None  # of the time of all requests; None where there was none
    mean_ms: float | None  # of one; None where there was none


@dataclass(frozen=True)
class DeviceShares:
    """Where the time of a device's requests went. Shares of reads, writes and flushes add up to 1."""

    reads: Waits
    writes: Waits  # with their flushes, where those are not counted apart
    flushes: Waits | None  # None where they are not counted
    busy_share: float  # of the measured time, in which at least one request was under way; at most 1
    depth: float  # requests under way at a time, mean over the measured time


def shares(measured: Sequence[tuple[DeviceWork, float]]) -> DeviceShares | None:
    """``measured`` has the work and the measured seconds of each repetition; None where there is nothing to divide.

    The kernel has the time of a flush in the write that brings it along, and takes a flush that carries nothing for a
    write of no bytes: what is left to writes is their time less that of the flushes. The number of writes proper is not
    known then, so a write's mean time is over all that the kernel counts, and so a lower bound.
    """
    measured_s = sum(seconds for _, seconds in measured)
    works = [work for work, _ in measured]
    if measured_s <= 0:
        return None
    flush_s = flushes = None
    if all(work.flushes is not None and work.flush_s is not None for work in works):
        flushes, flush_s = sum(work.flushes or 0 for work in works), sum(work.flush_s or 0.0 for work in works)
    read_s = sum(work.read_s for work in works)
    write_s = max(0.0, sum(work.write_s for work in works) - (flush_s or 0.0))
    whole_s = read_s + write_s + (flush_s or 0.0)

    def waits(count: int, seconds: float) -> Waits:
        return Waits(count, seconds / whole_s if whole_s else None, seconds * 1e3 / count if count else None)

    return DeviceShares(
        reads=waits(sum(work.reads for work in works), read_s),
        writes=waits(sum(work.writes for work in works), write_s),
        flushes=None if flushes is None or flush_s is None else waits(flushes, flush_s),
        busy_share=min(1.0, sum(work.busy_s for work in works) / measured_s),
        depth=whole_s / measured_s,
    )
