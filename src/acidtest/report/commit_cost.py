"""Speed, calls and survival of each row side by side: the table, and the picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from acidtest.analysis.calls import CommitCalls
from acidtest.analysis.commit_cost import APART, CommitCost, is_watched
from acidtest.analysis.pairs import levels_text
from acidtest.analysis.summary import median
from acidtest.report import charts
from acidtest.report.numbers import number
from acidtest.report.survival_table import verdict, worst_text
from acidtest.report.table import NOTHING, Cell, Column, Table, of_levels
from acidtest.report.vega import Chart
from acidtest.workload import transactions

TRACED = "writes, flushes and the time in them: of one commit, as acidtest trace counts them."
SLOWED = " Rates and seconds are of runs that were watched, which are slower than others: acidtest run measures them."


def varied(costs: Sequence[CommitCost]) -> list[str]:
    """Factors that tell the rows apart; the workload only where several are timed."""
    names = [f for f in costs[0].row.levels if f == "workload" or f not in APART] if costs else []
    return [f for f in names if len({cost.row.levels[f] for cost in costs}) > 1] or ["engine", "durability"]


def _columns(costs: Sequence[CommitCost]) -> list[Column]:
    """Those that some row has a figure for. Speeds are medians of the repetitions."""
    shown: list[Column] = []
    if any(cost.row.by_count for cost in costs):
        shown.append(Column(_seconds_head(costs), lambda p: number(p.seconds)))
    shown.append(Column("commits/s", lambda p: number(median(p.row.goodput_per_s)), drop=2))
    if any(cost.calls for cost in costs):
        shown += [
            Column("writes", lambda p: _of(p.calls, lambda calls: number(calls.writes))),
            Column("flushes", lambda p: _of(p.calls, lambda calls: number(calls.flushes))),
            Column("ms in flushes", lambda p: _of(p.calls, lambda calls: number(calls.flush_us / 1e3)), drop=3),
        ]
    if any(cost.survival for cost in costs):
        shown += [
            Column("survived", lambda p: p.survival.survived_of if p.survival else "not cut"),
            Column("worst loss", lambda p: worst_text(p.survival) if p.survival else "–", drop=1),
        ]
    return shown


def table(costs: Sequence[CommitCost]) -> Table:
    """Without rows where nothing stands beside the speeds."""
    cut, watched = any(cost.survival for cost in costs), any(cost.calls for cost in costs)
    columns = _columns(costs)
    if cut:
        columns += [
            Column("power cuts", lambda of: verdict(of.survival) if of.survival else "", right=False, only="terminal"),
            Column("power cuts", _verdict_on_page, right=False, only="page"),
        ]
    slowed = SLOWED if any(is_watched(cost.row) for cost in costs) else ""
    explained = f"Speeds are medians of the runs.{slowed}"
    if watched:
        explained += (
            " Writes, flushes and the time in them are what the engine asked of the operating system for one commit, "
            "in a run that was watched; “≥” where events were lost."
        )
    if cut:
        explained += (
            " “Survived” counts the power cuts of the same levels: their commits are those of the workload numbered, "
            "which can be found again."
        )
    return Table(
        of_levels(varied(costs), columns, lambda cost: cost.row.levels),
        costs,
        "commit-cost",
        f"What a commit costs{', and what it is worth' if cut else ''}",
        explained=f"{TRACED}{slowed}" if watched else "",
        page_explained=explained,
    )


def _verdict_on_page(cost: CommitCost) -> Cell:
    return Cell(cost.survival.verdict, cost.survival.verdict) if cost.survival else Cell(NOTHING)


def _seconds_head(costs: Sequence[CommitCost]) -> str:
    counted = {cost.row.first.workload.get("count") for cost in costs if cost.row.by_count}
    called = {transactions(str(cost.row.first.workload.get("kind"))) for cost in costs if cost.row.by_count}
    what = called.pop() if len(called) == 1 else "commits"
    return f"s per {counted.pop():,} {what}" if len(counted) == 1 else "run s"


def _of(calls: CommitCalls | None, text: Callable[[CommitCalls], str]) -> str:
    if calls is None:
        return "–"
    return f"{'≥ ' if calls.dropped else ''}{text(calls)}"


def picture(costs: Sequence[CommitCost]) -> Chart | None:
    """Of those that were both timed and cut, each repetition in the colour of the verdict."""
    factors = varied(costs)
    named = [
        (
            levels_text(cost.row.levels, factors),
            replace(cut, speeds=tuple((cut.verdict, rate) for rate in cost.row.goodput_per_s)),
        )
        for cost in costs
        if (cut := cost.survival) is not None
    ]
    return charts.survival(named, "commits/s")
