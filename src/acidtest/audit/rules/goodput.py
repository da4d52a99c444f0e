"""Rates that count what failed."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.audit.bench import Bench, Published
from acidtest.audit.result_text import COUNTS_ALL, OVER_HTTP, Seen, called, failed_share, gathered, rate
from acidtest.finding import Found, rule

FAILED_MOST = 0.05
HASTENED = 1.05  # times that answers take longer than all requests do


@rule(
    "failed-in-latency",
    severity="invalid",
    says="The latencies are of what failed too, and a request that fails is answered sooner than one that is served.",
    remedy="Tell the latencies of what was answered as expected, and the share that failed.",
    disproved_by="the tool's latencies of what was answered as expected alone, if they are the same",
    source="B. Schroeder et al.: Open versus closed, a cautionary tale (NSDI 2006); k6's manual, expected_response",
)
def failed_in_latency(bench: Bench) -> Iterator[Found]:
    yield from gathered(_hastened(bench))


def _hastened(bench: Bench) -> Iterator[Seen]:
    for one in bench.measured:
        share = failed_share(one)
        for name in ("mean", "p50"):
            all_, answered = one.latency_ms.get(name), one.answered_ms.get(name)
            if share and share > FAILED_MOST and all_ and answered and answered > HASTENED * all_:
                text = f"{called(one)}: {name} {all_:g} ms of all requests, {answered:g} ms of those that were answered"
                evidence = (
                    one.where.says(f"{one.errors:,} failed, {share:.1%} of all"),
                    one.where.says(f"{name} {all_:g} ms of all, {answered:g} ms of those that were answered"),
                )
                yield Seen(one, text, evidence, share)
                break


@rule(
    "throughput-is-not-goodput",
    severity="invalid",
    says="The rate counts transactions that failed: an error is often faster than an answer.",
    remedy="Count only what succeeded, and tell the failures beside it.",
    disproved_by="a count of answers without those that failed, with the same rate",
    source="TPC-C, clause 5.4: only completed transactions count; "
    "G. Heiser, Systems Benchmarking Crimes: throughput without regard to what fails",
)
def throughput_is_not_goodput(bench: Bench) -> Iterator[Found]:
    failing = [seen for one in bench.measured if (seen := _counts_failures(one))]
    yield from gathered(seen for seen in failing if seen.of.tool not in OVER_HTTP)
    yield from gathered((seen for seen in failing if seen.of.tool in OVER_HTTP), "guessed")


def _counts_failures(one: Published) -> Seen | None:
    share = failed_share(one)
    if not one.rate or (one.attempts and one.attempts > one.rate):
        return None  # what failed is not in the rate
    if one.tool not in COUNTS_ALL or not share or share < FAILED_MOST or one.errors is None:
        return None
    good = (one.rate or 0) * (1 - share)
    text = f"{called(one)}: {rate(one)}, of which {share:.0%} failed; {good:,.1f} a second succeeded"
    return Seen(one, text, (one.where.says(rate(one)), one.where.says(f"{one.errors:,} failed")), share)
