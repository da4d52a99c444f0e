"""Speed, calls and survival of each row side by side: the columns of the table, and the picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from acidtest.analysis.calls import CommitCalls
from acidtest.analysis.commit_cost import APART, CommitCost
from acidtest.analysis.summary import median
from acidtest.journal.models import NOT_APPLICABLE
from acidtest.report import charts
from acidtest.report.numbers import number
from acidtest.report.survival_table import worst_text
from acidtest.report.vega import Chart
from acidtest.workload import transactions


@dataclass(frozen=True)
class Column:
    head: str
    text: Callable[[CommitCost], str]
    drop: int = 0  # as of ``fitted.Column``


def varied(costs: Sequence[CommitCost]) -> list[str]:
    """Factors that tell the rows apart; the workload only where several are timed."""
    names = [f for f in costs[0].row.levels if f == "workload" or f not in APART] if costs else []
    return [f for f in names if len({cost.row.levels[f] for cost in costs}) > 1] or ["engine", "durability"]


def name(cost: CommitCost, factors: Sequence[str]) -> str:
    return ", ".join(level for f in factors if (level := cost.row.levels[f]) != NOT_APPLICABLE)


def columns(costs: Sequence[CommitCost]) -> list[Column]:
    """Those that some row has a figure for. Speeds are medians of the repetitions."""
    shown: list[Column] = []
    if any(cost.row.by_count for cost in costs):
        shown.append(Column(_seconds_head(costs), lambda p: number(p.seconds)))
    shown.append(Column("commits/s", lambda p: number(median(p.row.goodput_per_s())), drop=2))
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
        (name(cost, factors), replace(cut, speeds=tuple((cut.verdict, rate) for rate in cost.row.goodput_per_s())))
        for cost in costs
        if (cut := cost.survival) is not None
    ]
    return charts.survival(named, "commits/s")
