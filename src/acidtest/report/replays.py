"""What replays of logs came to, as a table and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acidtest.analysis.workload_figures import Replays
from acidtest.report.line import Line
from acidtest.report.table import Column, Table, figure
from acidtest.words import counted, harmless

DIFFERENCES_SHOWN = 10  # of one row
EXPLAINED = (
    "An error is new where the log has none, and missing where the log alone has one; left out is what stood behind a "
    "new error in its transaction. Rows are compared where the log tells how many a statement answered. A statement's "
    "latency begins at its time in the log, its service when it was sent; “log” is what the log says that the same "
    "statements took. Counts are of all repetitions."
)


def _compared(replays: Replays) -> str:
    differ, compared = replays.counts["rows_differ"], replays.counts["rows_compared"]
    return f"{differ:,} of {compared:,}" if compared else "not known"


def _count(head: str, name: str, drop: int = 0) -> Column:
    return Column(head, lambda line: f"{line.replays.counts[name]:,}", drop=drop)


COLUMNS = (
    Column("row", figure("label", str), right=False),
    _count("statements", "statements"),
    _count("sessions", "sessions", 5),
    _count("new errors", "errors_new"),
    _count("missing errors", "errors_missing"),
    _count("errors as in the log", "errors_alike", 4),
    _count("left out", "left_out", 3),
    Column("rows differ", figure("replays", _compared)),
    Column("latency p50 ms", figure("replays.latency.p50.value_ms"), drop=6),
    Column("latency p99 ms", figure("replays.latency.p99.value_ms"), drop=1),
    Column("service p50 ms", figure("replays.service.p50.value_ms"), drop=2),
    Column("service p99 ms", figure("replays.service.p99.value_ms"), drop=7),
    Column("log p50 ms", figure("replays.logged.p50.value_ms"), drop=2),
    Column("log p99 ms", figure("replays.logged.p99.value_ms"), drop=7),
)


def table(lines: Sequence[Line]) -> Table:
    replayed = [line for line in lines if line.replays]
    differences = [sentence for line in replayed if line.replays for sentence in _differences(line.replays)]
    return Table(COLUMNS, replayed, "replays", "Against the log", conclusions=differences, explained=EXPLAINED)


def _differences(replays: Replays) -> list[str]:
    """What came to something else than in the log, one sentence each."""
    shown = [
        f"{harmless(difference.place, 200)}: the log has {harmless(difference.logged, 200)}, the replay "
        f"{harmless(difference.replayed, 300)}: {harmless(difference.statement, 200)}"
        for difference in replays.differences[:DIFFERENCES_SHOWN]
    ]
    if refused := replays.counts["sessions_refused"]:
        shown.append(f"{counted(refused, 'session')} could not be opened at its time.")
    return shown


def as_json(replays: Replays | None) -> dict[str, Any] | None:
    if replays is None:
        return None
    times = {
        f"statement_{name}_ms": {"p50": of.p50.value_ms, "p99": of.p99.value_ms}
        for name, of in (("latency", replays.latency), ("service", replays.service), ("logged", replays.logged))
    }
    return {**replays.counts, **times, "differences": [difference.model_dump() for difference in replays.differences]}
