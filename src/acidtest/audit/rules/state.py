"""Whether every run began with the same database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import pairwise
from math import exp, lgamma, log
from statistics import median

from acidtest.analysis import REPETITIONS_FOR_INTERVAL
from acidtest.audit.bench import Bench, Harness, Step
from acidtest.audit.result_text import Seen, called, gathered, rate
from acidtest.audit.rules.method import in_turn
from acidtest.finding import Evidence, Found, rule
from acidtest.words import counted

RENEWS = ("load", "settle")
DRIFT = 0.10
CALLS_QUOTED = 3  # of one script
CHANCE_MAX = 0.05
DEPTH_MAX = 4  # of scripts that call each other
STEPS_MAX = 2_000  # of one script


@rule(
    "state-inherited",
    severity="doubtful",
    says="Each run is faster, or slower, than the one before: they inherit what those before them left.",
    remedy="Begin every run with the same database: restore it, or measure in turns.",
    disproved_by="a script or a log that loads the database anew before each run",
    source="TPC-C, clause 5.5.2: throughput is to be reproducible; a strict order of five has one chance in 60",
)
def state_inherited(bench: Bench) -> Iterator[Found]:
    drifting = list(_drifting(bench))
    yield from drifting or _not_renewed(bench)


def _drifting(bench: Bench) -> Iterator[Found]:
    """Repetitions that each are faster, or slower, than the one before."""
    inherited: list[Seen] = []
    by_chance = 0.0
    for of in in_turn(bench):
        rates = [one.rate or 0 for one in of]
        if len(rates) < REPETITIONS_FOR_INTERVAL:
            continue
        by_chance += 2 * exp(-lgamma(len(rates) + 1))
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
    if not expected:
        return 0.0 if count else 1.0
    return 1 - sum(exp(n * log(expected) - expected - lgamma(n + 1)) for n in range(count))


def _not_renewed(bench: Bench) -> Iterator[Found]:
    """Scripts that measure again and again what earlier runs have changed."""
    if {"state", "order"} & bench.factors:
        return
    evidence: dict[Evidence, None] = {}
    first: Step | None = None
    for steps in _whole(bench.harnesses):
        for step, before in _on_what_is_left(steps):
            first = first or step
            evidence |= dict.fromkeys(
                (step.where.says(step.text), *([before.where.says(before.text)] if before else []))
            )
    if first:
        evidence |= dict.fromkeys(_around(bench, {one.file for one in evidence}))
        text = (
            f"{first.where.file} runs {first.tool} again on the database that the run before it has changed: nothing "
            "in between loads or restores it."
        )
        yield Found(text, tuple(evidence), "guessed", noted=True)


def _on_what_is_left(steps: Sequence[Step]) -> Iterator[tuple[Step, Step | None]]:
    """Each run of a tool that changes data and is made again, or after another, with no load in between."""
    left: Step | None = None  # the last run, since the data were loaded
    for step in steps:
        if step.kind == "load":
            left = None
        if step.kind != "run" or not step.tool:
            continue
        if not step.reads and _again(step, steps):
            yield step, None
        elif left is not None and left.where.file == step.where.file and _own(left) == _own(step):
            yield step, left
        left = step if not step.reads else left


def _around(bench: Bench, files: Set[str]) -> Iterator[Evidence]:
    """Where other scripts call those of ``files``, and where they load the data that these find."""
    names = {file.rpartition("/")[2] for file in files}
    folders = {file.rpartition("/")[0] for file in files}
    for harness in bench.harnesses:
        if harness.where.file in files or harness.where.file.rpartition("/")[0] not in folders:
            continue
        calls = [
            step
            for step in harness.steps
            if not step.tool and any(word.strip("\"';").rpartition("/")[2] in names for word in step.text.split())
        ]
        loads = [step for step in harness.steps if step.kind == "load"]
        yield from (call.where.says(call.text) for call in (*calls[:CALLS_QUOTED], *loads[:1]))


def _own(step: Step) -> tuple[int, ...]:
    """The loops that a step is in, without the marks of the scripts that are called: one that is called again does
    the same again."""
    return tuple(line for line in step.loops if line >= 0)


def _again(step: Step, steps: Sequence[Step]) -> bool:
    """Whether the innermost loop that it is in loads nothing, and lets nothing settle."""
    loops = step.loops
    while loops and loops[-1] < 0:  # the mark of a script that is called
        loops = loops[:-1]
    return bool(loops) and not any(step.kind in RENEWS and step.loops[: len(loops)] == loops for step in steps)


def _whole(harnesses: Sequence[Harness]) -> list[list[Step]]:
    """The steps of each script that no other one calls, with those of the scripts that it calls in their places."""
    by_name: dict[str, list[Harness]] = {}
    for harnesse in harnesses:
        by_name.setdefault(harnesse.where.file.rpartition("/")[2], []).append(harnesse)
    known = {name: of[0] for name, of in by_name.items() if len(of) == 1}
    called = {
        name for harnesse in harnesses for step in harnesse.steps if (name := _callee(step, known, harnesse.where.file))
    }
    tops = [harnesse for harnesse in harnesses if harnesse.where.file.rpartition("/")[2] not in called]
    return [list(_steps(top, known)) for top in tops or harnesses]


def _steps(
    harness: Harness, known: Mapping[str, Harness], loops: tuple[int, ...] = (), depth: int = 0
) -> Iterator[Step]:
    for step in harness.steps[:STEPS_MAX]:
        within = (*loops, *step.loops)
        name = _callee(step, known, harness.where.file)
        if name and depth < DEPTH_MAX:
            # A mark that keeps its loops apart from those of its caller, which may be of the same lines.
            yield from _steps(known[name], known, (*within, -(step.where.line or 0)), depth + 1)
        else:
            yield replace(step, loops=within)


def _callee(step: Step, known: Mapping[str, Harness], file: str) -> str:
    """The script of the kit that a step runs; "" of any other step."""
    if step.tool or step.kind not in ("call", "run"):
        return ""
    names = (word.strip("\"'").rpartition("/")[2] for word in step.text.split())
    return next((name for name in names if name in known and known[name].where.file != file), "")
