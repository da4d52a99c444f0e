"""What a closed loop leaves out, as a table and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acidtest.analysis.latency import Percentile
from acidtest.analysis.omission import SHARES, Omission
from acidtest.report.numbers import number
from acidtest.report.table import Column, Table, of_levels

EXPLAINED = (
    "Response: from when a transaction was due to its answer, in the open loop: what a user waits. Service: from its "
    "start. Closed: what the closed loop tells of the same transactions, whose terminals submit nothing while they "
    "wait. Hidden: response over closed. Percentiles are of all repetitions together."
)


def varied(found: Sequence[Omission]) -> list[str]:
    """Factors in which they differ; the engine where there are none."""
    factors = [f for f in found[0].levels if len({one.levels.get(f) for one in found}) > 1] if found else []
    return factors or ["engine"]


def table(found: Sequence[Omission]) -> Table:
    """Response, service and a closed loop's latency of the same load."""

    def told(of: Percentile) -> str:
        return number(of.value_ms)

    def times(ratio: float | None) -> str:
        return "–" if ratio is None else f"{number(ratio)} ×"

    p50, p99, p999 = range(len(SHARES))
    columns = [
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
    return Table(
        of_levels(varied(found), columns),
        found,
        "omission",
        "What the closed loop leaves out",
        explained=EXPLAINED,
        notes=_notes(found),
    )


def answers(found: Sequence[Omission]) -> list[str]:
    """What each engine's users wait, and what of it a closed loop shows, of pairs that are the same load."""
    same = [one for one in found if one.is_same_load and one.hidden(0.99) is not None]
    each = [
        f"{', '.join(one.levels[factor] for factor in varied(found))}: {number(one.response[1].value_ms)} ms, of which "
        f"a closed loop shows {number(one.closed_loop[1].value_ms)} ms"
        for one in same
    ]
    return [f"99 of 100 transactions are answered within the time told here. {'; '.join(each)}."] if each else []


def _notes(found: Sequence[Omission]) -> list[str]:
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
