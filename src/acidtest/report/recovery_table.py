"""How long recovery takes, piece by piece: a table in the terminal and on pages, and for programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from acidtest.analysis.recovered import Recovered, recovered
from acidtest.analysis.summary import Summary
from acidtest.journal.models import Journal
from acidtest.report.fitted import Column, print_combinations
from acidtest.report.numbers import interval, number, summary_json
from acidtest.words import counted

TITLE = "Recovery, piece by piece"
COLUMNS = ("mount s", "of it replay", "start s", "of it redo", "first commit s", "full speed s", "commits/s before")
DROPPED = (0, 2, 0, 2, 1, 0, 3)  # as of ``fitted.Column``
EXPLAINED = (
    "Medians, in the order in which the pieces follow one another: the mount of what the cut has left, and what it "
    "took longer than a mount with nothing to replay; the engine's start until it takes sessions, and what it took "
    "longer than a start with next to nothing to redo; then up to the first commit; from there to the first of three "
    "seconds none of which is slower than the slowest one before the cut. Load was driven on the same bytes once more, "
    "after the verdict."
)


def full_speed(row: Recovered) -> str:
    """The median, or why there is none; how many came to full speed, where not all did."""
    if not row.told:
        return "cannot tell"
    some = f" ({row.back} of {row.told})" if row.back < row.told else ""
    if row.full_speed_s is None:
        return f"not in {row.limit_s:.0f} s{some if row.back else ''}"
    return f"{number(row.full_speed_s)}{some}"


def cells(row: Recovered) -> list[str]:
    """In the order of ``COLUMNS``."""

    def told(summary: Summary) -> str:
        if summary.median is None:
            return "–"
        within = counted(summary.n, "run") if summary.interval is None else interval(summary)
        return f"{number(summary.median)} ({within})"

    pieces = (row.mount_s, row.replay_s, row.start_s, row.redo_s, row.first_commit_s)
    return [*map(told, pieces), full_speed(row), number(row.before_per_s)]


def print_recovery(journal: Journal, varied: Sequence[str], console: Console) -> None:
    """Nothing where no recovery was timed."""
    rows = recovered(journal.recordings)
    if not rows:
        return
    columns = [
        Column(head, lambda row, at=at: cells(row)[at], drop=drop)  # type: ignore[misc]
        for at, (head, drop) in enumerate(zip(COLUMNS, DROPPED, strict=True))
    ]
    print_combinations(TITLE, varied, columns, rows, EXPLAINED, notes(rows), console)


def notes(rows: Sequence[Recovered]) -> list[str]:
    """Why pieces are missing, each once: of what is the same but for a figure how often."""
    whys: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for why in row.whys:
            whys[why.partition(":")[0]].append(why)
    return [
        f"Missing: {of[0]}." if len(set(of)) == 1 else f"Missing: {kind} ({counted(len(of), 'cut')})."
        for kind, of in whys.items()
    ]


def page_recovery(journal: Journal) -> dict[str, Any]:
    """What ``recovery.html.j2`` shows."""
    rows = recovered(journal.recordings)
    return {
        "recoveries": [(row, cells(row)) for row in rows],
        "recovery_columns": COLUMNS,
        "recovery_explained": EXPLAINED,
        "recovery_notes": notes(rows),
    }


def recovery_json(journal: Journal) -> list[dict[str, Any]]:
    """For programs: nothing is rounded."""
    pieces = ("mount_s", "replay_s", "start_s", "redo_s", "first_commit_s")
    plain = ("recoveries", "full_speed_s", "told", "back", "limit_s", "before_per_s", "whys")
    return [
        {"levels": row.levels}
        | {name: summary_json(getattr(row, name)) for name in pieces}
        | {name: getattr(row, name) for name in plain}
        for row in recovered(journal.recordings)
    ]
