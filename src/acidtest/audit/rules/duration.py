"""Whether runs last long enough to say something."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acidtest.audit.bench import Bench, Published
from acidtest.audit.finding import Found, rule
from acidtest.audit.repeated import DRIVE_TOOLS, SHORT_S
from acidtest.audit.said import Seen, called, gathered

SHORT_DRIVE_S = 15.0
SHORT_WORK_S = 5.0  # of a fixed amount of work
# What a table tells in smaller units is mostly the time of one piece of many.
IN_SECONDS = re.compile(r"(?:\d|\b)s(?:ec(?:ond)?s?)?\b(?![/-])", re.IGNORECASE)
ENOUGH_RUNS = 5  # of a short piece of work say as much as one long run


@rule(
    "too-short-run",
    severity="doubtful",
    over=Bench,
    says="The run ends while connections are still made and caches filled, and before a checkpoint or a flush of what "
    "was put off.",
    remedy="Run for minutes, longer than the interval of checkpoints, after a warm-up; a drive for longer "
    "than its cache lasts.",
    disproved_by="longer runs with the same figures",
    source="PostgreSQL's manual of pgbench, Good Practices: never believe a test that runs only for a few seconds; "
    "TPC-C, clause 5.5: steady state and checkpoints within the measurement",
)
def too_short_run(bench: Bench) -> Iterator[Found]:
    if "duration" in bench.factors:
        return
    measured = [seen for one in bench.others if not one.planned and (seen := _short(one))]
    # What a script asks for is no run: it says how long runs are where none does, and is more evidence where one does.
    lasting = {one.tool for one in bench.measured if _lasts(one) or one.took_s}
    short = {seen.of.tool for seen in measured}
    plans = [one for one in bench.plans if one.tool in short or not lasting]
    yield from gathered([*measured, *(seen for one in plans if (seen := _short(one)))])


def _short(one: Published) -> Seen | None:
    if one.runs and one.runs >= ENOUGH_RUNS:
        return None
    if one.took_s is not None and not one.planned:
        if not 0 < one.took_s < SHORT_WORK_S or (one.told and not IN_SECONDS.search(one.written)):
            return None
        took = f"{one.took_s * 1000:,.3g} ms" if one.took_s < 1 else f"{one.took_s:,.3g} s"
        return Seen(one, f"{called(one)}: all of the work took {took}", (one.where.says(took),), -one.took_s)
    drive = one.tool in DRIVE_TOOLS or one.unit in ("writes", "flushes") or bool(one.bytes_per_s)
    lasting = _lasts(one)
    if one.tool == "pg_test_fsync" or not lasting:
        return None  # that one is made to run 5 s
    if not (one.rate or one.bytes_per_s or one.nopm or one.planned or one.series):
        return None
    if lasting >= (SHORT_DRIVE_S if drive else SHORT_S):
        return None
    lasts = f"{lasting:,.3g} s"
    return Seen(one, f"{called(one)}: {lasts}", (one.where.says(lasts),), -lasting)


def _lasts(one: Published) -> float:
    return one.measured_s or len(one.series) * one.interval_s
