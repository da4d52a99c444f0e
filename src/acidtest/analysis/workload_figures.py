"""What workloads come to that are not counted in transactions: scans, an administrator's operations, replayed logs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from acidtest.analysis.latency import Percentile, merge, percentile
from acidtest.analysis.samples import Row
from acidtest.analysis.summary import median
from acidtest.journal.models import Recording
from acidtest.journal.protocol import Difference, Garbage, Histogram, Maintenance, OperationDone
from acidtest.workload import recorded

SORT_MEMORY = ("cache_size_kb", "work_mem_mb", "sort_buffer_mb", "temp_cache_limit_mb")  # one an engine


@dataclass(frozen=True)
class Reads:
    """Medians of the repetitions."""

    rows: int | None  # of the table; None when its load was not recorded
    mb_per_s: float  # of the rows' values, 10^6 bytes, over all terminals
    seconds: float  # of one read, the mean of a repetition's


def reads(row: Row) -> Reads | None:
    """None of another workload, and of a row without a read."""
    read = recorded(row.done[0].workload) if row.done else None
    read_mb = read.transaction_read_mb() if read else None
    if read_mb is None:
        return None
    done = [
        (recording, recording.result) for recording in row.done if recording.result and recording.result.service.count
    ]
    rates = median([result.goodput_per_s * read_mb for _, result in done])
    seconds = median([result.service.mean_ns / 1e9 for _, result in done])
    if rates is None or seconds is None:
        return None
    loads = [recording.load.rows for recording, _ in done if recording.load]
    return Reads(loads[0] if loads else None, rates, seconds)


def sort_memory_bytes(recording: Recording) -> int | None:
    """What the engine may sort in before it goes to files; None where it was not told."""
    settings = {setting.name: setting.in_force or "" for setting in recording.settings}
    for name in SORT_MEMORY:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)( bytes| pages)?", settings.get(name, ""))
        if match:
            page = settings.get("page_size", "")
            unit = {" bytes": 1, " pages": int(page) if page.isdigit() else 4096}.get(
                match[2], 1 << (10 if name.endswith("_kb") else 20)
            )
            return int(float(match[1]) * unit)
    return None


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


def operations(row: Row) -> Operations | None:
    """None of a workload that submits transactions, and of a row without an operation."""
    runs = [r.maintenance for r in row.done if r.maintenance and r.maintenance.operations]
    seconds = _median(runs, lambda one: one.seconds)
    database = _median(runs, lambda one: one.database_bytes)
    if seconds is None or database is None:
        return None
    backup = _median(runs, lambda one: one.backup_bytes)
    seen = [operation.workers for run in runs for operation in run.operations if operation.workers is not None]
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


REPLAY_COUNTED = (
    "sessions", "sessions_refused", "statements", "left_out", "errors_alike", "errors_new", "errors_missing",
    "rows_compared", "rows_differ",
)  # fmt: skip


@dataclass(frozen=True)
class Times:
    """Percentiles of statements; each None where there are too few of them."""

    p50: Percentile
    p99: Percentile


@dataclass(frozen=True)
class Replays:
    """All repetitions of a row together."""

    counts: dict[str, int]  # REPLAY_COUNTED
    latency: Times  # from a statement's time in the log to its answer
    service: Times  # from when it was sent
    logged: Times  # as the log says
    differences: tuple[Difference, ...]  # the first


def replays(row: Row) -> Replays | None:
    """None of a workload that replays no log."""
    runs = [recording.replay for recording in row.done if recording.replay]
    if not runs:
        return None
    return Replays(
        counts={name: sum(getattr(run, name) for run in runs) for name in REPLAY_COUNTED},
        latency=_times([run.latency for run in runs]),
        service=_times([run.service for run in runs]),
        logged=_times([run.logged for run in runs]),
        differences=tuple(
            {difference.model_dump_json(): difference for run in runs for difference in run.differences}.values()
        ),
    )


def _times(histograms: list[Histogram]) -> Times:
    merged = merge(histograms)
    return Times(percentile(merged, 0.5), percentile(merged, 0.99))
