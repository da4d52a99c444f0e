"""Of an administrator's operations: how long each took, and of how much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from acidtest.analysis.samples import Row
from acidtest.analysis.summary import median
from acidtest.journal.protocol import Garbage, Maintenance, OperationDone


@dataclass(frozen=True)
class Operations:
    """Medians of the repetitions; of one with several operations the mean counts. MB are 10^6 bytes."""

    seconds: float  # of one, the flush included
    flush_s: float | None  # until what was written was on the drive; None where that was not waited for
    database_mb: float  # of the database that was read, made or swept
    backup_mb: float | None  # of the backup's file; None where there is none
    workers: (
        int | None
    )  # the fewest of a repetition, of the most that were seen at once; None: one, or nothing shows them
    before: Garbage | None  # of the first repetition
    after: Garbage | None

    @property
    def mb_per_s(self) -> float:
        """Of the database, not of the file."""
        return self.database_mb / self.seconds if self.seconds else 0.0


def of_row(row: Row) -> Operations | None:
    """None of a workload that submits transactions, and of a row without an operation."""
    runs = [r.maintenance for r in row.done if r.maintenance and r.maintenance.operations]
    seconds = _median(runs, lambda one: one.seconds)
    database = _median(runs, lambda one: one.database_bytes)
    if seconds is None or database is None:
        return None
    backup = _median(runs, lambda one: one.backup_bytes)
    seen = [one.workers for run in runs for one in run.operations if one.workers is not None]
    return Operations(
        seconds=seconds,
        flush_s=_median(runs, lambda one: one.flush_s),
        database_mb=database / 1e6,
        backup_mb=None if backup is None else backup / 1e6,
        workers=min(seen, default=None),
        before=runs[0].before,
        after=runs[0].after,
    )


def _median(runs: list[Maintenance], figure: Callable[[OperationDone], float | None]) -> float | None:
    """Of each run's mean; None where some operation does not have the figure."""
    means = []
    for run in runs:
        figures = [one for one in map(figure, run.operations) if one is not None]
        if len(figures) < len(run.operations):
            return None
        means.append(sum(figures) / len(figures))
    return median(means)
