"""Verdicts on differences: tables of comparisons and of factors, which difference would have been noticed, and why
some rows cannot tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acidtest.analysis import power
from acidtest.analysis.compare import Comparison, Judged
from acidtest.analysis.effects import Effect
from acidtest.report.line import name_of
from acidtest.report.numbers import interval, lower_by, number, percent
from acidtest.report.results import Results
from acidtest.report.results import Table as Measured
from acidtest.report.table import NOTHING, Cell, Column, Table, short
from acidtest.words import counted

REASONS_MAX = 3


def explained(judged: Iterable[Judged | None]) -> list[str]:
    """Sentences about the verdicts that name no winner; none where each does."""
    known = [one for one in judged if one is not None]
    said = []
    none = [one.smallest_ratio for one in known if one.verdict == "no difference shown" and one.smallest_ratio]
    if none:
        said.append(f"No difference shown: {found(none)} {power.NOTICED}.")
    reasons = list(dict.fromkeys(one.reason for one in known if one.verdict == "cannot tell"))
    if reasons:
        more = counted(len(reasons) - REASONS_MAX, "other reason")
        shown = [*reasons[:REASONS_MAX], *([f"{more} in --json"] if len(reasons) > REASONS_MAX else [])]
        said.append(f"Cannot tell: {'; '.join(shown)}.")
    return said


def found(ratios: Sequence[float]) -> str:
    """``a rate 12 % lower``, or of several rows ``a rate 8 to 14 % lower, by row``."""
    least, most = (f"{100 * (1 - ratio):.2g}" for ratio in (max(ratios), min(ratios)))
    if least == most or max(ratios) > 0.999:
        return power.in_words(min(ratios))
    return f"a rate {least} to {most} % lower, by row,"


def comparisons(made: Sequence[Comparison], factors: Sequence[str]) -> Table:
    """Every comparison that was made, of rows that are distinguished by ``factors``."""

    def verdict(one: Comparison) -> Cell:
        return Cell(one.verdict, one.verdict if one.verdict in ("faster", "slower") else "soft", one.reason)

    columns = [
        Column("row", lambda one: name_of(one.row, factors), right=False),
        Column("against", lambda one: name_of(one.against, factors), right=False, typed=True),
        Column("differ in", lambda one: ", ".join(one.factors), right=False),
        Column("ratio (= 100)", lambda one: percent(one.ratio)),
        Column("95 %", lambda one: interval(one.ratio, 100)),
        Column("effect", lambda one: NOTHING if one.cliffs_delta is None else f"{one.cliffs_delta:+.2f}"),
        Column("p, corrected", _p),
        Column("would find", lambda one: lower_by(one.smallest_ratio)),
        Column("verdict", verdict, right=False),
    ]
    return Table(columns, made)


def effects(results: Results, measured: Measured) -> Table:
    """What the factors do. A level has the numbers of the warnings that all of its rows have, and not every row."""

    def level(one: Effect, name: str) -> Cell:
        return Cell(name, marks=results.notes_of_level(measured, one.factor, name))

    def matters(one: Effect) -> Cell:
        return Cell(one.verdict, "strong" if one.verdict == "matters" else "soft")

    columns = [
        Column("factor", lambda one: short(one.factor), right=False, only="terminal"),
        Column("factor", lambda one: one.factor, right=False, only="page"),
        Column("best", lambda one: level(one, one.best), right=False),
        Column("worst", lambda one: level(one, one.worst), right=False),
        Column("times", lambda one: number(one.ratio.median), only="terminal"),
        Column("times as fast", lambda one: Cell(number(one.ratio.median), "strong"), only="page"),
        Column("95 %", lambda one: Cell(interval(one.ratio), why=one.ratio.reason or "")),
        Column("from – to", lambda one: f"{number(one.least)} – {number(one.most)}", drop=1),
        Column("pairs", lambda one: str(one.contexts), drop=2),
        Column("p, corrected", _p, only="page"),
        Column("would find", lambda one: lower_by(one.smallest_ratio), only="page"),
        Column("verdict", matters, right=False),
    ]
    explained = (
        "For each factor its best level over its worst, averaged over the pairs of rows that differ in nothing else; "
        "from – to are the pairs' own ratios. A factor matters when both the interval and a permutation test, with "
        "Holm's correction over the factors, show it. Would find: by how much slower the worst level must be for that "
        "to be shown in four of five such experiments; where not even a halving would be, the runs cannot tell."
    )
    return Table(
        columns, measured.effects, "effects", "What the factors do", "best over worst level", page_explained=explained
    )


def _p(one: Comparison | Effect) -> str:
    return NOTHING if one.p_corrected is None else f"{one.p_corrected:.4f}"
