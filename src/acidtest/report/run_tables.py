"""The tables of one workload of a run: what was measured, kinds of transactions, and what was counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from acidtest.analysis.summary import median
from acidtest.report import growth_tables, operations, sizes
from acidtest.report.line import COUNTED, Line
from acidtest.report.numbers import interval, number, percent
from acidtest.report.results import Results
from acidtest.report.results import Table as Measured
from acidtest.report.shapes import kind_columns
from acidtest.report.table import NOTHING, Cell, Column, Table, short

CALLED = {"reads": "Reads of the whole table", "operations": "Operations"}


def measured(results: Results, of: Measured) -> Table:
    """Every row with its rate and its latency. Warnings stand as small numbers beside the figure that they concern."""
    based = bool(results.base)

    def marks(line: Line, *, latency: bool) -> dict[int, str]:
        notes = {n: results.note(n) for n in line.notes}
        return {n: note.text for n, note in notes.items() if (note.about == "latency") is latency}

    def rate(line: Line) -> Cell:
        return Cell(number(line.goodput.median), marks=marks(line, latency=False))

    def rate_on_page(line: Line) -> Cell:
        return replace(rate(line), tone="strong") if line.row.done else Cell("no result", "bad")

    def factor(name: str) -> list[Column]:
        terminal = Column(
            short(name), lambda line: line.levels[name], right=False, typed=name == "engine", only="terminal"
        )
        return [terminal, replace(terminal, head=name, typed=True, only="page")]

    def latency(place: int, name: str, drop: int = 0) -> Column:
        def cell(line: Line) -> Cell:
            one = line.percentiles[place]
            beside = marks(line, latency=True) if name == "p99" and line.row.done else {}
            return Cell(number(one.value_ms), why=one.reason or "", marks=beside)

        return Column(f"{name} ms", cell, drop=drop, only="" if drop else "page")

    lines = of.lines
    factors = [column for name in of.factors for column in factor(name)]
    columns = factors or [Column("row", lambda _: "all", right=False, only="terminal")]
    columns += [
        Column("runs", lambda line: str(len(line.row.done)), only="page"),
        Column(f"{of.counted}/s", rate, only="terminal"),
        Column(f"{of.counted}/s", rate_on_page, only="page"),
        Column("95 %", lambda line: interval(line.goodput), drop=5, only="" if _any_interval(lines) else "page"),
    ]
    if any(line.new_order_per_min is not None for line in lines):
        columns.append(Column("new-order/min", lambda line: number(line.new_order_per_min), drop=3))
    if of.counted == "reads":
        columns.append(Column("MB/s", lambda line: number(line.reads.mb_per_s if line.reads else None)))
        columns.append(Column("s a read", lambda line: number(line.reads.seconds if line.reads else None), drop=3))
    operated = operations.columns(lines)
    columns += operated
    if based:
        columns += [
            Column("base=100", lambda line: Cell(percent(line.relative), "strong")),
            Column("95 %", lambda line: NOTHING if line.is_base else interval(line.relative, 100), only="page"),
            Column("against the base", _verdict, right=False, only="page"),
        ]
    sized: list[Column] = []
    if not operated:  # of operations there are few, and each stands there in seconds
        if any(line.seconds is not None for line in lines):
            columns.append(Column("run s", lambda line: number(line.seconds), drop=7, only="terminal"))
        names = [one.name for one in lines[0].percentiles]
        dropped = {0: 4, 2: 2, len(names) - 1: 6}
        columns += [latency(place, name, dropped.get(place, 0)) for place, name in enumerate(names)]
        sized = sizes.columns(lines, database=of.growth is None)
        columns += sized
    if based:
        columns.append(Column("against the base", _verdict, right=False, drop=1, only="terminal"))
    base = f"; base (= 100): {', '.join(results.base.values())}" if based else ""
    return Table(
        columns,
        lines,
        "results",
        caption=f"{CALLED.get(of.counted, 'Committed transactions')} a second{base}",
        page_explained=operations.EXPLAINED if operated else sizes.EXPLAINED if sized else "",
    )


def growing(results: Results, of: Measured) -> Table:
    """The same of databases that grow, with each one's size and load."""
    at = {id(one.row): one for one in of.growth.sizes} if of.growth else {}
    table = measured(results, of)
    here = next(n for n, column in enumerate(table.columns) if column.head == f"{of.counted}/s")

    def beside(column: Column) -> Column:
        return replace(column, cell=lambda line: column.cell(at[id(line.row)]))

    measured_too = map(beside, growth_tables.in_terminal(list(at.values())))
    return replace(table, columns=[*table.columns[:here], *measured_too, *table.columns[here:]])


