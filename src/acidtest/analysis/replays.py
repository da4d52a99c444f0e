"""Of replayed logs: what came to something else than in the log, and how long statements took beside what it says."""

from __future__ import annotations

from dataclasses import dataclass

from acidtest.analysis.latency import Percentile, merge, percentile
from acidtest.analysis.samples import Row
from acidtest.journal.protocol import Difference, Histogram

COUNTED = (
    "sessions", "sessions_refused", "statements", "left_out", "errors_alike", "errors_new", "errors_missing",
    "rows_compared", "rows_differ",
)  # fmt: skip
SHARES = (0.5, 0.99)


@dataclass(frozen=True)
class Times:
    """Percentiles of statements; each None where there are too few of them."""

    p50: Percentile
    p99: Percentile


@dataclass(frozen=True)
class Replays:
    """All repetitions of a row together."""

    counts: dict[str, int]  # COUNTED
    latency: Times  # from a statement's time in the log to its answer
    service: Times  # from when it was sent
    logged: Times  # as the log says
    differences: tuple[Difference, ...]  # the first


def of_row(row: Row) -> Replays | None:
    """None of a workload that replays no log."""
    runs = [recording.replay for recording in row.done if recording.replay]
    if not runs:
        return None
    return Replays(
        counts={name: sum(getattr(run, name) for run in runs) for name in COUNTED},
        latency=_times([run.latency for run in runs]),
        service=_times([run.service for run in runs]),
        logged=_times([run.logged for run in runs]),
        differences=tuple({one.model_dump_json(): one for run in runs for one in run.differences}.values()),
    )


def _times(histograms: list[Histogram]) -> Times:
    merged = merge(histograms)
    return Times(*(percentile(merged, share) for share in SHARES))
