"""What failures of storage and power tell beside verdicts: who notices, what a replica is worth, how long recovery
takes. Each is a table, and the same for programs with nothing rounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from acidtest.analysis.failures import ALONE, Outcome, Worth, noticed, worths
from acidtest.analysis.recovery import Recovered, recovered
from acidtest.analysis.summary import Summary
from acidtest.journal.models import Journal
from acidtest.report.numbers import attributes, interval, number, summary_json
from acidtest.report.table import COUNT, NOTHING, Column, Table, figure, of_levels
from acidtest.words import counted

WHYS_MAX = 4
OUTCOMES = {  # heading -> as in StorageFailure
    "noticed": "noticed",
    "by check": "by check",
    "WRONG": "silent",
    "right": "unnoticed",
    "unknown": "unknown",
}
NOTICED = (
    "Noticed: an error to a session, a refused start, a line of the log, a file system that cannot be mounted. "
    "By check: only the engine's own check says so, or the file system's, when it was asked. WRONG: sessions get what "
    "is not what was acknowledged, and nobody says so. Right: nobody notices, and what is served is right. Served: "
    "what sessions get in the end, from a medium that is read anew. A fault that struck nothing is unknown, neither "
    "noticed nor survived."
)
FAILURES = {  # heading -> what failed, and by what is left
    "cut": "primary's power",
    "lost-disk": "primary's disk",
    "both-powers": "both powers",
    "lost-link": "link, then disk",
}
WORTH = (
    "Of so many trials so many survived; in brackets what the worst one lost: acknowledged commits, and the time from "
    "the first of them to the failure. After the loss of the primary's power the primary is started again, and after "
    "all else the replica is promoted; of a Galera cluster that lost both powers the node that has more begins it. "
    "ms a commit: the median from a transaction's begin to its acknowledgement, on the simulated disks and a link "
    "within this machine."
)
RECOVERED = (
    "Medians, in the order in which the pieces follow one another: the mount of what the cut has left, and what it "
    "took longer than a mount with nothing to replay; the engine's start until it takes sessions, and what it took "
    "longer than a start with next to nothing to redo; then up to the first commit; from there to the first of three "
    "seconds none of which is slower than the slowest one before the cut. Load was driven on the same bytes once more, "
    "after the verdict."
)


def noticing(journal: Journal, varied: Sequence[str]) -> Table:
    """Who notices what storage does wrong; no rows where it did none."""
    rows = noticed(journal.recordings)
    whys = list(dict.fromkeys(why for row in rows for why in row.whys))
    more = [f"Unknown: and {len(whys) - WHYS_MAX:,} reasons more; --json has each."] if len(whys) > WHYS_MAX else []

    def outcome(head: str) -> Column:
        return Column(
            head, lambda row: f"{row.outcomes[OUTCOMES[head]]:,}" if row.outcomes[OUTCOMES[head]] else NOTHING
        )

    columns = [
        Column("trials", figure("trials", COUNT)),
        Column("struck", figure("struck", COUNT), drop=3),
        *map(outcome, OUTCOMES),
        Column("told by", figure("by", _counts), drop=2),
        Column("served", figure("served", _counts), drop=1),
    ]
    return Table(
        of_levels(varied, columns),
        rows,
        "noticing",
        "Who notices",
        explained=NOTICED,
        notes=[*(f"Unknown: {why}." for why in whys[:WHYS_MAX]), *more],
    )


def _counts(of: Mapping[str, int]) -> str:
    """``session 3, log 2``; "–" of nothing."""
    return ", ".join(f"{what} {count:,}" for what, count in of.items()) or NOTHING


def noticing_json(journal: Journal) -> list[dict[str, Any]]:
    names = ("levels", "failure", "trials", "struck", "outcomes", "by", "served", "after", "said", "whys")
    return [attributes(row, *names) for row in noticed(journal.recordings)]


def replication(journal: Journal) -> Table:
    """What a replica costs and what it is worth; no rows where no server had one."""
    rows = worths(journal.recordings)

    def survived(failure: str, drop: int) -> Column:
        return Column(FAILURES[failure], lambda row: outcome_text(row.outcomes.get(failure)), drop=drop)

    had = [failure for failure in FAILURES if any(failure in row.outcomes for row in rows)]
    columns = [
        Column("replication", figure("mode", str), right=False),
        Column("ms a commit", figure("commit_ms")),
        *(survived(failure, drop) for drop, failure in enumerate(had)),
    ]
    means = [f"{row.levels.get('engine', '')}, {row.mode}: {row.means}." for row in rows if row.mode != ALONE]
    gave_up = [
        f"{row.levels.get('engine', '')}, {row.mode}: commits went on without the replica when it did not answer in "
        f"time, in {counted(outcome.gave_up, 'trial')}: from then on replication was asynchronous."
        for row in rows
        for outcome in row.outcomes.values()
        if outcome.gave_up
    ]
    return Table(
        of_levels(_apart(rows), columns),
        rows,
        "replication",
        "What a commit costs, and what survives",
        explained=WORTH,
        notes=[*dict.fromkeys(means), *gave_up],
    )


def outcome_text(outcome: Outcome | None) -> str:
    """``18 of 20 (12, 4.1 ms)``; "–" where it was not tried."""
    if outcome is None:
        return NOTHING
    survived = f"{outcome.survived:,} of {outcome.cuts:,}"
    if not outcome.lost_commits_worst:
        return survived
    ms = outcome.lost_ms_worst
    time = "" if ms is None else f", {number(ms)} ms" if ms < 1000 else f", {number(ms / 1000)} s"
    return f"{survived} ({outcome.lost_commits_worst:,}{time})"


def _apart(rows: Sequence[Worth]) -> list[str]:
    """Factors that tell the rows apart, without those that only say the mode."""
    names = []
    for factor in rows[0].levels if rows else ():
        levels = {row.levels[factor] for row in rows}
        pairs = {(row.levels[factor], row.mode) for row in rows}
        says_mode = len(pairs) == len(levels) == len({row.mode for row in rows})
        if len(levels) > 1 and not says_mode:
            names.append(factor)
    return names


def replication_json(journal: Journal) -> list[dict[str, Any]]:
    names = ("cuts", "survived", "lost", "unannounced", "lost_commits", "lost_ms", "looked_on", "gave_up")
    return [
        {
            "levels": dict(row.levels),
            "replication": row.mode,
            "means": row.means or None,
            "commit_ms": row.commit_ms,
            "failures": {failure: attributes(outcome, *names) for failure, outcome in row.outcomes.items()},
        }
        for row in worths(journal.recordings)
    ]


def recovery(journal: Journal, varied: Sequence[str]) -> Table:
    """How long recovery takes, piece by piece; no rows where none was timed."""
    rows = recovered(journal.recordings)
    whys: dict[str, list[str]] = defaultdict(list)  # what is the same but for a figure
    for row in rows:
        for why in row.whys:
            whys[why.partition(":")[0]].append(why)

    columns = [
        Column("mount s", figure("mount_s", _piece)),
        Column("of it replay", figure("replay_s", _piece), drop=2),
        Column("start s", figure("start_s", _piece)),
        Column("of it redo", figure("redo_s", _piece), drop=2),
        Column("first commit s", figure("first_commit_s", _piece), drop=1),
        Column("full speed s", _full_speed),
        Column("commits/s before", figure("before_per_s"), drop=3),
    ]
    return Table(
        of_levels(varied, columns),
        rows,
        "recovery",
        "Recovery, piece by piece",
        explained=RECOVERED,
        notes=[
            f"Missing: {of[0]}." if len(set(of)) == 1 else f"Missing: {kind} ({counted(len(of), 'cut')})."
            for kind, of in whys.items()
        ],
    )


def _piece(summary: Summary) -> str:
    if summary.median is None:
        return NOTHING
    within = counted(summary.n, "run") if summary.interval is None else interval(summary)
    return f"{number(summary.median)} ({within})"


def _full_speed(row: Recovered) -> str:
    """The median, or why there is none; how many came to full speed, where not all did."""
    if not row.told:
        return "cannot tell"
    some = f" ({row.back} of {row.told})" if row.back < row.told else ""
    if row.full_speed_s is None:
        return f"not in {row.limit_s:.0f} s{some if row.back else ''}"
    return f"{number(row.full_speed_s)}{some}"


def recovery_json(journal: Journal) -> list[dict[str, Any]]:
    pieces = ("mount_s", "replay_s", "start_s", "redo_s", "first_commit_s")
    names = ("recoveries", "full_speed_s", "told", "back", "limit_s", "before_per_s", "whys")
    return [
        {"levels": row.levels} | {name: summary_json(getattr(row, name)) for name in pieces} | attributes(row, *names)
        for row in recovered(journal.recordings)
    ]
