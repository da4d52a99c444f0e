"""A row of our recordings as a benchmark publishes a result, for the rules that look at those."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidtest.analysis.latency import SHOWN, merge, percentile
from acidtest.analysis.samples import Row
from acidtest.analysis.steady import rates_per_s
from acidtest.analysis.summary import median
from acidtest.audit.bench import OURS, EngineName, Published, Statement, Where
from acidtest.doubts.drive import turns_per_s
from acidtest.journal.protocol import RunResult
from acidtest.workload import WorkloadSpec, recorded, unit


def published(row: Row, name: str, where: Where, engine: EngineName | None) -> Iterator[Published]:
    """The rate of a row that is done, and the time of its flushes where somebody watched them.

    Rates are medians of the repetitions; the rate over time and the latencies are of all of them.
    """
    results = row.results()
    first, workload = row.done[0], row.first.workload
    one_drive = len({str(r.place.alike()) for r in row.done}) == 1
    turns = turns_per_s(first.place, first.machine) if one_drive else None
    rate = median(row.goodput_per_s())
    orders = [per_min for result in results if (per_min := result.new_order_per_min) is not None]
    arrivals = [(result.arrivals.scheduled, result.measured_s) for result in results if result.arrivals]
    # A terminal that thinks is idle on purpose: seconds without commits are no stall then.
    idle = bool(workload.get("think_ms") or workload.get("keying") or workload.get("stages"))
    # A mix of the user's own is no TPC-C-like one.
    own_mix = any(one.get("mix") for one in workload.get("classes", ()))
    yield Published(
        where=where,
        tool=OURS,
        name=name,
        rate=rate,
        attempts=median([result.throughput_per_s for result in results]),
        tpm=60 * rate if orders and rate is not None and not own_mix else None,
        nopm=None if own_mix else median(orders),
        terminals=max(result.terminals for result in results),
        measured_s=median(row.seconds()),
        warmup_s=median([result.warmup_s for result in results]),
        asked_rate=median([scheduled / seconds for scheduled, seconds in arrivals if seconds > 0]),
        latency_ms=_latencies(results),
        latency_from="scheduled start" if arrivals else "actual start",
        series=() if arrivals or idle else _series(results),
        unit="reads" if unit(str(workload.get("kind"))) == "reads" else "transactions",
        engine=engine,
        durable_rate=_durable_rate(row),
        turns=Statement(where, "turns", turns[1], 60 * turns[0]) if turns else None,
        in_turn=_in_turn(row),
    )
    if (flush_us := _flush_us(row)) is not None:
        yield Published(
            where=where, tool=OURS, name=f"{name}: the flushes of a commit", rate=1e6 / max(flush_us, 1), terminals=1,
            unit="flushes", flushed=True, engine=engine,
        )  # fmt: skip


def _durable_rate(row: Row) -> float | None:
    """Commits a second, each on the drive before the next of its terminal began; None where that is not claimed.

    Several terminals may share a flush; of one terminal each commit waits for a flush of its own. The first one of each
    terminal is not counted: it may find the drive anywhere in its turn.
    """
    spec = recorded(row.first.workload)
    if spec is None or not (spec.always_writes() or spec.writing_kinds()):
        return None
    if any(recording.durability != "drive" for recording in row.done):
        return None
    return median(
        [
            max(0.0, _written(result, spec) - result.terminals) / result.measured_s
            for result in row.results()
            if result.measured_s > 0
        ]
    )


def _written(result: RunResult, spec: WorkloadSpec) -> float:
    """The commits that have changed rows."""
    if spec.always_writes():
        return result.goodput_per_s * result.measured_s
    return sum(of.committed for of in result.kinds if of.name in spec.writing_kinds())


def _in_turn(row: Row) -> tuple[float, ...]:
    """Of a database that grows, each repetition finds what those before it left; any others have a copy each."""
    ended = sorted((r for r in row.done if r.database_size), key=lambda one: one.order)
    return tuple(one.result.goodput_per_s for one in ended if one.result)


def _flush_us(row: Row) -> float | None:
    """The time that half the commits spent in flushes, at most; None of commits that wrote or flushed nothing, and
    where nobody watched."""
    watched = [r.calls.per_commit for r in row.done if r.durability == "drive" and r.calls and not r.calls.dropped]
    return median([float(one.flush_us.median) for one in watched if one and one.writes.median and one.flushes.median])


def _latencies(results: Sequence[RunResult]) -> dict[str, float]:
    merged = merge([result.latency for result in results])
    percentiles = [percentile(merged, share) for share in (*SHOWN, 1.0)]
    return {one.name: one.value_ms for one in percentiles if one.value_ms is not None}


def _series(results: Sequence[RunResult]) -> tuple[float, ...]:
    """Of the whole seconds of all repetitions, one after the other."""
    return tuple(rate for result in results for _, rate in rates_per_s(result.series))
