"""What a commit costs and what it is worth: a row's speed, its calls, and what its commits survived, put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from acidtest.analysis.calls import CommitCalls, of_commits
from acidtest.analysis.samples import Row
from acidtest.analysis.summary import median
from acidtest.analysis.survival import Survival

APART = ("workload", "observe")  # in these the parts of a cost differ: how commits are timed, watched and cut


@dataclass(frozen=True)
class CommitCost:
    """Rows and power cuts that agree in all levels but those ``APART``."""

    row: Row  # its speed; not watched, where there is one that was not
    calls: CommitCalls | None  # None where nobody watched
    survival: Survival | None  # None where no power was cut

    @property
    def seconds(self) -> float | None:
        return median(self.row.seconds) if self.row.by_count else None

    @property
    def levels(self) -> Mapping[str, str]:
        return {factor: level for factor, level in self.row.levels.items() if factor not in APART}


def commit_costs(rows: Sequence[Row], cuts: Iterable[Survival]) -> list[CommitCost]:
    """One for each row that was timed, in order; none where nothing stands beside the speeds."""
    survivals = {_alike(cut.levels): cut for cut in cuts}
    watched: dict[tuple[object, ...], Row] = {}
    for row in rows:
        if is_watched(row):
            watched.setdefault(_same(row), row)
    timed = {_same(row) for row in rows if not is_watched(row)}
    costs = []
    for row in rows:
        if is_watched(row) and _same(row) in timed:
            continue
        calls = calls_of(watched[_same(row)]) if _same(row) in watched else None
        costs.append(CommitCost(row, calls, survivals.get(_alike(row.levels))))
    return costs if any(cost.calls or cost.survival for cost in costs) else []


def calls_of(row: Row) -> CommitCalls | None:
    """What a commit of ``row`` asked for; None where nobody watched."""
    return of_commits([(one.known_as, one.calls) for one in row.done if one.calls])


def _alike(levels: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset((factor, level) for factor, level in levels.items() if factor not in APART)


def _same(row: Row) -> tuple[object, ...]:
    """Equal for rows that do the same, whatever their workload is called."""
    return _alike(row.levels), row.first.workload.get("kind"), row.guest


def is_watched(row: Row) -> bool:
    """Whether its calls were watched, which makes it slower."""
    return bool(row.first.workload.get("observe"))
