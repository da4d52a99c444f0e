"""What replays of logs came to: the same cells in the terminal and on the page, and for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from acidtest.analysis.replays import Replays, Times
from acidtest.report.fitted import Column, print_fitted
from acidtest.report.numbers import number
from acidtest.report.shapes import Cell
from acidtest.words import counted, harmless

if TYPE_CHECKING:
    from acidtest.report.results import Line, Table

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
    Cell("statements", _count("statements")),
    Cell("sessions", _count("sessions"), drop=5),
    Cell("new errors", _count("errors_new")),
    Cell("missing errors", _count("errors_missing")),
    Cell("errors as in the log", _count("errors_alike"), drop=4),
    Cell("left out", _count("left_out"), drop=3),
    Cell("rows differ", _compared),
    Cell("latency p50 ms", _time("latency", "p50"), drop=6),
    Cell("latency p99 ms", _time("latency", "p99"), drop=1),
    Cell("service p50 ms", _time("service", "p50"), drop=2),
    Cell("service p99 ms", _time("service", "p99"), drop=7),
    Cell("log p50 ms", _time("logged", "p50"), drop=2),
    Cell("log p99 ms", _time("logged", "p99"), drop=7),
)


def lines_of(table: Table) -> list[Line]:
    """The rows that replay a log."""
    return [line for line in table.lines if line.replays]


def differences(line: Line) -> list[str]:
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


def print_replays(table: Table, console: Console) -> None:
    """What replays came to; nothing where there are none."""
    if not (lines := lines_of(table)):
        return
    console.print()
    console.print(Text("Against the log", style="bold"))
    first = Column("row", lambda line: line.label, right=False)
    print_fitted([first, *(Column(one.head, one.text, drop=one.drop) for one in COLUMNS)], lines, console)
    for line in lines:
        for sentence in differences(line):
            console.print(Text(sentence))
    console.print(Text(EXPLAINED, style="dim"))


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
