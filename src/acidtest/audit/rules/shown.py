"""How figures are shown: without a unit, in two ways of writing, percentiles that tell nothing, runs that broke off."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.audit.bench import Bench, Published
from acidtest.audit.compared import product
from acidtest.audit.said import Seen, and_more, called, gathered
from acidtest.finding import Found, rule
from acidtest.formats import linear

JAIN = "R. Jain, The Art of Computer Systems Performance Analysis, chapter 10: the art of data presentation"
FLAT = 1.02  # times the mean or median, up to which the 99th percentile is that
STATEMENT_US = 0.5  # less than any way into another process and back, shared among as many threads as there are
ROW_US = 0.03  # less than a call for each column of a row
STATEMENT = linear.Pattern(r"insert|update|delete|select|query|commit|upsert", linear.IGNORECASE)
ROW = linear.Pattern(r"\brows?\b|fetch", linear.IGNORECASE)
PART = linear.Pattern(
    r"\bcol(?:umn)?s?\b|describe|byte|convert|pars(?:e|ing)|hash|generat|encode|decode|marshal|uuid", linear.IGNORECASE
)
ENDED = " that ends before its "


@rule(
    "percentiles-flat",
    severity="note",
    says="The 99th percentile is the mean: it is of few values or of means, or all requests waited for one thing.",
    remedy="Take percentiles from all latencies of the run, and say how many these are.",
    disproved_by="a record of each latency from which the same percentiles follow",
    source='B. Schwartz, "Why Percentiles Don\'t Work the Way You Think" (2016)',
)
def percentiles_flat(bench: Bench) -> Iterator[Found]:
    yield from gathered(seen for one in bench.others if (seen := _flat(one)))


def _flat(one: Published) -> Seen | None:
    middle = one.latency_ms.get("mean") or one.latency_ms.get("p50")
    high = one.latency_ms.get("p99")
    if not middle or not high or not middle <= high <= FLAT * middle:
        return None
    names = ("mean", "p50", "p95", "p99")
    text = ", ".join(f"{name} {one.latency_ms[name]:,.6g} ms" for name in names if name in one.latency_ms)
    return Seen(one, f"{called(one)}: {text}", (one.where.says(text),))


@rule(
    "faster-than-possible",
    severity="doubtful",
    says="An operation takes less time than it needs to be asked for: it was not done, or not once each time.",
    remedy="Look at what each operation returned, and count what the server did.",
    disproved_by="the server's own count of statements or rows over the measured time",
    source="J. Dean, P. Norvig: latencies every programmer should know; a system call alone takes 0.1 µs or more",
)
def faster_than_possible(bench: Bench) -> Iterator[Found]:
    # A repository may hold benchmarks of other things than engines.
    yield from gathered(seen for one in bench.others if not one.planned and product(one) and (seen := _too_soon(one)))


def _too_soon(one: Published) -> Seen | None:
    us = 1000 * one.latency_ms["mean"] if "mean" in one.latency_ms else 1e6 * one.took_s if one.took_s else None
    if not us or PART.search(one.name):
        return None
    statement = STATEMENT.search(one.name) is not None and not ROW.search(one.name)
    if not (statement and us < STATEMENT_US) and not (ROW.search(one.name) and us < ROW_US):
        return None
    text = f"{called(one)}: {us:,.2g} µs {'for each' if statement else 'a row'}"
    return Seen(one, text, (one.where.says(f"{one.name}: {one.written or f'{us:.3g} µs'}"),), 1 / us)


@rule(
    "unfinished-run",
    severity="note",
    says="The output of a run ends before its result: it was broken off, or failed.",
    remedy="Say why, and repeat the run; what only finished runs show is a choice.",
    disproved_by="the rest of the output",
    source="G. Heiser, Systems Benchmarking Crimes: selective data sets",
)
def unfinished_run(bench: Bench) -> Iterator[Found]:
    if said := [one for one in bench.broken if ENDED in one.text]:
        more = and_more(len(said) - 1, "file", after=" like it")
        yield Found(f"{said[0].file} {said[0].text}{more}.", tuple(said))