def _any_interval(lines: Sequence[Line]) -> bool:
    return any(line.goodput.interval for line in lines)


def _verdict(line: Line) -> Cell:
    if not line.row.done:
        return Cell("no result", "bad")
    said = "base" if line.is_base else line.verdict
    reason = line.against_base.reason if line.against_base else ""
    return Cell(said, said if said in ("faster", "slower") else "" if said == "no difference shown" else "soft", reason)


def kinds(lines: Sequence[Line]) -> Table:
    """What became of each kind of transactions."""
    rows = [(line, kind) for line in lines for kind in line.kinds]
    limited = any(kind.limit_ms is not None for _, kind in rows)
    columns = [
        Column("row", lambda of: of[0].label if of[1] is of[0].kinds[0] else "", right=False, only="terminal"),
        Column("row", lambda of: of[0].label, right=False, only="page"),
        *kind_columns(lambda of: of[1]),
    ]
    if limited:
        columns += [
            Column("limit ms", lambda of: f"{of[1].limit_ms:,.0f}" if of[1].limit_ms else NOTHING),
            Column("kept", _kept, right=False, only="terminal"),
            Column("limit kept", _kept, right=False, only="page"),
        ]
    beside = " The 90th percentile stands beside the time in which nine of ten must be answered."
    return Table(
        columns,
        rows,
        "kinds",
        page_title="Kinds of transactions",
        page_explained=f"Counts are of all repetitions.{beside if limited else ''}",
    )


def _kept(of: Any) -> Cell:
    kept = of[1].limit_kept
    return Cell({True: "yes", False: "no", None: NOTHING}[kept], "bad" if kept is False else "")


def _classes(line: Line) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in line.classes.items()) or NOTHING


def counts(lines: Sequence[Line]) -> Table:
    """What was counted, and what the generator took for itself."""

    def count(name: str, *, terminal: bool) -> Column:
        return Column(name.replace("_", " "), lambda line: f"{line.counts[name]:,}", only="" if terminal else "page")

    def arrived(head: str, name: str) -> Column:
        return Column(head, lambda line: f"{line.arrivals[name]:,}" if line.arrivals else NOTHING, only="page")

    columns = [
        Column("row", lambda line: line.label, right=False),
        Column("run s", lambda line: number(median(line.row.seconds())), only="page"),
        Column("attempts/s", lambda line: number(line.throughput_per_s), only="page"),
        *(count(name, terminal=name not in ("committed", "rolled_back")) for name in COUNTED),
        Column(
            "refused or failed as",
            lambda line: (
                ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in line.classes.items()) or NOTHING
            ),
            right=False,
        ),
        arrived("arrivals", "scheduled"),
        arrived("late", "late"),
        arrived("unfinished", "unfinished"),
        Column("threads", lambda line: str(line.threads or NOTHING), only="page"),
        Column("generator µs", lambda line: number(line.generator_us), only="page"),
        Column("session µs", lambda line: number(line.session_us), only="page"),
    ]
    explained = (
        "Counts are of all repetitions. Run, attempts, generator and session are medians: the length of a run, the "
        "attempts that ended in a second whether committed or not, the processor time that the load generator itself "
        "takes for one transaction, and that of the calls to the engine (embedded: the engine's work)."
    )
    return Table(columns, lines, page_explained=explained)
