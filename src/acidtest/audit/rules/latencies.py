"""Latencies that are not what they seem."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from acidtest.audit.bench import Bench, Published
from acidtest.audit.result_text import Seen, called, gathered, over_results
from acidtest.finding import Found, rule
from acidtest.words import counted

NEAR_CEILING = 0.99
RATE_KEPT = 0.95
SERIES_LEAST = 10  # intervals
STALLED = 0.05  # of the median rate
TENE = 'G. Tene, "How NOT to Measure Latency" (2013): coordinated omission'


@rule(
    "percentile-at-ceiling",
    severity="invalid",
    says="A percentile is the end of the tool's histogram: the true one is anywhere above it.",
    remedy="Measure with a tool whose histogram covers the range, or state that it is a lower bound.",
    disproved_by="a record of each latency from which the same percentile follows",
    source="sysbench's sb_logger.c: OPER_LOG_MAX_VALUE; fio's stat.h: FIO_IO_U_PLAT_GROUP_NR, and stat.c: "
    "plat_idx_to_val; go-tpc's measure.go: DefaultMaxLatency",
)
def percentile_at_ceiling(bench: Bench) -> Iterator[Found]:
    yield from gathered(seen for one in bench.published for seen in _at_ceiling(one))


def _at_ceiling(one: Published) -> Iterator[Seen]:
    for name, value in one.latency_ms.items():
        # Where the tool takes the maximum from the histogram too, that one is clamped as well, but claims less.
        if name.startswith("p") and one.ceiling_ms and value >= NEAR_CEILING * one.ceiling_ms:
            text = f"{called(one)}: {name} is {value:,.0f} ms, {one.tool} counts to {one.ceiling_ms:,.0f}"
            counts = f"printed by {one.tool}, which counts to {one.ceiling_ms:,.0f} ms"
            yield Seen(one, text, (one.where.says(f"{name} {value:,.1f} ms"), one.where.says(counts)))


@over_results(
    "service-time-under-rate",
    severity="doubtful",
    says="Load came at a rate, and latency counts from when a transaction got its turn: its wait is left out.",
    remedy="Count from the scheduled start (pgbench --rate and sysbench --rate do).",
    disproved_by="a record of scheduled starts from which the same latencies follow",
    source=TENE,
)
def service_time_under_rate(one: Published) -> Seen | None:
    if not one.asked_rate or one.latency_from != "actual start" or not one.latency_ms or one.tool == "fio":
        return None
    text = f"{called(one)}: {one.asked_rate:,.0f} a second were scheduled; {one.tool} counts from the actual start"
    return Seen(one, text, (one.where.says(_latencies(one)),))


@over_results(
    "rate-not-kept",
    among=lambda bench: bench.others,
    severity="doubtful",
    says="The rate that was asked for was not reached: what waits grows as long as the run lasts, and latency with it.",
    remedy="Ask for less than the capacity, or report the run as a closed loop's.",
    disproved_by="the generator's record of its starts, on time",
    source=TENE,
)
def rate_not_kept(one: Published) -> Seen | None:
    if not one.asked_rate or not one.rate or one.unit == "flushes" or one.rate >= RATE_KEPT * one.asked_rate:
        return None
    text = f"{called(one)}: {one.rate:,.0f} a second of {one.asked_rate:,.0f} that were asked for"
    return Seen(one, text, (one.where.says(f"{one.rate:,.1f} of {one.asked_rate:,.1f}"),), one.asked_rate / one.rate)


@rule(
    "latencies-out-of-range",
    severity="doubtful",
    says="The tool's histogram left values out because they were too large for it: percentiles are without the worst.",
    remedy="Give the histogram a range that holds the longest latency, and measure again.",
    disproved_by="the same percentiles with all values",
    source=TENE,
)
def latencies_out_of_range(bench: Bench) -> Iterator[Found]:
    printed = {one.where.file for one in bench.published if not (one.told or one.planned)}
    for one in bench.said("out of range"):
        if one.where.file in printed:
            dropped = counted(one.value or 0, "value", spec=",.0f")
            yield Found(f"{one.where.file}: {dropped} outside of the histogram's range.", (one.where.says(one.text),))


@over_results(
    "closed-loop-stall",
    severity="doubtful",
    says="The database stood still for so long that a percentile should show it; the terminals stood still too, and "
    "asked for nothing meanwhile.",
    remedy="Measure latency under a rate, counted from the scheduled start.",
    disproved_by="latencies counted from the scheduled start over a stall of this length",
    source=TENE,
)
def closed_loop_stall(one: Published) -> Seen | None:
    if one.asked_rate or one.latency_from != "actual start" or len(one.series) < SERIES_LEAST:
        return None
    usual = median(one.series)
    stalled = sum(1 for rate in one.series if rate < STALLED * usual)
    share = stalled / len(one.series)
    for name, value in one.latency_ms.items():
        percentile = int(name[1:]) if name[0] == "p" and name[1:].isdigit() else None
        if percentile and share >= 1 - percentile / 100 and value < 500 * one.interval_s:
            intervals = f"{counted(len(one.series), 'interval')} of {one.interval_s:g} s"
            text = (
                f"{called(one)}: almost nothing was committed in {stalled:,} of {intervals}, and {name} is "
                f"{value:,.1f} ms"
            )
            return Seen(one, text, (one.where.says(_latencies(one)),), share)
    return None


def _latencies(one: Published) -> str:
    return ", ".join(f"{name} {value:,.2f} ms" for name, value in one.latency_ms.items())
