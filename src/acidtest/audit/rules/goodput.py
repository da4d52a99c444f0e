"""Rates that count what failed."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.audit.bench import Bench, Published
from acidtest.audit.finding import Found, rule
from acidtest.audit.said import COUNTS_ALL, Seen, called, failed_share, gathered, rate

FAILED_MOST = 0.05


@rule(
    "throughput-is-not-goodput",
    severity="invalid",
    over=Bench,
    says="The rate counts transactions that failed: an error is often faster than an answer.",
    remedy="Count only what succeeded, and tell the failures beside it.",
    disproved_by="a count of answers without those that failed, with the same rate",
    source="TPC-C, clause 5.4: only completed transactions count; "
    "G. Heiser, Systems Benchmarking Crimes: throughput without regard to what fails",
)
def throughput_is_not_goodput(bench: Bench) -> Iterator[Found]:
    yield from gathered(seen for one in bench.measured if (seen := _counts_failures(one)))


def _counts_failures(one: Published) -> Seen | None:
    share = failed_share(one)
    if one.attempts and one.rate and one.attempts > one.rate:
        return None  # what failed is not in the rate
    if one.tool not in COUNTS_ALL or not share or share < FAILED_MOST or one.errors is None:
        return None
    good = (one.rate or 0) * (1 - share)
    text = f"{called(one)}: {rate(one)}, of which {share:.0%} failed; {good:,.1f} a second succeeded"
    return Seen(one, text, (one.where.says(rate(one)), one.where.says(f"{one.errors:,} failed")), share)
