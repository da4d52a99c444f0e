"""How runs were made and repeated: warm-up, steady state, checkpoints, repetitions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import exp, factorial
from statistics import fmean, median

from acidtest.analysis.steady import SECONDS_NEEDED, Steadiness, steadiness
from acidtest.analysis.summary import REPETITIONS_FOR_INTERVAL
from acidtest.audit.bench import Bench, Published, Side
from acidtest.audit.finding import Found, rule
from acidtest.audit.repeated import repetitions
from acidtest.audit.said import Seen, between, called, gathered, rate
from acidtest.journal.protocol import Second
from acidtest.words import counted

POINTS_MAX = 300  # of a series; neighbours are taken together above it
WARM_UP_SHARE = 1 / 3  # a step later than that is none of a warm-up
FIRST_RUN_SHARE = 0.9
FIRST_RUN_OF = 4  # repetitions, or more
DRIFT = 0.10
REPEATED = 3  # times: fewer show nothing of how far apart they lie
SPREAD_MAX = 0.30
WIDE_SHARE = 0.2  # of all kinds of runs
CHANCE_MAX = 0.05
CHECKPOINT_TIMEOUT_S = 300.0  # PostgreSQL's default
UNITS_S = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}


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
    return _unsteady_series(one.series)


@lru_cache(maxsize=4096)
def _unsteady_series(series: tuple[float, ...]) -> tuple[Steadiness, bool] | None:
    """What a series that is not steady does, and whether it is its beginning alone."""
    if len(series) < SECONDS_NEEDED:
        return None
    whole = _steadiness(series)
    if whole.state not in ("drifts", "steps"):
        return None
    cut = max(int(whole.at_s) if whole.at_s is not None else 0, int(len(series) * WARM_UP_SHARE))
    begins = cut <= len(series) * WARM_UP_SHARE + 1 and len(series) - cut >= SECONDS_NEEDED
    return whole, begins and _steadiness(series[cut:]).state == "steady"


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
    yield from gathered(_settling(bench))


def _settling(bench: Bench) -> Iterator[Seen]:
    for one in bench.others:
        unsteady = _unsteady(one)
        if unsteady and unsteady[1]:
            third = max(int(len(one.series) * WARM_UP_SHARE), 1)
            first, rest = fmean(one.series[:third]), median(one.series[third:])
            text = (
                f"{called(one)}: {first:,.0f} a second in the first {third * one.interval_s:,.0f} s, "
                f"then {rest:,.0f}, and steady"
            )
            apart = abs(first / rest - 1) if rest else 1.0
            yield Seen(one, text, (one.where.says(_intervals(one)),), apart)


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
    yield from gathered(_restless(bench))


def _restless(bench: Bench) -> Iterator[Seen]:
    for one in bench.others:
        unsteady = _unsteady(one)
        if unsteady and not unsteady[1]:
            whole = unsteady[0]
            at = f" at {whole.at_s * one.interval_s:,.0f} s" if whole.at_s is not None else ""
            text = f"{called(one)}: the rate {whole.state}{at} by {whole.change:+.0%}"
            yield Seen(one, text, (one.where.says(_intervals(one)),), abs(whole.change or 0))


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
    yield from gathered(
        Seen(one, f"{called(one)}: a warm-up of 0 s", (one.where.says("no warm-up"),))
        for one in bench.others
        if one.warmup_s == 0 and one.unit == "transactions" and len(one.series) < SECONDS_NEEDED
    )


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
    sides = [side for side in bench.sides if side.engine == "postgresql" and side.configurations]
    logs = (side.log for side in bench.sides if side.engine == "postgresql")
    if any(entry.kind.startswith("checkpoint") for log in logs for entry in log):
        return
    timeouts = [(side, timeout) for side in sides if (timeout := _timeout_s(side))]
    if timeouts:
        yield from gathered(_before_checkpoint(bench, *min(timeouts, key=lambda one: one[1])))


def _before_checkpoint(bench: Bench, side: Side, timeout: float) -> Iterator[Seen]:
    """Of the side whose checkpoints come first: where those do not, none does."""
    asked = next(side.settings("checkpoint_timeout"), None)
    where = asked.where if asked else side.configurations[0].where
    setting = f"checkpoint_timeout = {asked.value}" if asked else "checkpoint_timeout is not set: 5min"
    for one in bench.measured:  # a recording of ours does not say whether a checkpoint came
        if one.engine != "postgresql" or one.unit != "transactions" or not one.rate or not one.measured_s:
            continue
        if one.measured_s + (one.warmup_s or 0) < timeout:
            text = f"{called(one)}: {one.measured_s:,.0f} s; {side.name} makes a checkpoint each {timeout:,.0f} s"
            yield Seen(one, text, (where.says(setting), one.where.says(f"{one.measured_s:,.0f} s")), -one.measured_s)


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
    if any(one.kind == "spread" for one in bench.texts):
        return
    stated = max((int(one.value or 0) for one in bench.texts if one.kind == "repeated"), default=0)
    groups = [of for of in repetitions(bench).values() if of] or _told_apart(bench)
    most = max([stated, *(max(len(of), *(one.runs or 1 for one in of)) for of in groups)])
    if len(groups) > 1 and most < REPEATED:
        times = "once" if most == 1 else f"at most {counted(most, 'time')}"
        of_its_kind = ((of[0], f"{rate(of[0])}, {len(of):,} of its kind") for of in groups)
        evidence = tuple(one.where.says(text) for one, text in of_its_kind)
        if any(one.told for of in groups for one in of) and not stated:
            yield Found(
                f"{counted(len(groups), 'figure')} are compared, and nothing says that any was repeated.", evidence
            )
        else:
            yield Found(f"{counted(len(groups), 'rate')} are compared, each measured {times}.", evidence)


def _told_apart(bench: Bench) -> list[list[Published]]:
    """The figures of tables, each with those that stand under the same name."""
    groups: dict[tuple[object, ...], list[Published]] = defaultdict(list)
    for one in bench.others:
        if one.told and (one.rate or one.took_s or one.nopm or one.latency_ms):
            groups[one.name, one.terminals, one.unit, one.scale].append(one)
    return list(groups.values())


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
    repeated = [of for of in repetitions(bench).values() if len(of) > 2]
    yield from gathered(
        Seen(
            of[0],
            f"{counted(len(of), 'run')} of {called(of[0])} lie between {between(of)}, which no text states",
            tuple(one.where.says(rate(one)) for one in of),
            _apart(of),
        )
        for of in repeated
    )


def _apart(of: Sequence[Published]) -> float:
    """How far the smallest and the largest rate lie apart, of their median."""
    rates = [one.rate or 0 for one in of]
    middle = median(rates)
    return (max(rates) - min(rates)) / middle if middle else 0.0


@rule(
    "wide-spread",
    severity="doubtful",
    over=Bench,
    says="The repetitions lie far apart: something else was at work on the machine or drive, or the runs are short.",
    remedy="Find what changed between the runs, or repeat more often, or longer; claim no difference below the spread.",
    disproved_by="repetitions on a quiet machine that lie closer together",
    source="T. Kalibera, R. Jones: Rigorous Benchmarking in Reasonable Time (ISMM 2013)",
)
def wide_spread(bench: Bench) -> Iterator[Found]:
    repeated = [of for of in repetitions(bench).values() if len(of) > 2]
    wide = [of for of in repeated if _apart(of) > SPREAD_MAX]
    if len(wide) > WIDE_SHARE * len(repeated):  # with many kinds of runs, a few lie apart by chance
        yield from gathered(
            Seen(
                of[0],
                f"{counted(len(of), 'run')} of {called(of[0])} lie between {between(of)}, {_apart(of):.0%} of their "
                "median apart",
                tuple(one.where.says(rate(one)) for one in (min(of, key=_rate), max(of, key=_rate))),
                _apart(of),
            )
            for of in wide
        )


def _rate(one: Published) -> float:
    return one.rate or 0.0


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
    first: list[Seen] = []
    elsewhere = 0  # one run that is as slow, and is not the first: by chance it is the first as often as any
    for of in _in_turn(bench):
        rates = [one.rate or 0 for one in of]
        slow = rates.index(min(rates))
        others = sorted(rates)[1:]
        if len(rates) < FIRST_RUN_OF or rates[slow] >= FIRST_RUN_SHARE * others[0] or others[-1] >= 1.1 * others[0]:
            continue
        if slow:
            elsewhere += 1
            continue
        text = f"{called(of[0])}: {rate(of[0])}; the others between {between(of[1:])}"
        first.append(Seen(of[0], text, tuple(one.where.says(rate(one)) for one in of), others[0] / (rates[0] or 1)))
    if len(first) > elsewhere:
        yield from gathered(first)


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
    inherited: list[Seen] = []
    by_chance = 0.0
    for of in _in_turn(bench):
        rates = [one.rate or 0 for one in of]
        if len(rates) < REPETITIONS_FOR_INTERVAL:
            continue
        by_chance += 2 / factorial(len(rates))
        steps = [later - one for one, later in pairwise(rates)]
        one_way = all(step > 0 for step in steps) or all(step < 0 for step in steps)
        if one_way and abs(rates[-1] - rates[0]) > DRIFT * median(rates):
            text = f"{counted(len(rates), 'run')} of {called(of[0])} go one way, from {rate(of[0])} to {rate(of[-1])}"
            evidence = tuple(one.where.says(rate(one)) for one in of)
            inherited.append(Seen(of[0], text, evidence, abs(rates[-1] - rates[0]) / median(rates)))
    if len(inherited) >= 1 and _at_least(len(inherited), by_chance) < CHANCE_MAX:
        yield from gathered(inherited)


def _at_least(count: int, expected: float) -> float:
    """The probability of that many or more of rare things of which so many are expected (Poisson)."""
    return 1 - sum(exp(-expected) * expected**n / factorial(n) for n in range(count))


def _in_turn(bench: Bench) -> list[list[Published]]:
    """Repetitions that may have inherited something from each other, in order."""
    ours = [[replace(one, rate=rate) for rate in one.in_turn] for one in bench.published if one.in_turn]
    return [*repetitions(bench).values(), *ours]
