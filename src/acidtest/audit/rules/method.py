"""How runs were made and repeated: warm-up, steady state, checkpoints, repetitions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean, median

from acidtest.analysis.steady import SECONDS_NEEDED, Steadiness, steadiness
from acidtest.analysis.summary import REPETITIONS_FOR_INTERVAL
from acidtest.audit.bench import Bench, Published, Side
from acidtest.audit.finding import Found, rule
from acidtest.journal.protocol import Second
from acidtest.words import counted

POINTS_MAX = 300  # of a series; neighbours are taken together above it
WARM_UP_SHARE = 1 / 3  # a step later than that is none of a warm-up
COMPARED = ("transactions", "reads", "queries", "operations", "requests")
OF_DRIVES = ("fio", "ioping", "hdparm", "dd", "crystaldiskmark")
FIRST_RUN_SHARE = 0.9
DRIFT = 0.10
CHECKPOINT_TIMEOUT_S = 300.0  # PostgreSQL's default
UNITS_S = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}
NUMBERS = re.compile(r"(\d{1,9})")
VERSION = re.compile(r"(?:^|[^a-z])(?:v|version|pg|fb|mysql|mariadb|postgresql|firebird)[-_]?$", re.IGNORECASE)


def _steadiness(series: Sequence[float]) -> Steadiness:
    """Of a series of any interval; ``at_s`` is then the interval's number."""
    step = -(-len(series) // POINTS_MAX)
    means = [fmean(series[n : n + step]) for n in range(0, len(series) - step + 1, step)] if step else []
    points = [_second(number, rate) for number, rate in enumerate(means)]
    judged = steadiness(points)
    return Steadiness(judged.state, judged.seconds, judged.change, None if judged.at_s is None else judged.at_s * step)


def _second(number: int, rate: float) -> Second:
    # In thousandths, so that rates below one a second are told apart.
    return Second(
        at_s=float(number), length_s=1.0, committed=round(rate * 1000), conflicts=0, errors=0,
        latency_ns_p50=0, latency_ns_p99=0, latency_ns_max=0,
    )  # fmt: skip


def _unsteady(one: Published) -> tuple[Steadiness, bool] | None:
    """What a series that is not steady does, and whether it is its beginning alone."""
    if len(one.series) < SECONDS_NEEDED:
        return None
    whole = _steadiness(one.series)
    if whole.state not in ("drifts", "steps"):
        return None
    cut = max(int(whole.at_s) if whole.at_s is not None else 0, int(len(one.series) * WARM_UP_SHARE))
    begins = cut <= len(one.series) * WARM_UP_SHARE + 1 and len(one.series) - cut >= SECONDS_NEEDED
    return whole, begins and _steadiness(one.series[cut:]).state == "steady"


@rule(
    "warm-up-inside",
    severity="doubtful",
    over=Bench,
    says="The rate settles only after the measurement has begun: caches and files were still being filled.",
    remedy="Measure after a warm-up, or leave the first intervals out of every figure.",
    disproved_by="a published figure without the first intervals",
    source="TPC-C, clause 5.5: the measurement interval lies in steady state",
)
def warm_up_inside(bench: Bench) -> Iterator[Found]:
    for one in bench.others:
        unsteady = _unsteady(one)
        if unsteady and unsteady[1]:
            third = max(int(len(one.series) * WARM_UP_SHARE), 1)
            first, rest = fmean(one.series[:third]), median(one.series[third:])
            text = (
                f"{one.name}: {first:,.0f} a second in the first {third * one.interval_s:,.0f} s, "
                f"then {rest:,.0f}, and steady."
            )
            yield Found(text, (one.where.says(_intervals(one)),))


@rule(
    "no-steady-state",
    severity="doubtful",
    over=Bench,
    says="The rate still rises, falls or jumps while it is measured: its mean depends on how long was measured.",
    remedy="Measure longer, until the rate stands still, and show it over time.",
    disproved_by="a longer run whose rate settles where this one's mean is",
    source="TPC-C, clause 5.5; Mann-Kendall's and Pettitt's tests at 5 %, with a change of over 10 %",
)
def no_steady_state(bench: Bench) -> Iterator[Found]:
    for one in bench.others:
        unsteady = _unsteady(one)
        if unsteady and not unsteady[1]:
            whole = unsteady[0]
            at = f" at {whole.at_s * one.interval_s:,.0f} s" if whole.at_s is not None else ""
            text = f"{one.name}: the rate {whole.state}{at} by {whole.change:+.0%}."
            yield Found(text, (one.where.says(_intervals(one)),))


def _intervals(one: Published) -> str:
    return f"{counted(len(one.series), 'interval')} of {one.interval_s:g} s"


@rule(
    "no-warm-up",
    severity="note",
    over=Bench,
    says="The tool was given no warm-up, and no rate over time shows that none was needed.",
    remedy="Give it one (HammerDB: rampup, sysbench 1.1: --warmup-time), or print the rate over time.",
    disproved_by="a rate over time that is level from the start, or a script that ran before",
    source="TPC-C, clause 5.5: ramp-up precedes the measurement interval",
)
def no_warm_up(bench: Bench) -> Iterator[Found]:
    for one in bench.others:
        if one.warmup_s == 0 and one.unit == "transactions" and len(one.series) < SECONDS_NEEDED:
            yield Found(f"{one.name}: a warm-up of 0 s.", (one.where.says("no warm-up"),))


@rule(
    "no-checkpoint",
    severity="doubtful",
    over=Bench,
    says="The run ends before PostgreSQL's checkpoint is due: what a checkpoint costs is not in its figures.",
    remedy="Run for several times checkpoint_timeout, or show in the log (log_checkpoints) that there were some.",
    disproved_by="a checkpoint within the measured time, in the server's log or pg_stat_bgwriter",
    source="TPC-C, clause 5.5.2: checkpoints lie within the measurement; PostgreSQL's manual, WAL Configuration",
)
def no_checkpoint(bench: Bench) -> Iterator[Found]:
    sides = [side for side in bench.sides if side.engine == "postgresql"]
    if any(entry.kind.startswith("checkpoint") for side in sides for entry in side.log):
        return
    for one in bench.others:  # a recording of ours does not say whether a checkpoint came
        if one.engine != "postgresql" or one.unit != "transactions" or not one.rate or not one.measured_s:
            continue
        for side in (side for side in sides if side.configurations):
            timeout = _timeout_s(side)
            if timeout and one.measured_s + (one.warmup_s or 0) < timeout:
                text = f"{one.name}: {one.measured_s:,.0f} s; {side.name} makes a checkpoint each {timeout:,.0f} s."
                asked = next(side.settings("checkpoint_timeout"), None)
                where = asked.where if asked else side.configurations[0].where
                setting = f"checkpoint_timeout = {asked.value}" if asked else "checkpoint_timeout is not set: 5min"
                yield Found(text, (one.where.says(f"{one.measured_s:,.0f} s"), where.says(setting)))


def _timeout_s(side: Side) -> float | None:
    asked = next(side.settings("checkpoint_timeout"), None)
    if asked is None:
        return CHECKPOINT_TIMEOUT_S
    match = re.fullmatch(r"(\d{1,9})\s*(ms|s|min|h|d|)", asked.value.strip())
    return float(match[1]) * UNITS_S[match[2]] if match else None


@rule(
    "few-repetitions",
    severity="doubtful",
    over=Bench,
    says="Rates are compared that were measured too few times to tell a difference from chance.",
    remedy=f"Repeat every run at least {REPETITIONS_FOR_INTERVAL} times and give an interval.",
    disproved_by="further runs of the same that are not in the kit",
    source="T. Kalibera, R. Jones: Rigorous Benchmarking in Reasonable Time (ISMM 2013)",
)
def few_repetitions(bench: Bench) -> Iterator[Found]:
    groups = [of for of in _repetitions(bench).values() if of]
    most = max((sum(one.runs or 1 for one in of) for of in groups), default=0)
    stated = any(one.kind == "spread" for one in bench.texts)
    if len(groups) > 1 and most < REPETITIONS_FOR_INTERVAL and not stated:
        times = "once" if most == 1 else f"at most {counted(most, 'time')}"
        evidence = tuple(of[0].where.says(f"{of[0].rate:,.1f} a second, {len(of):,} of its kind") for of in groups)
        yield Found(f"{counted(len(groups), 'rate')} are compared, each measured {times}.", evidence)


@rule(
    "no-interval",
    severity="note",
    over=Bench,
    says="Runs were repeated, and no text of the kit states how far apart they lie.",
    remedy="Give an interval, or the smallest and the largest, beside every figure.",
    disproved_by="a text that states it in words that are not known here",
    source="T. Kalibera, R. Jones: Rigorous Benchmarking in Reasonable Time (ISMM 2013)",
)
def no_interval(bench: Bench) -> Iterator[Found]:
    if not bench.texts or any(one.kind == "spread" for one in bench.texts):
        return
    for of in _repetitions(bench).values():
        if len(of) > 2:
            rates = [one.rate or 0 for one in of]
            between = f"between {min(rates):,.1f} and {max(rates):,.1f} a second"
            text = f"{counted(len(of), 'run')} lie {between}, which no text states."
            yield Found(text, tuple(one.where.says(f"{one.rate:,.1f} a second") for one in of))


@rule(
    "first-run-differs",
    severity="doubtful",
    over=Bench,
    says="The first run is much slower than those after it: it still carries the load's backlog, or a cold cache.",
    remedy="Let the load settle (checkpoint, sweep, purge) before the first run, or leave that one out and state it.",
    disproved_by="another order of the runs, or a reason why the first measures something else",
    source="Firebird's sweep, InnoDB's purge and PostgreSQL's autovacuum work off what the load left",
)
def first_run_differs(bench: Bench) -> Iterator[Found]:
    for of in _in_turn(bench):
        rates = [one.rate or 0 for one in of]
        if len(rates) > 3 and rates[0] < FIRST_RUN_SHARE * min(rates[1:]) and max(rates[1:]) < 1.1 * min(rates[1:]):
            text = f"{of[0].name}: {rates[0]:,.1f} a second; the others {min(rates[1:]):,.1f} to {max(rates[1:]):,.1f}."
            yield Found(text, tuple(one.where.says(f"{one.rate:,.1f} a second") for one in of))


@rule(
    "state-inherited",
    severity="doubtful",
    over=Bench,
    says="Each run is faster, or slower, than the one before: they inherit what those before them left.",
    remedy="Begin every run with the same database: restore it, or measure in turns.",
    disproved_by="a script or a log that loads the database anew before each run",
    source="TPC-C, clause 5.5.2: throughput is to be reproducible; a strict order of five has one chance in 60",
)
def state_inherited(bench: Bench) -> Iterator[Found]:
    for of in _in_turn(bench):
        rates = [one.rate or 0 for one in of]
        steps = [later - one for one, later in pairwise(rates)]
        one_way = all(step > 0 for step in steps) or all(step < 0 for step in steps)
        if len(rates) >= REPETITIONS_FOR_INTERVAL and one_way and abs(rates[-1] - rates[0]) > DRIFT * median(rates):
            way = f"from {rates[0]:,.1f} to {rates[-1]:,.1f} a second"
            text = f"{of[0].name}: {counted(len(rates), 'run')} go one way, {way}."
            yield Found(text, tuple(one.where.says(f"{one.rate:,.1f} a second") for one in of))


def _in_turn(bench: Bench) -> list[list[Published]]:
    """Repetitions that may have inherited something from each other, in order."""
    ours = [[replace(one, rate=rate) for rate in one.in_turn] for one in bench.published if one.in_turn]
    return [*_repetitions(bench).values(), *ours]


def _repetitions(bench: Bench) -> dict[tuple[object, ...], list[Published]]:
    """Rates that are of one kind as far as can be told, in order: of one file, or of files whose names differ in one
    number only, which counts from 0 or 1 on and is none of a version; with the same tool, terminals and rate."""
    by_kind: dict[tuple[object, ...], list[Published]] = defaultdict(list)
    for one in bench.others:
        if one.rate and one.unit in COMPARED and one.tool not in OF_DRIVES:
            by_kind[one.tool, one.unit, one.terminals, one.asked_rate, one.name if one.told else ""].append(one)
    groups: dict[tuple[object, ...], list[Published]] = defaultdict(list)
    for kind, alike in by_kind.items():
        counted = _counted({one.where.file for one in alike})
        placed = [(*counted.get(one.where.file, (one.where.file, 0)), one) for one in alike]
        for stem, _, one in sorted(placed, key=lambda of: (*of[:2], of[2].where.line or 0)):
            groups[*kind, stem].append(one)
    return groups


def _counted(files: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Of each file that is one of a counted set: what the set has in common, and its number."""
    sets: dict[str, dict[int, str]] = defaultdict(dict)
    for file in sorted(files):
        parts = NUMBERS.split(file)
        for at in range(1, len(parts), 2):
            if not VERSION.search(parts[at - 1]):
                sets["".join((*parts[:at], "#", *parts[at + 1 :]))][int(parts[at])] = file
    by_file: dict[str, tuple[str, int]] = {}
    for stem, of in sorted(sets.items(), key=lambda one: len(one[1])):
        if len(of) > 1 and min(of) < 2 and max(of) - min(of) == len(of) - 1:
            by_file |= {file: (stem, number) for number, file in of.items()}
    return by_file
