"""What a closed loop leaves out: the columns of the table, and the same for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acidtest.analysis.latency import Percentile
from acidtest.analysis.omission import SHARES, Omission
from acidtest.report.fitted import Column
from acidtest.report.numbers import number
from acidtest.report.pivot import short

TITLE = "What the closed loop leaves out"
EXPLAINED = (
    "Response: from when a transaction was due to its answer, in the open loop: what a user waits. Service: from its "
    "start. Closed: what the closed loop tells of the same transactions, whose terminals submit nothing while they "
    "wait. Hidden: response over closed. Percentiles are of all repetitions together."
)


def varied(found: Sequence[Omission]) -> list[str]:
    """Factors in which they differ; the engine where there are none."""
    factors = [f for f in found[0].levels if len({one.levels.get(f) for one in found}) > 1] if found else []
    return factors or ["engine"]


def columns(found: Sequence[Omission]) -> list[Column]:
    """In the order in which they stand."""

    def told(of: Percentile) -> str:
        return number(of.value_ms)

    def times(ratio: float | None) -> str:
        return "–" if ratio is None else f"{number(ratio)} ×"

    p50, p99, p999 = range(len(SHARES))
    return [
        *(
            Column(short(factor), lambda one, factor=factor: one.levels.get(factor, ""), right=False)  # type: ignore[misc]
            for factor in varied(found)
        ),
        Column("open/s", lambda one: number(one.open_per_s)),
        Column("closed/s", lambda one: number(one.closed_per_s)),
        Column("response p50 ms", lambda one: told(one.response[p50]), drop=3),
        Column("closed p50 ms", lambda one: told(one.closed_loop[p50]), drop=3),
        Column("response p99 ms", lambda one: told(one.response[p99])),
        Column("service p99 ms", lambda one: told(one.service[p99]), drop=1),
        Column("closed p99 ms", lambda one: told(one.closed_loop[p99])),
        Column("hidden at p99", lambda one: times(one.hidden(0.99))),
        Column("response p99.9 ms", lambda one: told(one.response[p999]), drop=2),
        Column("closed p99.9 ms", lambda one: told(one.closed_loop[p999]), drop=2),
    ]


def notes(found: Sequence[Omission]) -> list[str]:
    """Of pairs that are not the same load."""
    return [
        f"{', '.join(one.levels[factor] for factor in varied(found))}: the closed loop came to "
        f"{number(one.closed_per_s)} a second and the open one to {number(one.open_per_s)}: these are two loads."
        for one in found
        if not one.is_same_load
    ]


def as_json(one: Omission) -> dict[str, Any]:
    """For programs: nothing is rounded."""

    def told(of: Sequence[Percentile]) -> dict[str, float | None]:
        return {percentile.name: percentile.value_ms for percentile in of}

    return {
        "levels": dict(one.levels),
        "open": one.open.workload,
        "closed": one.closed.workload,
        "asked_per_s": one.asked_per_s,
        "open_per_s": one.open_per_s,
        "closed_per_s": one.closed_per_s,
        "same_load": one.is_same_load,
        "response_ms": told(one.response),
        "service_ms": told(one.service),
        "closed_ms": told(one.closed_loop),
        "hidden_p99": one.hidden(0.99),
    }
