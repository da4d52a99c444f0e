"""How runs were made and repeated: warm-up, steady state, checkpoints, repetitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import fmean, median
from typing import TYPE_CHECKING

from acidtest.analysis import SECONDS_NEEDED
from acidtest.audit.bench import Bench, Published
from acidtest.audit.repeated import DRIVE_TOOLS, repetitions
from acidtest.audit.result_text import Seen, between, called, gathered, rate
from acidtest.finding import Found, rule
from acidtest.words import counted

if TYPE_CHECKING:  # imported where a result has a series
    from acidtest.analysis.steady import Steadiness
    from acidtest.journal.protocol import Second

POINTS_MAX = 300  # of a series; neighbours are taken together above it
WARM_UP_SHARE = 1 / 3  # a step later than that is none of a warm-up
FIRST_RUN_SHARE = 0.9
SPREAD_MAX = 0.30
WIDE_SHARE = 0.2  # of all kinds of runs
UNSTEADY_SHARE = 0.2  # of all results over time
COLD, COLD_SHARE = 0.95, 0.5  # of the usual rate, and of all results
COLDEST = 0.92  # of the usual rate, where other results begin as they go on
LONG_S = 600.0  # beside which a warm-up is short
OF_DATABASES = ("transactions", "reads", "queries", "operations")
OTHERS_WITHIN = 1.25  # of each other, where first ones are told from them
FIRST_OF_ALL = 4  # one first run in so many


def _steadiness(series: Sequence[float]) -> Steadiness:
    """Of a series of any interval; ``at_s`` is then the interval's number."""
    from acidtest.analysis.steady import Steadiness, steadiness  # noqa: PLC0415 - few results have a series

    step = -(-len(series) // POINTS_MAX)
    means = [fmean(series[n : n + step]) for n in range(0, len(series) - step + 1, step)] if step else []
    points = [_second(number, rate) for number, rate in enumerate(means)]
    judged = steadiness(points)
    return Steadiness(judged.state, judged.seconds, judged.change, None if judged.at_s is None else judged.at_s * step)


def _second(number: int, rate: float) -> Second:
    from acidtest.journal.protocol import Second  # noqa: PLC0415

    # In thousandths, so that rates below one a second are distinguished.
    return Second(
        at_s=float(number), length_s=1.0, committed=round(rate * 1000), conflicts=0, errors=0,
        latency_ns_p50=0, latency_ns_p99=0, latency_ns_max=0,
    )  # fmt: skip


@lru_cache(maxsize=4096)
def _unsteady(series: tuple[float, ...]) -> Steadiness | None:
    """What a series does that is not steady, and not only at its beginning."""
    if len(series) < SECONDS_NEEDED:
        return None
    whole = _steadiness(series)
    if whole.state not in ("drifts", "steps"):
        return None
    cut = max(int(whole.at_s) if whole.at_s is not None else 0, int(len(series) * WARM_UP_SHARE))
    begins = cut <= len(series) * WARM_UP_SHARE + 1 and len(series) - cut >= SECONDS_NEEDED
    return None if begins and _steadiness(series[cut:]).state == "steady" else whole


def _of_many(bench: Bench, seen: Sequence[Seen]) -> Iterator[Found]:
    """Of a tool with many results, a few that are not steady say nothing of the others."""
    for tool in dict.fromkeys(one.of.tool for one in seen):
        of_tool = [one for one in seen if one.of.tool == tool]
        if len(of_tool) >= UNSTEADY_SHARE * sum(1 for other in bench.others if other.tool == tool and other.series):
            yield from gathered(of_tool)


@rule(
    "no-steady-state",
    severity="doubtful",
    says="The rate still rises, falls or jumps while it is measured: its mean depends on how long was measured.",
    remedy="Measure longer, until the rate stands still, and show it over time.",
    disproved_by="a longer run whose rate settles where this one's mean is",
    source="TPC-C, clause 5.5; Mann-Kendall's and Pettitt's tests at 5 %, with a change of over 10 %",
)
def no_steady_state(bench: Bench) -> Iterator[Found]:
    yield from _of_many(bench, list(_restless(bench)))


def _restless(bench: Bench) -> Iterator[Seen]:
    for other in bench.others:
        if whole := _unsteady(other.series):
            at = f" at {whole.at_s * other.interval_s:,.0f} s" if whole.at_s is not None else ""
            text = f"{called(other)}: the rate {whole.state}{at} by {whole.change:+.0%}"
            yield Seen(other, text, (other.where.says(_intervals(other)),), abs(whole.change or 0))


def _intervals(one: Published) -> str:
    return f"{counted(len(one.series), 'interval')} of {one.interval_s:g} s"


@rule(
    "no-warm-up",
    severity="note",
    says="The tool was given no warm-up, and no rate over time shows that none was needed.",
    remedy="Give it one (HammerDB: rampup, sysbench 1.1: --warmup-time), or keep a rate over time that is level "
    "from the start.",
    disproved_by="a rate over time that is level from the start, or a script that ran before",
    source="TPC-C, clause 5.5: ramp-up precedes the measurement interval",
)
def no_warm_up(bench: Bench) -> Iterator[Found]:
    none = [
        Seen(other, f"{called(other)}: a warm-up of 0 s", (other.where.says("no warm-up"),))
        for other in bench.others
        if other.warmup_s == 0 and other.unit == "transactions" and len(other.series) < SECONDS_NEEDED
    ]
    yield from gathered(none)
    told = any(one.warmup_s for one in bench.published)
    steps = [step for harnesse in bench.harnesses for step in harnesse.steps]
    if none or told or any(step.kind == "warm-up" for step in steps):
        return
    of_databases = [one for one in bench.measured if one.unit in OF_DATABASES and one.tool not in DRIVE_TOOLS]
    short = [database for database in of_databases if database.rate and (database.measured_s or LONG_S) < LONG_S]
    silent = [database for database in short if len(database.series) < SECONDS_NEEDED or _begins_low(database)]
    level = len(silent) < len(short) * COLD_SHARE
    silent = [one for one in silent if not level or (len(one.series) >= SECONDS_NEEDED and _begins_lowest(one))]
    long = {plan.tool for plan in bench.plans if (plan.measured_s or 0) >= LONG_S}
    started = [step for step in steps if step.kind == "run" and step.tool and step.tool not in long]
    if silent:
        text = f"Nothing in the kit tells of a warm-up before its {counted(len(silent), 'result')} of {silent[0].tool}."
        evidence = [one.where.says(rate(one)) for one in silent]
    elif started and not short and not any(len(database.series) >= SECONDS_NEEDED for database in of_databases):
        text = f"{started[0].where.file} runs {started[0].tool}, and nothing in the kit tells of a warm-up before it."
        evidence = []
    else:
        return
    evidence += [step.where.says(step.text) for step in started]
    evidence += [plan.where.says(f"{plan.tool} is asked for here") for plan in bench.plans]
    yield Found(text, tuple(dict.fromkeys(evidence)), "guessed")


def _begins_lowest(one: Published) -> bool:
    """Whether it begins so low that no other interval is as low."""
    return one.series[0] < min(*one.series[1:], COLDEST * median(one.series[1:]))


def _begins_low(one: Published) -> bool:
    """Whether the rate over time begins lower than it goes on: what a warm-up would have left out."""
    rest = median(one.series[1:])
    return one.series[0] < COLD * rest


def _apart(of: Sequence[Published]) -> float:
    """How far the smallest and the largest rate lie apart, of their median."""
    rates = [published.rate or 0 for published in of]
    middle = median(rates)
    return (max(rates) - min(rates)) / middle if middle else 0.0


@rule(
    "wide-spread",
    severity="doubtful",
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
    says="The first run is much slower than those after it: it still carries the load's backlog, or a cold cache.",
    remedy="Let the load settle (checkpoint, sweep, purge) before the first run, or leave that one out and state it.",
    disproved_by="another order of the runs, or a reason why the first measures something else",
    source="Firebird's sweep, InnoDB's purge and PostgreSQL's autovacuum work off what the load left",
)
def first_run_differs(bench: Bench) -> Iterator[Found]:
    first: list[Seen] = []
    elsewhere = 0  # runs that are as slow, and are not the first: by chance they are the first as often as any
    for of in in_turn(bench):
        slow = _slow(of)
        if not slow:
            continue
        if slow != set(range(len(slow))):
            elsewhere += 1
            continue
        begins, others = of[: len(slow)], of[len(slow) :]
        which = rate(begins[0]) if len(begins) == 1 else f"{between(begins)} in the first {len(begins):,}"
        text = f"{called(of[0])}: {which}; the others between {between(others)}"
        evidence = tuple(one.where.says(rate(one)) for one in of)
        first.append(Seen(of[0], text, evidence, _rate(others[0]) / (_rate(of[0]) or 1)))
    if len(first) > elsewhere:
        yield from gathered(first)


def _slow(of: Sequence[Published]) -> set[int]:
    """Which of several runs are slower than all others by more than those differ; none where the others do not agree,
    and where it would be more than a quarter of them."""
    ranked = sorted(range(len(of)), key=lambda n: _rate(of[n]))
    for count in range(len(of) // FIRST_OF_ALL, 0, -1):
        slow, others = ranked[:count], ranked[count:]
        least, most = _rate(of[others[0]]), _rate(of[others[-1]])
        apart = least / (_rate(of[slow[-1]]) or 1e-9)
        if least and most < OTHERS_WITHIN * least and apart > max(1 / FIRST_RUN_SHARE, most / least):
            return set(slow)
    return set()


def in_turn(bench: Bench) -> list[list[Published]]:
    """Repetitions that may have inherited something from each other, in order."""
    ours = [[replace(one, rate=rate) for rate in one.in_turn] for one in bench.published if one.in_turn]
    return [*repetitions(bench).values(), *ours]
