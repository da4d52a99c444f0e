"""What replays of logs came to, as a table and for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from acidtest.analysis.replays import Replays, Times
from acidtest.report.line import Line
from acidtest.report.numbers import number
from acidtest.report.table import Column, Table
from acidtest.words import counted, harmless

DIFFERENCES_SHOWN = 10  # of one row
EXPLAINED = (
    "An error is new where the log has none, and missing where the log alone has one; left out is what stood behind a "
    "new error in its transaction. Rows are compared where the log tells how many a statement answered. A statement's "
    "latency begins at its time in the log, its service when it was sent; “log” is what the log says that the same "
    "statements took. Counts are of all repetitions."
)


def _count(name: str) -> Callable[[Line], str]:
    return lambda line: f"{line.replays.counts[name]:,}" if line.replays else "–"


def _time(of: str, share: str) -> Callable[[Line], str]:
    return lambda line: number(getattr(getattr(line.replays, of), share).value_ms) if line.replays else "–"


def _compared(line: Line) -> str:
    if line.replays is None or not line.replays.counts["rows_compared"]:
        return "not known"
    return f"{line.replays.counts['rows_differ']:,} of {line.replays.counts['rows_compared']:,}"


COLUMNS = (
    Column("row", lambda line: line.label, right=False),
    Column("statements", _count("statements")),
    Column("sessions", _count("sessions"), drop=5),
    Column("new errors", _count("errors_new")),
    Column("missing errors", _count("errors_missing")),
    Column("errors as in the log", _count("errors_alike"), drop=4),
    Column("left out", _count("left_out"), drop=3),
    Column("rows differ", _compared),
    Column("latency p50 ms", _time("latency", "p50"), drop=6),
    Column("latency p99 ms", _time("latency", "p99"), drop=1),
    Column("service p50 ms", _time("service", "p50"), drop=2),
    Column("service p99 ms", _time("service", "p99"), drop=7),
    Column("log p50 ms", _time("logged", "p50"), drop=2),
    Column("log p99 ms", _time("logged", "p99"), drop=7),
)


def table(lines: Sequence[Line]) -> Table:
    """Of the rows that replay a log."""
    replayed = [line for line in lines if line.replays]
    said = [sentence for line in replayed for sentence in _differences(line)]
    return Table(COLUMNS, replayed, "replays", "Against the log", said=said, explained=EXPLAINED)


def _differences(line: Line) -> list[str]:
    """What came to something else than in the log, one sentence each."""
    if line.replays is None:
        return []
    shown = [
        f"{harmless(one.place, 200)}: the log has {harmless(one.logged, 200)}, the replay "
        f"{harmless(one.replayed, 300)}: {harmless(one.statement, 200)}"
        for one in line.replays.differences[:DIFFERENCES_SHOWN]
    ]
    if refused := line.replays.counts["sessions_refused"]:
        shown.append(f"{counted(refused, 'session')} could not be opened at its time.")
    return shown


def as_json(replays: Replays | None) -> dict[str, Any] | None:
    """For programs."""
    if replays is None:
        return None

    def times(of: Times) -> dict[str, float | None]:
        return {"p50": of.p50.value_ms, "p99": of.p99.value_ms}

    return {
        **replays.counts,
        "statement_latency_ms": times(replays.latency),
        "statement_service_ms": times(replays.service),
        "statement_logged_ms": times(replays.logged),
        "differences": _plain(replays),
    }


def _plain(replays: Replays) -> Sequence[dict[str, str]]:
    return [one.model_dump() for one in replays.differences]
