"""What memory did under a row: medians of its repetitions, and the curves of residency and refaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acidtest.analysis.samples import Row
from acidtest.analysis.summary import median
from acidtest.journal.models import Memory, MemorySample


@dataclass(frozen=True)
class MemorySummary:
    """Over the repetitions that are done; None where nothing was told of it."""

    limit_bytes: int | None  # None: without a limit
    start: str
    access: str
    database_bytes: float | None  # median, when the run began
    peak_bytes: int | None  # the most of any repetition
    resident_at_start: float | None  # share of the database in the file cache before the engine was started, median
    resident_at_end: float | None  # and at the end of the measurement
    refaults: float | None  # pages of files pushed out and read again during the measurement, median
    stalled_s: float | None  # time in which some process waited for memory during the measurement, median
    io_stalled_s: float | None  # the same for a device
    stalled_of: str | None  # "control group" or "machine"
    swapped_bytes: int | None  # the most of the engine's memory that was swapped out in any repetition
    machine_available_bytes: int | None  # the least that the whole machine had left in any repetition
    machine_swapped_out_pages: float | None  # by the whole machine during the measurement, median
    machine_stalled_s: float | None  # time in which some process of the whole machine waited for memory, median
    cache_bytes: int | None  # the engine's own cache
    twice_bytes_max: float | None  # upper bound of what both caches held at the end, median
    fetched_per_read: float | None  # bytes that storage gave for each read call of the engine, median

    @property
    def times_limit(self) -> float | None:
        """The database's size as a multiple of the limit."""
        return self.database_bytes / self.limit_bytes if self.limit_bytes and self.database_bytes else None


@dataclass(frozen=True)
class MemoryPoint:
    """One repetition at one time."""

    at_s: float
    resident: float  # share of the database in the file cache
    refaults_per_s: float | None  # since the sample before


def of_row(row: Row) -> MemorySummary | None:
    """None where nothing was asked of the memory."""
    with_memory = [(r, r.memory) for r in row.done if r.memory]
    if not with_memory:
        return None
    memories = [memory for _, memory in with_memory]
    measured = [(memory, _measured(memory)) for memory in memories if memory.samples]
    peaks = [memory.peak_bytes for memory in memories if memory.peak_bytes is not None]
    first = memories[0]

    def gained(name: str, unit: float = 1.0) -> float | None:
        """The median over the repetitions that have it."""
        return median([rise / unit for _, run in measured if (rise := _gained(run, name)) is not None])

    return MemorySummary(
        limit_bytes=first.limit_bytes,
        start=first.start,
        access=first.access,
        database_bytes=median([float(r.database_bytes) for r, _ in with_memory]),
        peak_bytes=max(peaks, default=None),
        resident_at_start=median([_share(m.resident_bytes_at_start, r.database_bytes) for r, m in with_memory]),
        resident_at_end=median([_resident(memory.samples[-1]) for memory, _ in measured]),
        refaults=gained("refaults_file"),
        stalled_s=gained("stalled_some_us", 1e6),
        io_stalled_s=gained("io_stalled_some_us", 1e6),
        stalled_of=first.pressure_source,
        swapped_bytes=max(_told(memories, "swap_bytes"), default=None),
        machine_available_bytes=min(_told(memories, "machine_available_bytes"), default=None),
        machine_swapped_out_pages=gained("machine_swapped_out_pages"),
        machine_stalled_s=gained("machine_memory_stalled_us", 1e6),
        cache_bytes=first.cache_bytes,
        twice_bytes_max=median([float(most) for m in memories if (most := m.twice_bytes_max) is not None]),
        fetched_per_read=median(
            [
                fetched / reads
                for _, run in measured
                if (reads := _gained(run, "read_calls") or 0) > 0
                and (fetched := _gained(run, "storage_read_bytes") or 0) >= 0  # else a process has ended
            ]
        ),
    )


def curve(memory: Memory) -> list[MemoryPoint]:
    """Residency and refaults over time; the warm-up and the start of the engine lie before 0."""
    points = []
    before: MemorySample | None = None
    for sample in memory.samples:
        rate = None
        if before and sample.refaults_file is not None and before.refaults_file is not None:
            rate = (sample.refaults_file - before.refaults_file) / max(sample.at_s - before.at_s, 1e-3)
        points.append(MemoryPoint(sample.at_s, _resident(sample), rate))
        before = sample
    return points


def _measured(memory: Memory) -> list[MemorySample]:
    """The samples of the measurement, and the last one before it."""
    before = [sample for sample in memory.samples if sample.at_s < 0][-1:]
    return before + [sample for sample in memory.samples if sample.at_s >= 0]


def _told(memories: Sequence[Memory], name: str) -> list[int]:
    """Of every sample of every repetition that has it."""
    return [value for memory in memories for sample in memory.samples if (value := getattr(sample, name)) is not None]


def _gained(samples: list[MemorySample], name: str) -> float | None:
    first, last = getattr(samples[0], name), getattr(samples[-1], name)
    return None if first is None or last is None else float(last - first)


def _resident(sample: MemorySample) -> float:
    return _share(sample.resident_bytes, sample.database_bytes)


def _share(part: int, whole: int) -> float:
    return min(1.0, part / whole) if whole else 0.0
