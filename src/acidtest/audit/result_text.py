"""Results as rules speak of them: in the unit of their author, and one finding for all that have one cause."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from acidtest.audit.bench import OURS, Bench, Published
from acidtest.finding import Certainty, Evidence, Found, Rule, rule
from acidtest.words import counted

TRIED_LEAST = 100  # transactions: fewer are a test of the connection
NONE_LEAST = 10  # failures of a run of which nothing succeeded
# Tools whose answers are those of a program between, which may be meant to refuse: a refusal is no fault then.
OVER_HTTP = frozenset(("k6", "jmeter", "ab", "wrk", "hey", "vegeta"))
# Tools whose rate is of all that were sent, whatever became of them.
COUNTS_ALL = OVER_HTTP | {"ycsb"}

ASSIGNED = re.compile(r"(\w{1,20}) = (\d{1,15}\.\d{1,9})")  # "tps = 312.137531"


@dataclass(frozen=True)
class Seen:
    """One result of which a rule has something to say."""

    of: Published
    text: str  # without the full stop
    evidence: tuple[Evidence, ...]
    weight: float = 0.0  # how bad it is; the worst is the one that is told


def gathered(seen: Iterable[Seen], certainty: Certainty | None = None) -> Iterator[Found]:
    """One finding for each tool, for what several of its results have in common has one cause. It tells the worst of
    them, and all are evidence."""
    by_tool: dict[str, list[Seen]] = defaultdict(list)
    for one in seen:
        by_tool[one.of.tool].append(one)
    for of in by_tool.values():
        worst, *others = sorted(of, key=lambda one: -one.weight)  # stable: of equal ones the first
        more = and_more(len(others), "result", before="the like in ")
        evidence = dict.fromkeys(said for one in (worst, *others) for said in one.evidence)
        yield Found(f"{worst.text}{more}.", tuple(evidence), certainty)


def over_results(
    name: str, *, among: Callable[[Bench], Iterable[Published]] = lambda bench: bench.published, **texts: Any
) -> Callable[[Callable[[Published], Seen | None]], Rule[Bench]]:
    """Make the decorated function a rule: what it says of each of the results ``among`` those of a benchmark."""

    def made(look: Callable[[Published], Seen | None]) -> Rule[Bench]:
        def find(bench: Bench) -> Iterator[Found]:
            yield from gathered(seen for line in among(bench) if (seen := look(line)))

        return rule(name, **texts)(find)

    return made


def and_more(count: int, what: str, before: str = "", after: str = "") -> str:
    """``, and 3 more rows``: behind what is told of one and holds of ``count`` others; "" where there are none."""
    return f", and {before}{counted(count, f'more {what}')}{after}" if count else ""


def rate(one: Published) -> str:
    """Its rate in the unit of its author."""
    if one.written:
        stands = ASSIGNED.fullmatch(one.written)
        return f"{float(stands[2]):,.1f} {stands[1]}" if stands else one.written
    if one.nopm and not one.tpm:
        return f"{counted(one.nopm, 'new order', spec=',.0f')} a minute"
    if one.tpm:
        return f"{one.tpm:,.0f} TPM"
    if one.rate is None and one.bytes_per_s:
        return f"{one.bytes_per_s / 1e6:,.1f} MB a second"
    return f"{one.rate or 0:,.1f} {one.unit} a second"


def between(of: Sequence[Published]) -> str:
    """The smallest and the largest rate of several, in the unit of their author."""
    ranked = sorted(of, key=lambda published: published.rate or 0)
    least, most = rate(ranked[0]), rate(ranked[-1])
    figure, _, unit = least.partition(" ")
    return f"{figure if most.endswith(f' {unit}') else least} and {most}"


def called(one: Published) -> str:
    """The result by its name, and by its file where that is not the name."""
    file = one.where.file.rpartition("/")[2]
    if one.tool == OURS:
        return one.name  # that says which row it is
    return one.name if not one.name or one.name.lower() == file.lower() else f"{one.name} in {file}"


def failed_share(one: Published) -> float | None:
    """The share of all attempts that failed; None where that is not known."""
    if one.failed_share is not None:
        return one.failed_share
    if one.attempts and one.rate is not None and one.attempts > one.rate and one.errors is not None:
        return 1 - one.rate / one.attempts
    if one.rate == 0 and (one.errors or 0) >= NONE_LEAST:
        return 1.0
    done = one.rate * one.measured_s if one.rate and one.measured_s else None
    if one.errors is None or not done:
        return None
    tried = done if one.tool in COUNTS_ALL else done + one.errors
    return min(1.0, one.errors / tried) if tried >= TRIED_LEAST else None
