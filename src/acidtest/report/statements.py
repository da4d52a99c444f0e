"""What an engine's own trace told of each statement: in a terminal, and as rows for the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from acidtest.journal.models import TracedStatement, TracedStatements
from acidtest.report.fitted import Column, print_fitted
from acidtest.report.numbers import number
from acidtest.words import counted

SHOWN = 20  # in a terminal; JSON and recording have all
TEXT_SHOWN = 60  # characters of a statement
RECORDS = ("seq_reads", "idx_reads", "inserts", "updates", "deletes")
HEADS = ("statement", "times", "failed", "ms", "ms max", "reads", "writes", "fetches", "marks", "rows", "records")


def short(statement: TracedStatement, most: int = TEXT_SHOWN) -> str:
    """Its text on one line, cut where it is long; its kind where it has none."""
    text = " ".join(statement.text.split())
    return statement.kind or (text if len(text) <= most else f"{text[: most - 1]}…") or "(no text)"


def records(statement: TracedStatement) -> str:
    """What it did with records, each time on average."""
    each = [(name, getattr(statement, f"record_{name}") / max(1, statement.count)) for name in RECORDS]
    words = {"seq_reads": "read in sequence", "idx_reads": "read by index", "inserts": "inserted",
             "updates": "updated", "deletes": "deleted"}  # fmt: skip
    return ", ".join(f"{number(figure)} {words[name]}" for name, figure in each if figure)


def row(statement: TracedStatement, most: int = TEXT_SHOWN) -> tuple[str, ...]:
    """As HEADS: how often, milliseconds in all and at most; then of each time pages, rows fetched and records."""
    each = (getattr(statement, name) / max(1, statement.count) for name in HEADS[5:10])
    times = (f"{statement.count:,}", f"{statement.failed:,}" if statement.failed else "")
    return (
        short(statement, most), *times, f"{statement.ms:,}", f"{statement.ms_max:,}", *map(number, each),
        records(statement),
    )  # fmt: skip


def said(traced: TracedStatements) -> str:
    """What was traced, and what is missing of it."""
    if traced.not_traced is not None:
        return f"Statements were not traced: {traced.not_traced}."
    missing = []
    if traced.suspended:
        missing.append(f"the engine's trace log was full {counted(traced.suspended, 'time')}")
    if traced.commits < traced.committed:
        missing.append(f"{traced.commits:,} of {counted(traced.committed, 'commit')} were seen")
    if traced.not_understood:
        missing.append(f"{counted(traced.not_understood, 'event')} could not be read")
    if traced.left_out:
        missing.append(f"{counted(traced.left_out, 'event')} of further statements are left out")
    lost = f"{', '.join(missing)}: every figure is a lower bound" if missing else "none lost"
    return f"Statements by {traced.source}: {counted(traced.records, 'event')}, {lost}."


def explained() -> str:
    return (
        "ms: of all together and of the longest, each rounded down to whole milliseconds by the engine; the figures "
        "behind them: each time, on average."
    )


def print_statements(traced: TracedStatements, console: Console) -> None:
    """A row for each statement, the one that took longest first."""
    console.print()
    console.print(Text(said(traced), style="yellow" if traced.lost or traced.not_traced else ""))
    if not traced.statements:
        return
    rows = [row(one) for one in traced.statements[:SHOWN]]
    print_fitted(_columns(rows), rows, console, "the recording and --json have all")
    console.print(explained(), style="dim")
    if (more := len(traced.statements) - SHOWN) > 0:
        console.print(f"{counted(more, 'more statement is', 'more statements are')} in the recording.", style="dim")


def _columns(rows: Sequence[tuple[str, ...]]) -> list[Column]:
    drops = {"failed": 6, "ms max": 5, "rows": 7, "records": 8}
    shown = [place for place, head in enumerate(HEADS) if head != "failed" or any(one[place] for one in rows)]
    return [_column(place, drops.get(HEADS[place], 0)) for place in shown]


def _column(place: int, drop: int) -> Column:
    def cell(of: Any) -> str:
        return str(of[place])

    head = HEADS[place]
    return Column(head, cell, right=head not in ("statement", "records"), drop=drop)
