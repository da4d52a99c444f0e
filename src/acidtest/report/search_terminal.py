"""Searches in a terminal: a line a combination with its highest rate, the answer in words, and every rate offered."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from acidtest.analysis.search import Search, figures
from acidtest.report.fitted import Column, print_fitted
from acidtest.report.numbers import number
from acidtest.report.search import Line, RateLine, SearchResults, rate, rate_lines, sentences, spread
from acidtest.report.unchecked import print_unchecked

STYLES = {"higher": "green", "lower": "red"}
EVERY_RATE_MAX = 3  # combinations of which each rate is shown; the page has those of more


def print_searches(found: SearchResults, console: Console) -> None:
    """Print the table, the answers, the rates and the findings."""
    console.print()
    console.print(Text(found.title, style="bold"))
    console.print(f"Highest rate with {found.limit}", style="dim", markup=False)
    if found.lines:
        console.print()
        print_fitted(columns(found), found.lines, console)
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
            print_fitted(rate_columns(line.search), rate_lines(line.search), console)
    console.print()
    if found.base:
        console.print(f"Base (= 100): {', '.join(found.base.values())}.", style="dim", soft_wrap=True)
    if found.missing:
        console.print(found.missing, style="yellow")
    for finding in found.findings:
        console.print(Text(f"{finding.rule.name}: {finding.advice}", style="yellow" if finding.severe else ""))
    print_unchecked(found.unchecked, console)


def columns(found: SearchResults) -> list[Column]:
    """Of the table of combinations; the highest ``drop`` goes first where there is no room."""
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
            Column("base=100", lambda line: number(line.relative.value) if line.relative else "–"),
            Column("bounds", _bounds, drop=1),
            Column("against the base", _verdict, right=False, drop=2),
        ]
    clauses = found.lines[0].search.asked.limit.clauses if found.lines else ()
    shown += [
        Column(f"{clause.figure} there", lambda line, n=n: _there(line, n), drop=3)  # type: ignore[misc]
        for n, clause in enumerate(clauses)
    ]
    shown += [
        Column("knee/s", lambda line: rate(knee.rate_per_s) if (knee := line.search.knee()) else "–", drop=4),
        Column(
            "closed loop/s", lambda line: rate(line.search.closed.served_per_s if line.search.closed else None), drop=5
        ),
        Column("runs", lambda line: f"{len(line.search.taken):,}", drop=6),
        Column("ends at", lambda line: line.ends, right=False),
    ]
    return shown


def _there(line: Line, clause: int) -> str:
    return spread(figures(line.search.confirmed, clause, "confirming")) if line.search.confirmed else "–"


def _bounds(line: Line) -> str:
    one = line.relative
    if line.is_base or one is None or one.low is None or one.high is None:
        return "–"
    return f"{number(one.low)} – {number(one.high)}"


def _verdict(line: Line) -> Text:
    return Text("base" if line.is_base else line.verdict, style=STYLES.get(line.verdict, ""))


def rate_columns(search: Search) -> list[Column]:
    """Of the table of one combination's rates."""

    def said(one: RateLine) -> Text:
        return Text(one.said, style="green" if one.said.startswith("holds") else "red" if one.rate.refuted else "")

    clauses = search.asked.limit.clauses
    return [
        Column("offered/s", lambda one: one.offered),
        Column("of closed loop", lambda one: one.share, drop=4),
        Column("served/s", lambda one: one.served, drop=1),
        Column("median ms", lambda one: one.p50, drop=2),
        *(
            Column(f"{clause.figure} ms", lambda one, n=n: one.figure(n))  # type: ignore[misc]
            for n, clause in enumerate(clauses)
        ),
        Column("runs", lambda one: one.runs, drop=3),
        Column("says", said, right=False),
    ]
