"""One load that several rigs drove together: their parts as the one result that a single rig would have brought.

Nothing is estimated. Counts are added; histograms are added bucket by bucket, and buckets are the same in every
rig; seconds have one time base, for all parts began at one moment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from acidtest.analysis.latency import merge
from acidtest.journal.protocol import (
    AcknowledgedTotals,
    ArrivalCounts,
    ClassCount,
    ClassResult,
    Connections,
    Counts,
    Cpu,
    ErrorSample,
    IdleSessionsSeen,
    Kind,
    RunResult,
    Second,
    Shared,
    SharedSecond,
    StageResult,
    Tally,
)

# What ends later than the last whole second by no more than this makes no second of its own; as in the rig.
LAST_SECOND_S = 0.05


@dataclass(frozen=True)
class Part:
    """What one rig brought."""

    result: RunResult
    shared: Shared


def together(parts: Sequence[Part]) -> RunResult:
    """The result of the whole load. Raises ValueError where there is no part."""
    if not parts:
        raise ValueError("a load without parts has no result")
    results = [part.result for part in parts]
    first = results[0]
    measured_s = max(result.measured_s for result in results)
    counts = _counts([result.counts for result in results])
    finished = counts.committed + counts.rolled_back + counts.conflicts + counts.errors
    return RunResult(
        terminals=sum(result.terminals for result in results),
        threads=sum(result.threads for result in results),
        warmup_s=first.warmup_s,
        measured_s=measured_s,
        counts=counts,
        arrivals=_arrivals([result.arrivals for result in results]),
        throughput_per_s=finished / measured_s,
        goodput_per_s=counts.committed / measured_s,
        latency=merge([result.latency for result in results]),
        service=merge([result.service for result in results]),
        kinds=_kinds([result.kinds for result in results]),
        series=series([part.shared for part in parts], first.warmup_s, measured_s),
        cpu=_cpu([result.cpu for result in results]),
        error_samples=_samples(results),
        classes=[
            ClassResult(
                name=of[0].name,
                terminals=sum(one.terminals for one in of),
                tally=_tally([one.tally for one in of]),
            )
            for of in zip(*(result.classes for result in results), strict=True)
        ],
        stages=_stages(results, measured_s),
        sleepers=_sleepers([result.sleepers for result in results if result.sleepers]),
        connections=_connections([result.connections for result in results if result.connections]),
    )


def acknowledged_totals(parts: Sequence[Shared]) -> AcknowledgedTotals:
    """All that the engine acknowledged to any of them."""
    of = [part.told for part in parts]
    units = [one.units for one in of if one.units is not None]
    return AcknowledgedTotals(
        committed=sum(one.committed for one in of),
        unknown=sum(one.unknown for one in of),
        kinds=[sum(kinds) for kinds in zip(*(one.kinds for one in of), strict=True)],
        units=(sum(unit[0] for unit in units), sum(unit[1] for unit in units)) if len(units) == len(of) else None,
    )


def series(parts: Sequence[Shared], warmup_s: float, measured_s: float) -> list[Second]:
    """Every second from the start of the warm-up to the end, also those in which nothing ended."""
    last = max(math.ceil(measured_s - LAST_SECOND_S) - 1, 0)
    merged: dict[int, list[SharedSecond]] = {}
    for part in parts:
        for second in part.seconds:
            merged.setdefault(min(second.second, last), []).append(second)
    return [
        _second(number, merged.get(number, []), last, warmup_s, measured_s)
        for number in range(-math.ceil(warmup_s), last + 1)
    ]


def _second(number: int, of: Sequence[SharedSecond], last: int, warmup_s: float, measured_s: float) -> Second:
    start = max(float(number), -warmup_s)
    end = measured_s if number == last else min(number + 1.0, 0.0 if number < 0 else measured_s)
    latencies: dict[int, int] = {}
    for shared_second in of:
        for value, count in shared_second.latencies:
            latencies[value] = latencies.get(value, 0) + count
    return Second(
        at_s=start,
        length_s=max(end - start, 0.0),
        committed=sum(shared_second.committed for shared_second in of),
        conflicts=sum(shared_second.conflicts for shared_second in of),
        errors=sum(shared_second.errors for shared_second in of),
        latency_ns_p50=_quantile(latencies, 0.50),
        latency_ns_p99=_quantile(latencies, 0.99),
        latency_ns_max=max((shared_second.latency_ns_max for shared_second in of), default=0),
    )


def _quantile(latencies: dict[int, int], part: float) -> int:
    """The smallest value that at least ``part`` of all values do not exceed; 0 when there is none."""
    wanted = math.ceil(sum(latencies.values()) * part)
    seen = 0
    for value, count in sorted(latencies.items()):
        seen += count
        if seen >= wanted:
            return value
    return 0


def _counts(of: Sequence[Counts]) -> Counts:
    classes: dict[str, int] = {}
    for counts in of:
        for of_class in counts.classes:
            classes[of_class.class_] = classes.get(of_class.class_, 0) + of_class.count
    sums = {name: sum(getattr(counts, name) for counts in of) for name in Counts.model_fields if name != "classes"}
    return Counts(
        **sums, classes=[ClassCount.model_validate({"class": name, "count": many}) for name, many in classes.items()]
    )


def _arrivals(of: Sequence[ArrivalCounts | None]) -> ArrivalCounts | None:
    there = [one for one in of if one is not None]
    if not there:
        return None
    return ArrivalCounts(
        scheduled=sum(one.scheduled for one in there),
        late=sum(one.late for one in there),
        unfinished=sum(one.unfinished for one in there),
        unfinished_wait_ms_max=max(one.unfinished_wait_ms_max for one in there),
        lateness=merge([one.lateness for one in there if one.lateness]),
    )


def _kinds(of: Sequence[Sequence[Kind]]) -> list[Kind]:
    return [
        Kind(
            name=same[0].name,
            committed=sum(one.committed for one in same),
            rolled_back=sum(one.rolled_back for one in same),
            conflicts=sum(one.conflicts for one in same),
            given_up=sum(one.given_up for one in same),
            errors=sum(one.errors for one in same),
            latency=merge([one.latency for one in same]),
            limit_ms=same[0].limit_ms,
        )
        for same in zip(*of, strict=True)
    ]


def _tally(of: Sequence[Tally]) -> Tally:
    return Tally(
        counts=_counts([tally.counts for tally in of]),
        arrivals=_arrivals([tally.arrivals for tally in of]),
        latency=merge([tally.latency for tally in of]),
        service=merge([tally.service for tally in of]),
        kinds=_kinds([tally.kinds for tally in of]),
    )


def _stages(results: Sequence[RunResult], measured_s: float) -> list[StageResult]:
    """A stage is of the whole load: its height is planned, and the last lasts until the last part has ended."""
    stages = []
    for position, planned in enumerate(results[0].stages):
        is_last = position == len(results[0].stages) - 1
        update = {
            "length_s": measured_s - planned.at_s if is_last else planned.length_s,
            "tally": _tally([result.stages[position].tally for result in results]),
        }
        stages.append(planned.model_copy(update=update))
    return stages


def _cpu(of: Sequence[Cpu]) -> Cpu:
    """Processor time of all processes; what a transaction took is the mean over all that were sampled."""
    sampled = sum(cpu.sampled_transactions for cpu in of)

    def mean(value: Callable[[Cpu], float]) -> float:
        return sum(value(one) * one.sampled_transactions for one in of) / sampled if sampled else 0.0

    return Cpu(
        process_user_s=sum(cpu.process_user_s for cpu in of),
        process_system_s=sum(cpu.process_system_s for cpu in of),
        sampled_transactions=sampled,
        generator_us_per_transaction=mean(lambda one: one.generator_us_per_transaction),
        session_us_per_transaction=mean(lambda one: one.session_us_per_transaction),
        clock_read_ns=mean(lambda one: one.clock_read_ns),
    )


def _samples(results: Sequence[RunResult]) -> list[ErrorSample]:
    samples: dict[str, ErrorSample] = {}
    for result in results:
        for sample in result.error_samples:
            samples.setdefault(sample.class_, sample)
    return [samples[name] for name in sorted(samples)]


def _sleepers(of: Sequence[IdleSessionsSeen]) -> IdleSessionsSeen | None:
    if not of:
        return None
    return IdleSessionsSeen(
        sessions=sum(seen.sessions for seen in of),
        in_transaction=of[0].in_transaction,
        awake_at_end=sum(seen.awake_at_end for seen in of),
        lost=next((seen.lost for seen in of if seen.lost), None),
    )


def _connections(of: Sequence[Connections]) -> Connections | None:
    if not of:
        return None
    return Connections(
        opened=sum(connections.opened for connections in of), inspected=sum(connections.inspected for connections in of)
    )
