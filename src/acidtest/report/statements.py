"""What an engine's own trace told of each statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.console import Console
from rich.text import Text

from acidtest.journal.models import TracedStatement, TracedStatements
from acidtest.report.numbers import number
from acidtest.report.table import Column, Table, print_table
from acidtest.words import counted

SHOWN = 20  # in a terminal; JSON and recording have all
TEXT_SHOWN = 60  # characters of a statement
EXPLAINED = (
    "ms: of all together and of the longest, each rounded down to whole milliseconds by the engine; the figures "
    "behind them: each time, on average."
)
RECORDS = ("seq_reads", "idx_reads", "inserts", "updates", "deletes")


def short(statement: TracedStatement, most: int = TEXT_SHOWN) -> str:
    """Its text on one line, cut where it is long; its kind where it has none."""
    text = " ".join(statement.text.split())
    return statement.kind or (text if len(text) <= most else f"{text[: most - 1]}…") or "(no text)"


def _records(statement: TracedStatement) -> str:
    """What it did with records, each time on average."""
    each = [(name, getattr(statement, f"record_{name}") / max(1, statement.count)) for name in RECORDS]
    words = {"seq_reads": "read in sequence", "idx_reads": "read by index", "inserts": "inserted",
             "updates": "updated", "deletes": "deleted"}  # fmt: skip
    return ", ".join(f"{number(figure)} {words[name]}" for name, figure in each if figure)


def table(of: Sequence[TracedStatement], most: int = TEXT_SHOWN) -> Table:
    """A row for each statement: how often, milliseconds in all and at most; then of each time the rest."""

    def each(name: str, drop: int = 0) -> Column:
        return Column(name, lambda one: number(getattr(one, name) / max(1, one.count)), drop=drop)

    failed: Literal["", "page"] = "" if any(statement.failed for statement in of) else "page"
    columns = [
        Column("statement", lambda one: short(one, most), right=False),
        Column("times", lambda one: f"{one.count:,}"),
        Column("failed", lambda one: f"{one.failed:,}" if one.failed else "", drop=6, only=failed),
        Column("ms", lambda one: f"{one.ms:,}"),
        Column("ms max", lambda one: f"{one.ms_max:,}", drop=5),
        *map(each, ("reads", "writes", "fetches", "marks")),
        each("rows", 7),
        Column("records", _records, right=False, drop=8),
    ]
    return Table(columns, of, "statements", explained=EXPLAINED)


def trace_summary(traced: TracedStatements) -> str:
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


def print_statements(traced: TracedStatements, console: Console) -> None:
    """A row for each statement, the one that took longest first."""
    console.print()
    console.print(Text(trace_summary(traced), style="yellow" if traced.lost or traced.not_traced else ""))
    print_table(table(traced.statements[:SHOWN]), console, "the recording and --json have all")
    if (more := len(traced.statements) - SHOWN) > 0:
        console.print(f"{counted(more, 'more statement is', 'more statements are')} in the recording.", style="dim")
