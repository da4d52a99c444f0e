"""Searches in a terminal and on a page: the highest rate of each combination, the answer in words, every rate."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.text import Text

from acidtest.analysis.search.recorded import Search, figures
from acidtest.analysis.search.steps import Rate
from acidtest.journal.models import SettingInForce
from acidtest.limits import Clause
from acidtest.report import search_chart
from acidtest.report.numbers import number
from acidtest.report.page import fill
from acidtest.report.pictures import Picture
from acidtest.report.search import WHY, Line, SearchResults, answers, part_of, rate, sentences, spread
from acidtest.report.table import NOTHING, Cell, Column, Table, print_table, print_unchecked

TONES = {"higher": "faster", "lower": "slower"}
EVERY_RATE_MAX = 3  # combinations of which each rate is shown; the page has those of more


def print_searches(found: SearchResults, console: Console) -> None:
    console.print()
    console.print(Text(found.journal.header.title, style="bold"))
    console.print(f"Highest rate with {found.limit}", style="dim", markup=False)
    console.print()
    print_table(highest(found), console)
    for sentence in found.undecided:
        console.print(sentence, style="dim", markup=False)
    for line in found.lines:
        console.print()
        if len(found.lines) > 1:
            console.print(Text(line.label, style="bold"))
        for sentence in sentences(line):
            console.print(sentence, markup=False)
        if len(found.lines) <= EVERY_RATE_MAX and line.search.rates:
            console.print()
            print_table(every_rate(line.search), console)
    console.print()
    if found.base:
        console.print(f"Base (= 100): {', '.join(found.base.values())}.", style="dim", soft_wrap=True)
    if found.missing:
        console.print(found.missing, style="yellow")
    for finding in found.findings:
        console.print(Text(f"{finding.rule.name}: {finding.advice}", style="yellow" if finding.severe else ""))
    print_unchecked(found.unchecked, console)


def write_search_page(found: SearchResults, path: Path, pictures: list[Picture] | None = None) -> None:
    """Write the page to ``path``, whole or not at all; its charts are added to ``pictures``."""
    drawn = search_chart.load(found)
    fill(
        "search.html.j2",
        found.journal,
        path,
        {"load": drawn} if drawn else {},
        answers(found),
        settings=_settings(found),
        bad=[line.search.broken for line in found.lines if line.search.broken],
        missing=found.missing,
        found=found,
        highest=highest(found),
        every_rate=every_rate,
        sentences=sentences,
        pictures=pictures,
        limits_said=search_chart.limits_said(found),
    )


def _settings(found: SearchResults) -> list[tuple[str, list[SettingInForce]]]:
    def first(search: Search) -> list[SettingInForce]:
        return next((recording.settings for recording in search.recordings if recording.settings), [])

    return [(line.label, settings) for line in found.lines if (settings := first(line.search))]


def highest(found: SearchResults) -> Table:
    """Of each combination the highest rate that holds."""
    shown = [
        Column(factor, lambda line, factor=factor: line.search.levels[factor], right=False)  # type: ignore[misc]
        for factor in found.factors
    ]
    shown += [
        Column("highest/s", lambda line: rate(line.rate_per_s)),
        Column("not at", lambda line: rate(line.refuted_per_s)),
    ]
    if found.base:
        shown += [
            Column("base=100", lambda line: number(line.relative.value) if line.relative else NOTHING),
            Column("bounds", _bounds, drop=1),
            Column("against the base", _verdict, right=False, drop=2),
        ]
    clauses = found.lines[0].search.asked.limit.clauses if found.lines else ()
    shown += [
        Column(f"{clause.figure} there", lambda line, n=n: _there(line, n), drop=3)  # type: ignore[misc]
        for n, clause in enumerate(clauses)
    ]
    shown += [
        Column("knee/s", lambda line: rate(knee.rate_per_s) if (knee := line.search.knee()) else NOTHING, drop=4),
        Column(
            "closed loop/s", lambda line: rate(line.search.closed.served_per_s if line.search.closed else None), drop=5
        ),
        Column("runs", lambda line: f"{len(line.search.taken):,}", drop=6),
        Column("ends at", lambda line: line.ends, right=False),
    ]
    base = f"; base (= 100): {', '.join(found.base.values())}" if found.base else ""
    return Table(
        shown,
        found.lines,
        "beside",
        caption=f"Transactions a second that hold the limit, and the next rate that does not{base}",
    )


def _there(line: Line, clause: int) -> str:
    return spread(figures(line.search.confirmed, clause, "confirming")) if line.search.confirmed else NOTHING


def _bounds(line: Line) -> str:
    one = line.relative
    if line.is_base or one is None or one.low is None or one.high is None:
        return NOTHING
    return f"{number(one.low)} – {number(one.high)}"


def _verdict(line: Line) -> Cell:
    return Cell("base" if line.is_base else line.verdict, TONES.get(line.verdict, ""))


def every_rate(search: Search) -> Table:
    closed = search.closed.served_per_s if search.closed else 0

    def clause_column(n: int, clause: Clause) -> Column:
        return Column(f"{clause.figure} ms", lambda one: _range(figures(one, n)))

    def p50(one: Rate) -> str:
        value = median(of.run.p50_ms for of in one.taken)
        return number(value if isfinite(value) else None)

    def said(one: Rate) -> Cell:
        words = _holds(one, search.asked.rules.confirmations)
        return Cell(words, "faster" if words.startswith("holds") else "slower" if one.refuted else "")

    columns = [
        Column("offered/s", lambda one: rate(one.rate_per_s)),
        Column("of closed loop", lambda one: part_of(one.rate_per_s, closed), drop=4),
        Column("served/s", lambda one: rate(median(of.run.served_per_s for of in one.taken)), drop=1),
        Column("median ms", p50, drop=2),
        *(clause_column(n, clause) for n, clause in enumerate(search.asked.limit.clauses)),
        Column("runs", lambda one: f"{len(one.taken):,}", drop=3),
        Column("says", said, right=False),
    ]
    return Table(columns, search.rates, "beside")


def _range(values: Sequence[float]) -> str:
    if not values:
        return "unanswered"
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def _holds(one: Rate, wanted: int) -> str:
    """Whether it does, where so many confirmations are ``wanted``."""
    if one.refuted:
        return WHY[one.why or "limit"].partition(":")[0]
    if one.confirmed(wanted):
        return f"holds, {len(one.fresh):,} of {len(one.fresh):,}"
    if one.aside:
        return "held when tried again"
    if one.fresh:
        return f"held in {len(one.fresh):,} of {wanted:,}"
    return "held once" if one.clearly_holds else "near the limit"
