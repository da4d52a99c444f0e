"""Clients, rates and latencies that cannot be of one run: by Little's law, clients that wait for each answer spend in
all of their latencies no more time than there is."""

from __future__ import annotations

from acidtest.audit.bench import Published
from acidtest.audit.result_text import Seen, called, over_results, rate
from acidtest.formats import linear
from acidtest.words import counted

LITTLE = "J. D. C. Little: A proof for the queuing formula L = λW (Operations Research 9/3, 1961)"
IMPOSSIBLE = 1.5  # times the time that the clients have: less may be rounding, or a mean of means
LEFT_OUT = 0.4  # of the clients' time: the rest is in no latency
CLOSED = frozenset(("pgbench", "sysbench", "hammerdb", "benchmarksql", "tpcc-mysql", "go-tpc", "mysqlslap", "ycsb", ""))
RATED = frozenset(("transactions", "operations", "requests", "reads"))
# What makes one answer stand for many, or lets a client ask before it is answered.
SEVERAL = linear.Pattern(
    r"pipelin|batch|bulk|async|depth|\brows?\b|records?|documents?|inserts?/|items|multi-row|\bquer|tokens|keys|events|"
    r"(?:^|\W)(?:multi|concurren|parallel)",
    linear.IGNORECASE,
)
# A rate that is one of many of a run, and no mean of all.
OF_MANY = linear.Pattern(r"median|max|min|peak|best", linear.IGNORECASE)
# Columns that tell what else the clients did: requests that failed are in no latency.
ELSEWHERE = linear.Pattern(r"success|fail|error|think|sleep|wait|delay", linear.IGNORECASE)


def _mean_ms(one: Published) -> float | None:
    """The mean latency that the rate leaves to each client of a closed loop; None where clients or rate are not known,
    and where the rate does not count single requests."""
    if one.planned or one.asked_rate or one.latency_from == "scheduled start" or one.tool not in CLOSED:
        return None
    # The mean of several runs' rates and that of their latencies are not bound to each other.
    if (one.runs or 1) > 1 or not one.terminals or not one.rate or one.unit not in RATED:
        return None
    words = f"{one.name} {one.written} {one.script} {' '.join(one.parameters) if one.told else ''}"
    return None if SEVERAL.search(words) or OF_MANY.search(one.written) else 1000 * one.terminals / one.rate


@over_results(
    "throughput-impossible-for-latency",
    severity="invalid",
    says="So many clients cannot reach this rate if each answer takes this long: the figures are of different runs.",
    remedy="Publish rate and latency of one and the same run, with its number of clients.",
    disproved_by="the output of one run with this rate, this mean latency and so many clients",
    source=LITTLE,
)
def throughput_impossible_for_latency(one: Published) -> Seen | None:
    mean = one.latency_ms.get("mean")
    left = _mean_ms(one) if mean else None
    if not left or not mean or not one.terminals or mean < IMPOSSIBLE * left or one.tool == "ycsb":
        return None  # YCSB's latency is of one operation of several
    clients, most = counted(one.terminals, "client"), 1000 * one.terminals / mean
    text = f"{called(one)}: {rate(one)} with a mean of {mean:,.4g} ms; {clients} can reach {most:,.0f} a second"
    evidence = (one.where.says(rate(one)), one.where.says(f"mean {mean:,.4g} ms, {clients}"))
    return Seen(one, text, evidence, mean / left)


@over_results(
    "rate-contradicts-latency",
    severity="doubtful",
    says="Most of the clients' time is in no latency: they waited elsewhere, or start and end count into the rate.",
    remedy="Say what a client does between two requests, and measure for so long that start and end do not count.",
    disproved_by="a think time, or a record in which the clients' time is accounted for",
    source=LITTLE,
)
def rate_contradicts_latency(one: Published) -> Seen | None:
    known = {name: value for name, value in one.latency_ms.items() if name in ("mean", "p99", "max") and value > 0}
    # A mean of all, or where it is not told a percentile or maximum that the mean cannot be far above.
    name = next((name for name in ("mean", "max", "p99") if name in known), "")
    left = _mean_ms(one) if name and not one.errors else None
    if not left or known[name] > LEFT_OUT * left or (one.told and any(map(ELSEWHERE.search, one.parameters))):
        return None
    clients = counted(one.terminals or 0, "client")
    text = f"{called(one)}: {clients} and {rate(one)} leave {left:,.3g} ms to each; {name} is {known[name]:,.3g} ms"
    evidence = (one.where.says(rate(one)), one.where.says(f"{name} {known[name]:,.4g} ms, {clients}"))
    return Seen(one, text, evidence, left / known[name])
