"""How large a row's database and its engine's log were, and whether the log grew without being reused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from acidtest.analysis.samples import Row
from acidtest.analysis.summary import median
from acidtest.journal.models import Recording, Sizes

NOTICED = 1.05  # times as large: less is no difference, and no growth
PARTS = 4  # of the measurement, in each of which a log has grown that grows all through it
OVER_LIMIT = 2  # times the size from which the engine reuses its log: it holds itself to that roughly


@dataclass(frozen=True)
class SizeSummary:
    """Medians of the repetitions, in bytes; None where it was not seen."""

    database_bytes: float  # when the measurement began
    database_bytes_max: float | None  # the most during it
    log: str  # the log's file or directory; "" of an engine that has none
    log_bytes_start: float | None  # when the measurement began
    log_bytes_max: float | None  # the most during it

    @property
    def database_grew(self) -> bool:
        return grew(self.database_bytes, self.database_bytes_max)

    @property
    def log_grew(self) -> bool:
        return grew(self.log_bytes_start, self.log_bytes_max)


def grew(before: float | None, after: float | None) -> bool:
    return before is not None and after is not None and after > NOTICED * before


def of_row(row: Row) -> SizeSummary | None:
    """None where no repetition is done."""
    if not row.done:
        return None
    seen = [recording.sizes for recording in row.done if recording.sizes]
    logs = [known for one in seen if (known := log_curve(one))]
    return SizeSummary(
        database_bytes=median([float(began(recording)) for recording in row.done]) or 0.0,
        database_bytes_max=median([float(max(of.database_bytes for of in one.samples)) for one in seen]),
        log=next((one.log for one in seen if one.log), ""),
        log_bytes_start=median([float(known[0][1]) for known in logs]),
        log_bytes_max=median([float(max(size for _, size in known)) for known in logs]),
    )


def began(recording: Recording) -> int:
    """The database's size when the run began; of a server without its logs, where they were seen apart."""
    return recording.sizes.samples[0].database_bytes if recording.sizes else recording.database_bytes


def log_curve(sizes: Sizes) -> list[tuple[float, int]]:
    """Seconds from the beginning of the measurement, and the size of the log; none of an engine without one."""
    return [(sample.at_s, sample.log_bytes) for sample in sizes.samples if sample.log_bytes is not None]


def not_reused(sizes: Sizes) -> tuple[int, int] | None:
    """From what size to what size a log grew that was never reused, though it should have been; None of any other.

    It grew in every quarter of the measurement, and ended at twice the size from which the engine reuses it or more.
    """
    curve = log_curve(sizes)
    if sizes.log_limit_bytes is None or len(curve) <= PARTS or curve[-1][1] < OVER_LIMIT * sizes.log_limit_bytes:
        return None
    ends = [curve[(len(curve) - 1) * part // PARTS][1] for part in range(PARTS + 1)]
    return (ends[0], ends[-1]) if all(one < later for one, later in pairwise(ends)) else None


def differ(values: Sequence[float]) -> bool:
    return bool(values) and grew(min(values), max(values))
