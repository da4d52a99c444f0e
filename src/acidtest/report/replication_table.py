"""What a replica costs and what it is worth, in one table: in the terminal, on the page, and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from acidtest.analysis.replicas import ALONE, Outcome, Worth, worths
from acidtest.journal.models import Journal
from acidtest.report.fitted import Column, print_combinations
from acidtest.report.numbers import number
from acidtest.report.pivot import short
from acidtest.words import counted

TITLE = "What a commit costs, and what survives"
MODE, PRICE = "replication", "ms a commit"
FAILURES = {  # heading -> what failed, and by what is left
    "cut": "primary's power",
    "lost-disk": "primary's disk",
    "both-powers": "both powers",
    "lost-link": "link, then disk",
}
EXPLAINED = (
    "Of so many trials so many survived; in brackets what the worst one lost: acknowledged commits, and the time from "
    "the first of them to the failure. After the loss of the primary's power the primary is started again, and after "
    "all else the replica is promoted; of a Galera cluster that lost both powers the node that has more begins it. "
    "ms a commit: the median from a transaction's begin to its acknowledgement, on the simulated disks and a link "
    "within this machine."
)


def failures_of(rows: Sequence[Worth]) -> list[str]:
    """Those that some row had, in the order of ``FAILURES``."""
    had = {failure for row in rows for failure in row.outcomes}
    return [failure for failure in FAILURES if failure in had]


def outcome_text(outcome: Outcome | None) -> str:
    """``18 of 20 (12, 4.1 ms)``; "–" where it was not tried."""
    if outcome is None:
        return "–"
    told = f"{outcome.survived:,} of {outcome.cuts:,}"
    if not outcome.lost_commits_worst:
        return told
    ms = outcome.lost_ms_worst
    time = "" if ms is None else f", {number(ms)} ms" if ms < 1000 else f", {number(ms / 1000)} s"
    return f"{told} ({outcome.lost_commits_worst:,}{time})"


def varied_of(rows: Sequence[Worth]) -> list[str]:
    """Factors that tell the rows apart, without those that only say the mode."""
    names = []
    for factor in rows[0].levels if rows else ():
        levels = {row.levels[factor] for row in rows}
        pairs = {(row.levels[factor], row.mode) for row in rows}
        says_mode = len(pairs) == len(levels) == len({row.mode for row in rows})
        if len(levels) > 1 and not says_mode:
            names.append(factor)
    return names


def print_replication(journal: Journal, console: Console) -> None:
    """Nothing where no server had a replica."""
    rows = worths(journal.recordings)
    if not rows:
        return
    columns = [Column(MODE, lambda row: row.mode, right=False), Column(PRICE, lambda row: number(row.commit_ms))]
    for drop, failure in enumerate(failures_of(rows)):
        text = lambda row, failure=failure: outcome_text(row.outcomes.get(failure))  # noqa: E731
        columns.append(Column(FAILURES[failure], text, drop=drop))
    print_combinations(TITLE, varied_of(rows), columns, rows, EXPLAINED, notes(rows), console)


def notes(rows: Sequence[Worth]) -> list[str]:
    """What each mode is in an engine's own words, and where commits stopped waiting."""
    means: dict[str, None] = {}
    for row in rows:
        if row.mode != ALONE:
            means[f"{row.levels.get('engine', '')}, {row.mode}: {row.means}."] = None
    gave_up = [
        f"{row.levels.get('engine', '')}, {row.mode}: commits went on without the replica when it did not answer in "
        f"time, in {counted(outcome.gave_up, 'trial')}: from then on replication was asynchronous."
        for row in rows
        for outcome in row.outcomes.values()
        if outcome.gave_up
    ]
    return [*means, *gave_up]


def page_replication(journal: Journal) -> dict[str, Any]:
    """What ``replication.html.j2`` shows."""
    rows = worths(journal.recordings)
    failures = failures_of(rows)
    return {
        "worths": [(row, [outcome_text(row.outcomes.get(failure)) for failure in failures]) for row in rows],
        "worth_factors": varied_of(rows),
        "worth_heads": [*map(short, varied_of(rows)), MODE],
        "worth_columns": [PRICE, *(FAILURES[failure] for failure in failures)],
        "worth_title": TITLE,
        "worth_explained": EXPLAINED,
        "worth_notes": notes(rows),
    }


def replication_json(journal: Journal) -> list[dict[str, Any]]:
    """For programs: nothing is rounded."""
    plain = ("cuts", "survived", "lost", "unannounced", "lost_commits", "lost_ms", "looked_on", "gave_up")
    return [
        {
            "levels": dict(row.levels),
            "replication": row.mode,
            "means": row.means or None,
            "commit_ms": row.commit_ms,
            "failures": {
                failure: {name: getattr(outcome, name) for name in plain} for failure, outcome in row.outcomes.items()
            },
        }
        for row in worths(journal.recordings)
    ]
