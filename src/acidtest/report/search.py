"""Searches for the highest rate as a report shows them: a line a combination, the answer in words, and every rate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acidtest.analysis import REPETITIONS_FOR_INTERVAL, power
from acidtest.analysis.pairs import base_of
from acidtest.analysis.search.recorded import Search, figures, searches, varying
from acidtest.analysis.search.run import SearchRun
from acidtest.analysis.search.steps import Rate, refused_for, unordered
from acidtest.doubts import judge
from acidtest.doubts.rules.searches import OFFER
from acidtest.doubts.unchecked import of_run
from acidtest.finding import Finding, Unchecked, waived
from acidtest.journal.models import Journal
from acidtest.limits import Clause, Limit, milliseconds
from acidtest.report.line import name_of
from acidtest.report.numbers import number
from acidtest.report.verdicts import found
from acidtest.words import counted
from acidtest.workload import unit

WHY = {
    "limit": "over the limit",
    "unserved": "overloaded: arrivals left unanswered",
    "growing": "queue grows",
    "generator": "generator late",
    "too few": "too few transactions",
}
ENDED = {
    "limit": "the limit",
    "saturated": "the server is full",
    "generator": "the generator",
    "none": "no rate holds",
    "open": "nothing found",
    "too few": "runs too short",
    "budget": "runs_max",
    "closed loop": "nothing committed",
}


@dataclass(frozen=True)
class Relative:
    """A rate with the base's as 100. The bounds are those that neither of the two highest rates can leave: from the
    confirmed rate over the base's refuted one, to the refuted over the base's confirmed."""

    value: float
    low: float | None
    high: float | None

    @property
    def smallest_ratio(self) -> float | None:
        """Of the lower rate to the higher: the smallest difference that these steps always show.

        A rate is known to lie within its own step, so that two rates whose ratio is beyond both steps together have
        bounds that do not overlap.
        """
        return self.low / self.high if self.low and self.high else None


@dataclass(frozen=True)
class Line:
    """One combination."""

    search: Search
    label: str
    relative: Relative | None  # None without a base, or without both rates
    is_base: bool

    @property
    def rate_per_s(self) -> float | None:
        return self.search.confirmed.rate_per_s if self.search.confirmed else None

    @property
    def refuted_per_s(self) -> float | None:
        found = self.search.found
        return found.refuted.rate_per_s if found and found.refuted else None

    @property
    def ends(self) -> str:
        """What the rate is limited by, in a word or a few."""
        if self.search.broken:
            return f"a run {'failed' if self.search.broken.status == 'failed' else 'is invalid'}"
        if self.search.untellable:
            return "cannot tell"
        return ENDED[self.search.found.ending] if self.search.found else "goes on"

    @property
    def verdict(self) -> str:
        """Against the base: bounds that overlap show no difference."""
        one = self.relative
        if self.is_base or one is None or one.low is None or one.high is None:
            return ""
        if one.low > 100 or one.high < 100:
            return "higher" if one.low > 100 else "lower"
        return "no difference shown" if power.decides(one.smallest_ratio) else "cannot tell"


@dataclass(frozen=True)
class SearchResults:
    """All that a report of searches shows."""

    journal: Journal
    lines: tuple[Line, ...]
    factors: tuple[str, ...]  # that vary
    findings: tuple[Finding, ...]  # of the audit, over the rates that were confirmed
    unchecked: tuple[Unchecked, ...]
    base: Mapping[str, str]

    @property
    def limit(self) -> str:
        return str(self.journal.header.experiment["search"]["limit"])

    @property
    def severe(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.severe]

    @property
    def undecided(self) -> list[str]:
        """Beside verdicts that name no winner: which difference from the base these steps would have shown."""
        said = []
        ratios = {
            verdict: [line.relative.smallest_ratio for line in self.lines if line.verdict == verdict and line.relative]
            for verdict in ("no difference shown", "cannot tell")
        }
        if none := [ratio for ratio in ratios["no difference shown"] if ratio is not None]:
            said.append(f"No difference shown: {found(none)} would have been noticed with these steps.")
        if ratios["cannot tell"]:
            said.append("Cannot tell: steps are so wide that even half the rate would not have been shown to be lower.")
        return said

    @property
    def missing(self) -> str:
        """Of the combinations, those whose search has not ended; "" where all have."""
        ended = sum(line.search.ended for line in self.lines)
        left = self.journal.header.cells - ended
        of = counted(self.journal.header.cells, "search", "searches")
        return f"{left:,} of {of} {'has' if left == 1 else 'have'} not ended yet." if left > 0 else ""

    @property
    def counted(self) -> str:
        return unit(str(self.lines[0].search.first.workload["kind"])) if self.lines else "commits"

    def as_json(self) -> dict[str, Any]:
        """For programs; docs/SEARCH.md has the keys."""
        return {
            "experiment": self.journal.header.experiment["name"],
            "journal": self.journal.path,
            "limit": self.limit,
            "base": dict(self.base),
            "searches": [_line_json(line) for line in self.lines],
            "findings": [finding.as_json() for finding in self.findings],
            "not_checked": [one.as_json() for one in self.unchecked],
            "not_ended": self.missing,
            "damaged": [one.model_dump() for one in self.journal.damaged],
        }


def results(
    journal: Journal, waivers: Mapping[str, str] | None = None, compared_sides: Sequence[Finding] = ()
) -> SearchResults:
    """Everything that a journal of searches shows; ``compared_sides`` as of ``results.results``."""
    found = searches(journal.header, journal.recordings)
    factors = tuple(varying(found))
    base = journal.header.base
    waivers = journal.header.experiment.get("waive", {}) if waivers is None else waivers
    against = {id(one): _base(one, found, base) for one in found}
    lines = tuple(
        Line(one, name_of(one, factors), _relative(one, against[id(one)]), against[id(one)] is one) for one in found
    )
    findings = tuple(waived([*judge.of_searches(journal), *compared_sides], waivers))
    return SearchResults(journal, lines, factors, findings, tuple(of_run(judge.claimed(journal))), base)


def _base(search: Search, among: Sequence[Search], base: Mapping[str, str]) -> Search | None:
    by_row = [(judge.row_of(search), search) for search in among]
    mine = next(row for row, one in by_row if one is search)
    chosen = base_of(mine, [row for row, _ in by_row], base)
    return next((one for row, one in by_row if row is chosen), None)


def _relative(search: Search, base: Search | None) -> Relative | None:
    mine, theirs = search.found, base.found if base else None
    if not (mine and theirs and mine.confirmed and theirs.confirmed):
        return None
    low, high = mine.confirmed.rate_per_s, mine.refuted.rate_per_s if mine.refuted else None
    base_low = theirs.confirmed.rate_per_s
    base_high = theirs.refuted.rate_per_s if theirs.refuted else None
    return Relative(
        100 * low / base_low,
        100 * low / base_high if base_high else None,
        100 * high / base_low if high else None,
    )


# ------------------------------------------------------------------------------------------------------------- words


def rate(value: float | None) -> str:
    """A rate with four digits, as it was offered."""
    return number(value, 4)


def spread(values: Sequence[float]) -> str:
    """Times of several runs: ``8.2 to 9.4 ms``."""
    if not values:
        return "no figure"
    low, high = milliseconds(min(values)), milliseconds(max(values))
    if low == high:
        return low
    amount, _, of = low.partition(" ")
    return f"{amount} to {high}" if high.endswith(f" {of}") else f"{low} to {high}"


def said_of(run: SearchRun, limit: Limit) -> str:
    """What one run has shown: ``p99 8.2 ms, holds``."""
    if run.rate_per_s is None:
        return f"{rate(run.served_per_s)} a second"
    values = ", ".join(
        f"{clause.figure} {milliseconds(value)}"
        for clause, value in zip(limit.clauses, run.values_ms, strict=True)
        if math.isfinite(value)
    )
    return ": ".join(filter(None, (values, WHY[run.why] if run.why else "holds")))


def sentences(line: Line) -> list[str]:
    """The answer of one combination, in plain words."""
    search = line.search
    if search.broken:
        return [f"The search broke off: {search.broken.cell} is {search.broken.status}: {search.broken.reason}"]
    if search.found is None:
        return [f"The search has not ended: {counted(len(search.taken), 'run')} so far. The same command goes on."]
    return [*_answer(search), *_out_of_order(search), *_picture(search)]


def _answer(search: Search) -> list[str]:
    found = search.found
    assert found is not None
    limit, confirmed, refuted = search.asked.limit, found.confirmed, found.refuted
    shown = []
    if confirmed:
        runs = len(confirmed.fresh)
        held = f"in all {runs} fresh runs" if runs > 2 else "in both fresh runs" if runs == 2 else "in one fresh run"
        values = "; ".join(
            f"{clause.figure} {spread(figures(confirmed, n, 'confirming'))}" for n, clause in enumerate(limit.clauses)
        )
        shown.append(f"{rate(confirmed.rate_per_s)} a second hold {limit} {held} ({values}).")
        if runs < REPETITIONS_FOR_INTERVAL:
            shown.append(f"That is a first look: fewer than {REPETITIONS_FOR_INTERVAL} runs show no interval.")
    elif found.ending in ("limit", "saturated"):
        shown.append(f"No rate was confirmed to hold {limit}.")
    shown.append(_ending(search, refuted))
    return [one for one in shown if one]


def _out_of_order(search: Search) -> list[str]:
    """Runs that another one of the same rate contradicts, and a rate that does not hold below one that does."""
    limit = search.asked.limit
    shown = [
        f"One run at {rate(one.rate_per_s)} a second did not hold ({said_of(one.aside.run, limit)}), and the next one "
        "there did: the first is set aside."
        for one in search.rates
        if one.aside
    ]
    if pair := unordered(search.rates):
        low, high = pair
        shown.append(
            f"The rates are out of order: {rate(low.rate_per_s)} a second did not hold "
            f"({said_of(low.first[0], limit)}), and {rate(high.rate_per_s)} did ({said_of(high.first[0], limit)}). "
            "Something else than the load acts here, such as a checkpoint, so no knee is shown: make the runs longer."
        )
    return shown


def _ending(search: Search, refuted: Rate | None) -> str:
    found, closed = search.found, search.closed
    assert found is not None
    limit = search.asked.limit
    at = f"{rate(refuted.rate_per_s)} a second" if refuted else ""
    match found.ending:
        case "limit" if refuted:
            return f"At {at} it does not hold: {_over(refuted, limit.clauses)}."
        case "saturated" if refuted:
            return f"The limit is not the reason that more do not: at {at} the server is full, {_full(refuted)}."
        case "generator" if found.confirmed is None:
            return _untellable(search)
        case "generator" if refuted:
            return (
                f"At {at} the load generator was the bottleneck: it began arrivals too late, or had no time left. The "
                f"server may do more. {OFFER}"
            )
        case "none":
            lowest = found.rates[0]
            return (
                f"No rate holds {limit}: even at {rate(lowest.rate_per_s)} a second, "
                f"{part_of(lowest.rate_per_s, closed.served_per_s if closed else 0)} of what a closed loop reaches, "
                f"{_over(lowest, limit.clauses)}."
            )
        case "open":
            highest = found.rates[-1]
            return (
                f"The limit was never crossed: {rate(highest.rate_per_s)} a second were the most that was offered, "
                "several times what a closed loop of these terminals reaches."
            )
        case "too few":
            needed = max(one.run.needed for one in search.taken)
            broke = next((rate for rate in found.rates if rate.why == "limit"), None)
            lowest_broken = (
                f"Down to {rate(broke.rate_per_s)} a second no rate holds: {_over(broke, limit.clauses)}. "
                if broke
                else ""
            )
            return lowest_broken + (
                f"The runs are too short to tell: a percentile of the limit needs {counted(needed, 'transaction')} in "
                "a run. Give duration_s more."
            )
        case "budget":
            return (
                f"No answer after {counted(found.runs, 'run')}, the most that runs_max allows: the runs differ too "
                "much. Give duration_s more, or step_percent."
            )
    return "No transaction was committed in the closed loop, so that no rate could be tried."


def _untellable(search: Search) -> str:
    """Nothing is confirmed, and what was refused says more of the machine than of the server."""
    why = refused_for(search.rates)
    others = {WHY[one]: why.count(one) for one in dict.fromkeys(why) if one != "generator"}
    rest = f" ({', '.join(f'{count:,} × {said}' for said, count in others.items())})" if others else ""
    offered = f"{rate(search.rates[0].rate_per_s)} to {rate(search.rates[-1].rate_per_s)} a second"
    return (
        f"Cannot tell which rate holds {search.asked.limit}: this machine was too busy to offer the rates. In "
        f"{why.count('generator'):,} of {counted(len(why), 'run')} that did not hold, at {offered}, the load generator "
        f"began arrivals too late, or had no time left{rest}. {OFFER}"
    )


def _over(refuted: Rate, clauses: Sequence[Clause]) -> str:
    worst = max(refuted.taken, key=lambda one: one.run.ratio).run
    over = [
        f"{clause.figure} {'left arrivals unanswered' if math.isinf(value) else f'was {milliseconds(value)}'}"
        for clause, value in zip(clauses, worst.values_ms, strict=True)
        if value >= clause.limit_ms
    ]
    return " and ".join(over) or "the interval over its runs reaches the limit"


def _full(refuted: Rate) -> str:
    runs = [one.run for one in refuted.taken if one.run.saturated]
    unserved = max((run.unserved for run in runs if run.why == "unserved"), default=None)
    if unserved is not None:
        return f"{unserved:.1%} of the arrivals had no answer in time"
    return "each second was slower than the one before"


def part_of(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else "–"


def _picture(search: Search) -> list[str]:
    shown = []
    closed, most, knee = search.closed, search.most_per_s(), search.knee()
    if most and closed:
        shown.append(
            f"The most that was served was {rate(most)} a second of what was offered, and {rate(closed.served_per_s)} "
            f"in a closed loop of {counted(_terminals(search), 'terminal')}."
        )
    elif closed:
        shown.append(
            f"A closed loop of {counted(_terminals(search), 'terminal')} reached {rate(closed.served_per_s)} a second."
        )
    if knee:
        shown.append(
            f"The knee lies near {rate(knee.rate_per_s)} a second: beyond it each further transaction costs more in "
            "latency than it brings in rate."
        )
    return shown


def _terminals(search: Search) -> int:
    return int(search.first.workload.get("terminals", 1))


def answers(found: SearchResults) -> list[str]:
    """For the head of a page: of one combination all sentences, of several the rate of each."""
    if len(found.lines) == 1:
        return sentences(found.lines[0])
    held = [line for line in found.lines if line.rate_per_s]
    lines = []
    if held:
        best = max(held, key=lambda line: line.rate_per_s or 0)
        lines.append(f"Highest of all: {best.label} with {rate(best.rate_per_s)} a second under {found.limit}.")
    for line in found.lines:
        if line.rate_per_s is None:
            lines.append(f"{line.label}: {sentences(line)[0]}")
    return lines


# ---------------------------------------------------------------------------------------------------------- programs


def _line_json(line: Line) -> dict[str, Any]:
    search, found = line.search, line.search.found
    knee = search.knee()
    return {
        "levels": dict(search.levels),
        "ended": search.ended,
        "limited_by": found.ending if found else None,
        "highest_rate_per_s": line.rate_per_s,
        "refuted_rate_per_s": line.refuted_per_s,
        "confirmations": len(search.confirmed.fresh) if search.confirmed else 0,
        "closed_loop_per_s": search.closed.served_per_s if search.closed else None,
        "most_served_per_s": search.most_per_s(),
        "knee_per_s": knee.rate_per_s if knee else None,
        "relative": vars(line.relative) if line.relative else None,
        "smallest_ratio": line.relative.smallest_ratio if line.relative else None,
        "is_base": line.is_base,
        "verdict": line.verdict or None,
        "sentences": sentences(line),
        "broken": search.broken.cell if search.broken else None,
        "runs": [
            {
                "phase": one.step.phase,
                "offered_per_s": one.step.rate_per_s,
                "served_per_s": one.run.served_per_s,
                "figures_ms": {
                    clause.figure: value if math.isfinite(value) else None
                    for clause, value in zip(search.asked.limit.clauses, one.run.values_ms, strict=True)
                },
                "p50_ms": _finite(one.run.p50_ms),
                "p99_ms": _finite(one.run.p99_ms),
                "unserved": one.run.unserved,
                "holds": one.run.holds if one.step.rate_per_s is not None else None,
                "why": one.run.why,
                "cell": recording.cell,
            }
            for one, recording in zip(search.taken, search.recordings, strict=True)
        ],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
