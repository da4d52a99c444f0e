"""Parts of runs over the repetitions of a row: classes of terminals, and stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acidtest.analysis.kinds import KindSummary, of_kinds
from acidtest.analysis.latency import Percentile, merge, percentiles
from acidtest.analysis.samples import Row
from acidtest.analysis.summary import Summary, summarise
from acidtest.journal.protocol import RunResult, StageResult, Tally

COUNTED = ("committed", "rolled_back", "conflicts", "retries", "given_up", "errors")


@dataclass(frozen=True)
class Part:
    """One class of terminals, or one stage; counts and latencies are of all repetitions together."""

    name: str  # of a class; of a stage what it asks for
    terminals: int | None  # of a class
    at_s: float | None  # of a stage
    length_s: float | None  # of a stage, as planned
    goodput: Summary  # commits a second
    throughput: Summary  # attempts that ended a second, whatever their end
    counts: Mapping[str, int]  # COUNTED
    arrivals: Mapping[str, int] | None  # scheduled, late, unfinished; None where nothing arrives by a schedule
    percentiles: tuple[Percentile, ...]  # of latency.SHOWN, then the maximum
    kinds: tuple[KindSummary, ...]


def counts(measured: Sequence[RunResult | Tally]) -> dict[str, int]:
    """``COUNTED``, of all together."""
    return {name: sum(getattr(one.counts, name) for one in measured) for name in COUNTED}


def arrivals(measured: Sequence[RunResult | Tally]) -> dict[str, int] | None:
    """How many were scheduled, late and unfinished, of all together; None where nothing arrives by a schedule."""
    arrived = [one.arrivals for one in measured if one.arrivals]
    names = ("scheduled", "late", "unfinished")
    return {name: sum(getattr(one, name) for one in arrived) for name in names} if arrived else None


def classes(row: Row) -> tuple[Part, ...]:
    """The classes of the row's terminals, in their order; none where all are alike."""
    results = row.results
    if not results:
        return ()
    found = []
    for position, first in enumerate(results[0].classes):
        of = [(result.classes[position].tally, result.measured_s) for result in results]
        found.append(_part(first.name, of, terminals=first.terminals))
    return tuple(found)


def stages(row: Row) -> tuple[Part, ...]:
    """The stages of the row's load, in their order; none where the load does not change."""
    results = row.results
    if not results:
        return ()
    is_open = results[0].arrivals is not None
    found = []
    for position, first in enumerate(results[0].stages):
        of = [(result.stages[position].tally, result.stages[position].length_s) for result in results]
        name = _asked(first, is_open=is_open)
        found.append(_part(name, of, at_s=first.at_s, length_s=min(length_s for _, length_s in of)))
    return tuple(found)


def _asked(stage: StageResult, *, is_open: bool) -> str:
    what = "arrivals/s" if is_open else "terminal" if stage.from_ == stage.to == 1 else "terminals"
    if stage.from_ == stage.to:
        return f"{stage.from_:,.6g} {what}"
    return f"{stage.from_:,.6g} to {stage.to:,.6g} {what}"


def _part(
    name: str,
    of: Sequence[tuple[Tally, float]],
    *,
    terminals: int | None = None,
    at_s: float | None = None,
    length_s: float | None = None,
) -> Part:
    tallies = [tally for tally, _ in of]
    ended = ("committed", "rolled_back", "conflicts", "errors")
    return Part(
        name=name,
        terminals=terminals,
        at_s=at_s,
        length_s=length_s,
        goodput=summarise([tally.counts.committed / seconds for tally, seconds in of]),
        throughput=summarise([sum(getattr(tally.counts, n) for n in ended) / seconds for tally, seconds in of]),
        counts=counts(tallies),
        arrivals=arrivals(tallies),
        percentiles=percentiles(merge([tally.latency for tally in tallies])),
        kinds=of_kinds([tally.kinds for tally in tallies]),
    )
