"""Searches as a journal holds them: the runs of each combination in the order in which they were decided on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from acidtest.analysis.search.run import SearchRun, judged
from acidtest.analysis.search.steps import Found, Phase, Rate, Rules, Step, Taken, next_step, unordered
from acidtest.journal.models import RATE, Header, Recording
from acidtest.limits import Limit, limit_of

Judge = Callable[[Recording, float | None], SearchRun]


@dataclass(frozen=True)
class Asked:
    """What a search asks for, as the header of its journal has it."""

    limit: Limit
    rules: Rules
    unserved_max: float  # share of the arrivals

    @classmethod
    def of(cls, experiment: Mapping[str, Any]) -> Asked:
        spec = experiment["search"]
        rules = Rules(int(experiment["repetitions"]), spec["step_percent"] / 100, spec["runs_max"])
        return cls(limit_of(spec["limit"]), rules, spec["unserved_percent"] / 100)


@dataclass(frozen=True)
class Search:
    """The search of one combination of levels, as far as it has come."""

    levels: Mapping[str, str]  # factor -> level, without the rate
    asked: Asked
    taken: tuple[Taken, ...]
    recordings: tuple[Recording, ...]  # of these, in their order
    found: Found | None  # None while it goes on, and where a run broke it off
    next: Step | None
    broken: Recording | None = None  # a run that failed or is invalid: without it nothing can be decided

    @property
    def ended(self) -> bool:
        return self.next is None

    @property
    def least_left(self) -> int:
        """Runs that it takes at least, with the next one."""
        if self.next is None:
            return 0
        left = self.asked.rules.confirmations
        return max(1, left - self.next.number + 1) if self.next.phase == "confirming" else left + 1

    @property
    def first(self) -> Recording:
        return (*self.recordings, *([self.broken] if self.broken else []))[0]

    @property
    def rates(self) -> tuple[Rate, ...]:
        """All that were offered, ascending."""
        by_rate: dict[float, list[Taken]] = {}
        for one in self.taken:
            if one.step.rate_per_s is not None:
                by_rate.setdefault(one.step.rate_per_s, []).append(one)
        return tuple(Rate(rate, tuple(by_rate[rate])) for rate in sorted(by_rate))

    @property
    def closed(self) -> SearchRun | None:
        return next((one.run for one in self.taken if one.step.phase == "closed loop"), None)

    @property
    def confirmed(self) -> Rate | None:
        return self.found.confirmed if self.found else None

    @property
    def untellable(self) -> bool:
        """Whether no rate was confirmed because the generator was late: that tells nothing of the server."""
        return self.found is not None and self.found.ending == "generator" and self.found.confirmed is None

    def recording(self, taken: Taken) -> Recording:
        return self.recordings[self.taken.index(taken)]

    def knee(self) -> Rate | None:
        """The rate at which most is served for the time that it takes: rate over mean latency is highest there.

        Source: L. Kleinrock, Power and deterministic rules of thumb for probabilistic problems in computer
        communications (ICC 1979): the line from the origin touches the curve of latency over load there. Of the rates
        that were offered; None with fewer than three of them below the server's most, or where it would be the lowest.
        Where the generator was late, latencies are in part its own: those rates are left out, and the last one below
        them is no knee.
        """
        late = [rate for rate in self.rates if any(one.run.why == "generator" for one in rate.counted)]
        served = [
            rate for rate in self.rates if rate not in late and not any(one.run.saturated for one in rate.counted)
        ]
        if len(served) < 3 or unordered(self.rates):
            return None
        best = max(served, key=lambda rate: rate.rate_per_s / median(one.run.mean_ms for one in rate.counted))
        above = next((rate for rate in self.rates if rate.rate_per_s > best.rate_per_s), None)
        return best if best is not served[0] and above not in late else None

    def most_per_s(self) -> float | None:
        """The most that was served of what was offered, over all runs; None before any rate was."""
        return max((one.run.served_per_s for rate in self.rates for one in rate.taken), default=None)


def searches(header: Header, recordings: Sequence[Recording]) -> list[Search]:
    """One for each combination that has a run, in the experiment's own order of levels."""
    asked = Asked.of(header.experiment)
    groups: dict[tuple[tuple[str, str], ...], list[Recording]] = {}
    for recording in recordings:
        groups.setdefault(tuple((f, level) for f, level in recording.levels.items() if f != RATE), []).append(recording)

    def place(key: tuple[tuple[str, str], ...]) -> list[int]:
        return [
            header.factors[factor].index(level) if level in header.factors.get(factor, []) else -1
            for factor, level in key
        ]

    judge = judge_of(asked)
    return [replayed(groups[key], asked, judge) for key in sorted(groups, key=place)]


def judge_of(asked: Asked) -> Judge:
    """Judges runs against what is asked, each once: a search looks at all its runs before each new one."""
    held: dict[tuple[str, str], SearchRun] = {}

    def judge(recording: Recording, rate_per_s: float | None) -> SearchRun:
        key = recording.cell, recording.started_at
        if key not in held:
            assert recording.result is not None
            embedded = recording.engine is not None and recording.engine.mode == "embedded"
            held[key] = judged(
                recording.result,
                asked.limit,
                rate_per_s=rate_per_s,
                unserved_max=asked.unserved_max,
                embedded=embedded,
            )
        return held[key]

    return judge


def replayed(recordings: Iterable[Recording], asked: Asked, judge: Judge) -> Search:
    """The search of one combination, decided again from its runs: each decision finds its run, until one is missing.

    One of before lone refusals were tried again goes on without those runs. One of before a late generator ended it
    keeps the rate that it confirmed.
    """
    recordings = list(recordings)
    now = _replayed(recordings, asked, judge)
    if not now.ended:
        before = _replayed(recordings, replace(asked, rules=replace(asked.rules, again=False)), judge)
        if len(before.taken) > len(now.taken):
            return before
    elif now.untellable and len(now.taken) < len(recordings):
        before = _replayed(recordings, replace(asked, rules=replace(asked.rules, stops=False)), judge)
        if before.confirmed:
            return before
    return now


def _replayed(recordings: Sequence[Recording], asked: Asked, judge: Judge) -> Search:
    by_run = {(recording.workload.get(RATE), recording.repetition): recording for recording in recordings}
    some = next(iter(by_run.values()), None)
    levels = {f: level for f, level in some.levels.items() if f != RATE} if some else {}
    taken: list[Taken] = []
    used: list[Recording] = []
    while True:
        step = next_step(taken, asked.rules)
        if isinstance(step, Found):
            return Search(levels, asked, tuple(taken), tuple(used), step, None)
        recording = by_run.get((step.rate_per_s, step.number))
        if recording is None:
            return Search(levels, asked, tuple(taken), tuple(used), None, step)
        if recording.status != "done" or recording.result is None:
            return Search(levels, asked, tuple(taken), tuple(used), None, None, recording)
        taken.append(Taken(step, judge(recording, step.rate_per_s)))
        used.append(recording)


def varying(found: Sequence[Search]) -> list[str]:
    """Factors of which there are several levels, in order."""
    factors = list(found[0].levels) if found else []
    return [factor for factor in factors if len({search.levels.get(factor) for search in found}) > 1]


def figures(rate: Rate, clause: int, phase: Phase | None = None) -> list[float]:
    """Of each run at that rate the clause's figure in ms, infinite ones left out."""
    return [
        value
        for one in rate.taken
        if phase in (None, one.step.phase) and math.isfinite(value := one.run.values_ms[clause])
    ]
