"""Which rate a search offers next, and what it has found when there is none: pure, from the runs so far.

1. One run in a closed loop: as many transactions a second as the terminals can bring about.
2. A ladder of five shares of that rate, up to all of it: the picture of latency against load, and a first bracket.
3. Closing in: runs between the highest rate that clearly held and the lowest that clearly did not, each where the line
   through 1/latency meets the limit (of M/M/1 that line is exact), until two lie near the limit.
4. Confirming: fresh runs at one rate, as many as repetitions are asked for. One that does not hold ends the attempt,
   and the search goes down; a confirmed rate sends it up, until the next step of the grid is known not to hold.

Rates lie on a geometric grid. A single run near the limit decides nothing: only confirming does there. A lone run far
beyond the limit, with rates that hold below or above it, is tried again: if it was a stall, the second run decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from acidtest.analysis import REPETITIONS_FOR_INTERVAL
from acidtest.analysis.search.run import SearchRun, Why
from acidtest.analysis.summary import summarise

LADDER = (0.25, 0.5, 0.7, 0.85, 1.0)  # of the rate of the closed loop
CLEAR = 1.25  # times the limit, or below one in so many: one run decides
WINDOW = 2.0  # times the limit, and one in so many: these runs tell where it is crossed
CLIMB, CLIMB_MAX = 1.2, 4.0  # times, while everything holds; the most of the closed loop's rate
SINK, SINK_MIN = 0.25, 0.001  # times, while nothing holds; the least of the closed loop's rate
NEAR = 2  # runs near the limit, before confirming begins: of one alone the crossing would be a guess
NARROW = 4  # steps of the grid: a bracket that confirming closes by itself
DIGITS = 4  # of a rate
AIM = 1  # steps above the crossing: going down costs a run or two a step, going up a whole confirmation
PATIENT = 4  # rates that were refused on the way down, before it goes faster

Phase = Literal["closed loop", "ladder", "closing in", "confirming"]
# limit: the next rate does not hold for its latency. saturated: for a backlog, the limit is not the reason.
# generator: for the generator; without a confirmed rate, it was late at so many that nothing can be told of the server.
# none: no rate holds. open: none was found that does not hold. budget: out of runs.
Ending = Literal["limit", "saturated", "generator", "none", "open", "too few", "budget", "closed loop"]


@dataclass(frozen=True)
class Rules:
    """What is asked of a search, beside its limit."""

    confirmations: int = REPETITIONS_FOR_INTERVAL
    step: float = 0.01  # from one rate of the grid to the next
    again: bool = True  # a lone refusal is tried again; False in journals of before
    stops: bool = True  # a generator that is late at the lowest rate ends the search; False in journals of before
    runs_max: int = 60


@dataclass(frozen=True)
class Step:
    """The next run. ``number`` counts the runs at its rate from 1."""

    phase: Phase
    rate_per_s: float | None
    number: int


@dataclass(frozen=True)
class Taken:
    """A step with what came of it."""

    step: Step
    run: SearchRun


@dataclass(frozen=True)
class Rate:
    """All runs at one offered rate."""

    rate_per_s: float
    taken: tuple[Taken, ...]

    @property
    def aside(self) -> Taken | None:
        """The one run that clearly did not hold, where another one of those that looked for it did."""
        looked = [one for one in self.taken if one.step.phase != "confirming"]
        failed = [one for one in looked if _clear(one.run)]
        return failed[0] if len(failed) == 1 and any(one.run.holds for one in looked) else None

    @property
    def counted(self) -> tuple[Taken, ...]:
        """All but the one that is set aside."""
        aside = self.aside
        return tuple(one for one in self.taken if one is not aside)

    @property
    def fresh(self) -> tuple[SearchRun, ...]:
        """Those that confirm."""
        return tuple(one.run for one in self.taken if one.step.phase == "confirming")

    @property
    def first(self) -> tuple[SearchRun, ...]:
        """Those that looked for it."""
        return tuple(one.run for one in self.counted if one.step.phase != "confirming")

    @property
    def ratio(self) -> float:
        """Of latency to limit; the median of its runs."""
        return float(np.median([one.run.ratio for one in self.counted]))

    def confirmed(self, confirmations: int) -> bool:
        """Whether enough fresh runs held, and the interval over them lies below the limit."""
        runs = self.fresh
        if len(runs) < confirmations or not all(run.holds for run in runs):
            return False
        interval = summarise([run.ratio for run in runs]).interval
        return interval is None or interval.high < 1

    @property
    def clearly_holds(self) -> bool:
        return bool(self.first) and all(run.holds and run.ratio < 1 / CLEAR for run in self.first)

    @property
    def clearly_fails(self) -> bool:
        return any(map(_clear, self.first))

    @property
    def untold(self) -> bool:
        """Its runs have too few transactions for a percentile of the limit."""
        return any(one.run.why == "too few" for one in self.taken)

    @property
    def refuted(self) -> bool:
        """One run is known not to hold: of those that confirm any, of the others a clear one."""
        return self.clearly_fails or any(not run.holds for run in self.fresh)

    @property
    def why(self) -> Why | None:
        """Why it does not hold; confirming runs have the last word."""
        return next((run.why for run in (*self.fresh, *self.first) if run.why), None)


def _clear(run: SearchRun) -> bool:
    """Whether it does not hold by far, or for another reason than its latency."""
    return not run.holds and (run.ratio > CLEAR or run.why not in ("limit", "too few"))


def refused_for(rates: Sequence[Rate]) -> list[Why]:
    """Why each run did not hold, of those that tell it; the ones set aside are left out."""
    why = [one.run.why for rate in rates for one in rate.counted]
    return [one for one in why if one not in (None, "too few")]


def _generators(rates: Sequence[Rate]) -> bool:
    """Whether half of the runs that did not hold, or more, say nothing of the server: their generator was late."""
    why = refused_for(rates)
    return bool(why) and 2 * why.count("generator") >= len(why)


def unordered(rates: Sequence[Rate]) -> tuple[Rate, Rate] | None:
    """A rate that clearly did not hold although a higher one did, with the highest such one: what no queue explains."""
    for rate in rates:
        above = [other for other in rates if other.rate_per_s > rate.rate_per_s and other.clearly_holds]
        if rate.clearly_fails and above:
            return rate, above[-1]
    return None


@dataclass(frozen=True)
class Found:
    """How a search has ended."""

    ending: Ending
    confirmed: Rate | None  # the highest that holds
    refuted: Rate | None  # the next one above it that does not
    rates: tuple[Rate, ...]  # all that were offered, ascending
    closed: SearchRun | None
    runs: int


@dataclass(frozen=True)
class _Grid:
    top_per_s: float
    step: float

    def rate(self, k: int) -> float:
        return float(f"{self.top_per_s * (1 + self.step) ** k:.{DIGITS}g}")

    def place(self, rate_per_s: float) -> float:
        return math.log(rate_per_s / self.top_per_s) / math.log1p(self.step)

    def nearest(self, rate_per_s: float) -> int:
        return round(self.place(rate_per_s))


@dataclass
class _State:
    rules: Rules
    taken: list[Taken] = field(default_factory=list)

    @property
    def closed(self) -> SearchRun | None:
        return next((one.run for one in self.taken if one.step.phase == "closed loop"), None)

    @property
    def untold_per_s(self) -> float:
        """The highest rate whose runs are too short to tell; 0 without one."""
        return max((rate.rate_per_s for rate in self.rates() if rate.untold), default=0.0)

    def rates(self) -> tuple[Rate, ...]:
        by_rate: dict[float, list[Taken]] = {}
        for one in self.taken:
            if one.step.rate_per_s is not None:
                by_rate.setdefault(one.step.rate_per_s, []).append(one)
        return tuple(Rate(rate, tuple(by_rate[rate])) for rate in sorted(by_rate))


def next_step(taken: Sequence[Taken], rules: Rules) -> Step | Found:
    """What to run after ``taken``, or what they have found. The same runs in the same order give the same answer."""
    state = _State(rules, list(taken))
    closed = state.closed
    if closed is None:
        return Step("closed loop", None, 1)
    if not closed.served_per_s > 0:
        return _found(state, "closed loop")
    if len(taken) >= rules.runs_max:
        return _found(state, "budget")
    grid = _Grid(closed.served_per_s, rules.step)
    rates = state.rates()
    if (rung := _rung(rates, grid)) is not None:
        return _step(state, "ladder", grid, rung)
    if state.rules.again and (lone := _lone(rates)) is not None:
        return _step(state, lone.taken[0].step.phase, grid, grid.nearest(lone.rate_per_s))
    known = [rate for rate in rates if not rate.untold]
    return _after_ladder(state, known, grid) if known else _found(state, "too few")


def _rung(rates: Sequence[Rate], grid: _Grid) -> int | None:
    """The next share of the ladder; it ends where the server is full."""
    offered = {grid.nearest(rate.rate_per_s) for rate in rates}
    if any(run.saturated for rate in rates for run in rate.first):
        return None
    return next((k for share in LADDER if (k := grid.nearest(share * grid.top_per_s)) not in offered), None)


def _lone(rates: Sequence[Rate]) -> Rate | None:
    """A rate that one run alone refuses, where a higher one holds; or the lowest refused, where a lower one holds."""
    holding = [rate.rate_per_s for rate in rates if rate.clearly_holds]
    lowest = True
    for rate in rates:
        if not rate.clearly_fails:
            continue
        among = (max(holding) > rate.rate_per_s or (lowest and min(holding) < rate.rate_per_s)) if holding else False
        if len(rate.taken) == 1 and among:
            return rate
        lowest = False
    return None


def _after_ladder(state: _State, rates: Sequence[Rate], grid: _Grid) -> Step | Found:
    refuted = [rate for rate in rates if rate.refuted]
    high = grid.nearest(refuted[0].rate_per_s) if refuted else None
    below = [rate for rate in rates if high is None or grid.nearest(rate.rate_per_s) < high]
    if high is None:
        highest = rates[-1]
        if highest.clearly_holds:
            if highest.confirmed(state.rules.confirmations):
                return _found(state, "open")
            if highest.rate_per_s * CLIMB > CLIMB_MAX * grid.top_per_s:
                return _confirm(state, grid, rates, None, grid.nearest(highest.rate_per_s))
            return _offer(state, "closing in", grid, grid.nearest(highest.rate_per_s * CLIMB))
    elif not below and not any(rate.fresh for rate in rates):
        return _downwards(state, rates, grid)
    near = sum(len(rate.first) for rate in below if not rate.clearly_holds)
    low = max((grid.nearest(rate.rate_per_s) for rate in below if rate.clearly_holds or rate.fresh), default=None)
    confirming = any(rate.fresh for rate in rates)
    if high is not None and low is not None and near < NEAR and high - low > NARROW and not confirming:
        return _offer(state, "closing in", grid, _within(_crossing(rates, grid), low, high))
    return _confirm(state, grid, rates, high, low)


def _downwards(state: _State, rates: Sequence[Rate], grid: _Grid) -> Step | Found:
    """Nothing holds so far: a quarter of the lowest rate, unless it would be too few transactions to tell.

    Where the generator was late at the lowest, a lower rate would tell no more of the server.
    """
    lowest = rates[0]
    if state.rules.stops and lowest.why == "generator":
        return _found(state, "generator")
    rate = lowest.rate_per_s * SINK
    if rate < SINK_MIN * grid.top_per_s:
        return _found(state, "none")
    return _offer(state, "closing in", grid, grid.nearest(rate))


def _confirm(state: _State, grid: _Grid, rates: Sequence[Rate], high: int | None, low: int | None) -> Step | Found:
    """A fresh run at the rate that is being confirmed, or at the next one to be."""
    wanted = state.rules.confirmations
    done = [grid.nearest(rate.rate_per_s) for rate in rates if rate.confirmed(wanted)]
    at = max(done, default=None)
    if high is not None and at is not None and at >= high:  # noise: a lower rate was refuted after it
        at = max((k for k in done if k < high), default=None)
    started = [
        grid.nearest(rate.rate_per_s) for rate in rates
        if rate.fresh and not rate.refuted and not rate.confirmed(wanted)
    ]  # fmt: skip
    if started and (high is None or min(started) < high):
        return _offer(state, "confirming", grid, min(started))
    if at is not None and high is not None and high - at <= 1:
        return _found(state, None)
    tried = [rate for rate in rates if rate.fresh and rate.refuted]
    refused = [grid.nearest(rate.rate_per_s) for rate in tried]
    if state.rules.stops and at is None and len(tried) >= PATIENT and all(rate.why == "generator" for rate in tried):
        return _found(state, "generator")
    if at is not None and high is not None:
        aimed = (at + high) // 2
    elif refused:
        aimed = min(refused) - max(1, 2 ** (len(refused) - PATIENT))
    else:
        aimed = math.floor(_crossing(rates, grid)) + AIM
        aimed = aimed if at is None else max(aimed, at + 1)
    if high is not None:
        aimed = min(aimed, high - 1)
    elif grid.rate(aimed) > CLIMB_MAX * grid.top_per_s:
        return _found(state, "open") if at is not None else _offer(state, "confirming", grid, low or 0)
    if grid.rate(aimed) < SINK_MIN * grid.top_per_s:
        return _found(state, "none")
    return _offer(state, "confirming", grid, aimed)


def _within(at: float, low: int, high: int) -> int:
    """A place that leaves a part of the bracket on either side."""
    margin = max(1, round((high - low) * 0.15))
    return int(max(low + margin, min(round(at), high - margin)))


def _crossing(rates: Iterable[Rate], grid: _Grid) -> float:
    """Where 1/latency meets the limit, as a place on the grid: by a line through the runs near it, by least squares, or
    through the two rates on either side."""
    rates = tuple(rates)
    near = [
        (rate.rate_per_s, 1 / one.run.ratio)
        for rate in rates
        for one in rate.counted
        if 1 / WINDOW <= one.run.ratio <= WINDOW and not one.run.saturated
    ]
    if len({rate for rate, _ in near}) > 1:
        at, inverse = (np.array(column) for column in zip(*near, strict=True))
        slope, start = np.polyfit(at, inverse, 1)
        if slope < 0 and at.min() * 0.8 < (crossed := (1 - start) / slope) < at.max() * 1.25:
            return grid.place(float(crossed))
    lower = [rate for rate in rates if rate.ratio < 1 and not rate.clearly_fails]
    upper = [rate for rate in rates if rate.ratio >= 1 or rate.clearly_fails]
    if not lower or not upper:
        return grid.place((upper[0] if upper else lower[-1]).rate_per_s)
    under, over = lower[-1], next((rate for rate in upper if rate.rate_per_s > lower[-1].rate_per_s), upper[-1])
    a, b = 1 / under.ratio, 0.0 if math.isinf(over.ratio) or (over.clearly_fails and over.ratio < 1) else 1 / over.ratio
    share = (a - 1) / (a - b) if a > b else 0.5
    return grid.place(under.rate_per_s + share * (over.rate_per_s - under.rate_per_s))


def _offer(state: _State, phase: Phase, grid: _Grid, k: int) -> Step | Found:
    """A run at that place of the grid, unless runs there are known to be too short."""
    return _found(state, "too few") if grid.rate(k) <= state.untold_per_s else _step(state, phase, grid, k)


def _step(state: _State, phase: Phase, grid: _Grid, k: int) -> Step:
    rate = grid.rate(k)
    number = sum(1 for one in state.taken if one.step.rate_per_s == rate) + 1
    return Step(phase, rate, number)


def _found(state: _State, ending: Ending | None) -> Found:
    rates = state.rates()
    wanted = state.rules.confirmations
    refuted_at = min((rate.rate_per_s for rate in rates if rate.refuted and not rate.untold), default=math.inf)
    confirmed = max(
        (rate for rate in rates if rate.confirmed(wanted) and rate.rate_per_s < refuted_at),
        key=lambda rate: rate.rate_per_s,
        default=None,
    )
    above = [rate for rate in rates if rate.refuted and not rate.untold]
    refuted = above[0] if above else None
    if ending is None:
        why = refuted.why if refuted else None
        ending = {"unserved": "saturated", "growing": "saturated", "generator": "generator"}.get(str(why), "limit")  # type: ignore[assignment]
    assert ending is not None
    if confirmed is None and ending in ("none", "too few", "budget") and _generators(rates):
        ending = "generator"
    return Found(ending, confirmed, refuted, rates, state.closed, len(state.taken))
