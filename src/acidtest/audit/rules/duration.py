"""Whether runs last long enough to say something."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from acidtest.audit.bench import Bench, Published
from acidtest.audit.repeated import DRIVE_TOOLS, SHORT_S
from acidtest.audit.result_text import Seen, called, gathered, over_results, rate
from acidtest.finding import Found, rule
from acidtest.formats import linear

SHORT_DRIVE_S = 15.0
SHORT_WORK_S = 5.0  # of a fixed amount of work
# What a table tells in smaller units is mostly the time of one piece of many.
IN_SECONDS = re.compile(r"(?:\d|\b)s(?:ec(?:ond)?s?)?\b(?![/-])", re.IGNORECASE)
TOTAL = re.compile(r"\b(?:totals?|overall|altogether)\b", re.IGNORECASE)
DIGITS = re.compile(r"\d+(?:[.,:]\d+)*")
# What is done before or after something is measured.
STEP = linear.compile(
    r"\b(?:creat(?:e|ing|ion of) (?:the )?(?:table|schema|database|index|extension)|"
    r"(?:build|add|drop)\w* (?:the )?(?:index|table|schema|constraint)|indexing|truncat|analy[sz]e|vacuum|"
    r"warm(?:ing)?[ _-]?up|connect|set-?up|tear-?down|clean-?up|migrat|initiali[sz]|compil|primary keys?|foreign keys?|"
    r"checkpoint|restart|start-?up)",
    linear.I,
)
FEW = 30  # transactions
PIECES_MOST = 50
ENOUGH_RUNS = 5  # of a short piece of work say as much as one long run


@rule(
    "too-short-run",
    severity="doubtful",
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
    parts = _parts(bench) | _steps(bench)
    measured = [
        seen for other in bench.others if not other.planned and id(other) not in parts and (seen := _short(other))
    ]
    # What a script asks for is no run: it says how long runs are where none does, and is more evidence where one does.
    lasting = {one.tool for one in bench.measured if _lasts(one) or one.took_s}
    short = {seen.of.tool for seen in measured}
    asked = [plan for plan in bench.plans if plan.tool in short or not lasting]
    # A short run beside a long one of the same script warms up.
    long = {(plan.tool, plan.where.file) for plan in asked if _lasts(plan) >= SHORT_S}
    plans = [plan for plan in asked if (plan.tool, plan.where.file) not in long]
    pieces = [seen for seen in measured if seen.of.took_s is not None]
    runs = [seen for seen in measured if seen.of.took_s is None]
    often = any((one.value or 0) >= ENOUGH_RUNS for one in bench.said("repeated"))
    # Of a suite of many pieces of work, or of what is repeated, each may be short.
    yield from (replace(one, noted=often or len(pieces) > PIECES_MOST) for one in gathered(pieces))
    short_runs = [*runs, *(seen for plan in plans if (seen := _short(plan)))]
    for tool in dict.fromkeys(seen.of.tool for seen in short_runs):
        of_tool = [seen for seen in short_runs if seen.of.tool == tool]
        # In a minute caches may be filled, and nothing of what is put off is done.
        minute = all(_lasts(seen.of) >= SHORT_S for seen in of_tool)
        yield from (replace(one, noted=minute) for one in gathered(of_tool))


def _steps(bench: Bench) -> set[int]:
    """What prepares, tidies up or is one of many of its kind, which a tool or program prints one after the other."""
    timed = [other for other in bench.others if other.took_s is not None and not other.planned]
    alike: dict[tuple[str, str], list[Published]] = defaultdict(list)
    for other in timed:
        if not other.told and not other.tool:
            alike[other.where.file, DIGITS.sub("#", other.name)].append(other)
    many = {id(one) for of in alike.values() if len(of) >= ENOUGH_RUNS for one in of}
    return many | {id(other) for other in timed if STEP.search(other.name)}


def _parts(bench: Bench) -> set[int]:
    """Pieces of work whose whole is told too: in the same row of a table, or below them in a tool's output."""
    timed = [other for other in bench.others if other.took_s is not None and not other.planned]
    rows: dict[tuple[str, int | None], float] = {}
    last: dict[str, tuple[int, float]] = {}
    for other in timed:
        if TOTAL.search(other.name):
            where = other.where
            rows[where.file, where.line] = max(other.took_s or 0, rows.get((where.file, where.line), 0))
            if not other.told:
                last[where.file] = (where.line or 0, other.took_s or 0)
    parts = set()
    for other in timed:
        below, whole = last.get(other.where.file, (0, 0.0))
        if (other.where.line or 0) >= below or other.told:
            whole = rows.get((other.where.file, other.where.line), 0.0) if other.told else 0.0
        if whole > (other.took_s or 0):
            parts.add(id(other))
    return parts


def _short(one: Published) -> Seen | None:
    if one.took_s is not None and not one.planned:
        if (
            (one.runs or 1) >= ENOUGH_RUNS
            or not 0 < one.took_s < SHORT_WORK_S
            or (one.told and not IN_SECONDS.search(one.written))
        ):
            return None
        took = f"{one.took_s * 1000:,.3g} ms" if one.took_s < 1 else f"{one.took_s:,.3g} s"
        return Seen(one, f"{called(one)}: all of the work took {took}", (one.where.says(took),), -one.took_s)
    drive = one.tool in DRIVE_TOOLS or one.unit in ("writes", "flushes") or bool(one.bytes_per_s)
    lasting = _lasts(one)
    if one.tool == "pg_test_fsync" or not lasting:
        return None  # that one is made to run 5 s
    if not (one.rate or one.bytes_per_s or one.nopm or one.planned or one.series):
        return None
    if lasting >= SHORT_DRIVE_S if drive else lasting > SHORT_S:
        return None
    lasts = f"{lasting:,.3g} s"
    return Seen(one, f"{called(one)}: {lasts}", (one.where.says(lasts),), -lasting)


def _lasts(one: Published) -> float:
    return one.measured_s or len(one.series) * one.interval_s


@over_results(
    "too-few-transactions",
    among=lambda bench: bench.measured,
    severity="doubtful",
    says="So few transactions were completed that the rate and its percentiles are those of single calls.",
    remedy="Run until some hundred are completed, or publish how long each took.",
    disproved_by="the tool's count of completed transactions, if it is another",
    source="R. Jain, The Art of Computer Systems Performance Analysis, chapter 13: intervals and sizes of samples",
)
def too_few_transactions(one: Published) -> Seen | None:
    done = one.rate * one.measured_s if one.rate and one.measured_s else 0.0
    if not 0 < done < FEW or one.unit != "transactions" or one.nopm is not None:
        return None
    text = f"{called(one)}: {done:.0f} completed in {one.measured_s:.0f} s"
    return Seen(one, text, (one.where.says(rate(one)),), -done)
