"""What a closed loop leaves out, as a table and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acidtest.analysis.omission import SHARES, Omission
from acidtest.report.numbers import attributes, number
from acidtest.report.table import NOTHING, Column, Table, figure, of_levels

EXPLAINED = (
    "Response: from when a transaction was due to its answer, in the open loop: what a user waits. Service: from its "
    "start. Closed: what the closed loop tells of the same transactions, whose terminals submit nothing while they "
    "wait. Hidden: response over closed. Percentiles are of all repetitions together."
)


def varied(found: Sequence[Omission]) -> list[str]:
    """Factors in which they differ; the engine where there are none."""
    factors = [f for f in found[0].levels if len({omission.levels.get(f) for omission in found}) > 1] if found else []
    return factors or ["engine"]


def table(found: Sequence[Omission]) -> Table:
    def percentile(head: str, which: str, share: float, drop: int = 0) -> Column:
        return Column(head, lambda row: number(getattr(row, which)[SHARES.index(share)].value_ms), drop=drop)

    columns = [
        Column("open/s", figure("open_per_s")),
        Column("closed/s", figure("closed_per_s")),
        percentile("response p50 ms", "response", 0.5, 3),
        percentile("closed p50 ms", "closed_loop", 0.5, 3),
        percentile("response p99 ms", "response", 0.99),
        percentile("service p99 ms", "service", 0.99, 1),
        percentile("closed p99 ms", "closed_loop", 0.99),
        Column("hidden at p99", lambda row: NOTHING if (times := row.hidden(0.99)) is None else f"{number(times)} ×"),
        percentile("response p99.9 ms", "response", 0.999, 2),
        percentile("closed p99.9 ms", "closed_loop", 0.999, 2),
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
    same = [omission for omission in found if omission.is_same_load and omission.hidden(0.99) is not None]
    each = [
        f"{', '.join(one.levels[factor] for factor in varied(found))}: {number(one.response[1].value_ms)} ms, of which "
        f"a closed loop shows {number(one.closed_loop[1].value_ms)} ms"
        for one in same
    ]
    return [f"99 of 100 transactions are answered within the time told here. {'; '.join(each)}."] if each else []


def _notes(found: Sequence[Omission]) -> list[str]:
    return [
        f"{', '.join(omission.levels[factor] for factor in varied(found))}: the closed loop came to "
        f"{number(omission.closed_per_s)} a second and the open one to {number(omission.open_per_s)}: "
        "these are two loads."
        for omission in found
        if not omission.is_same_load
    ]


def as_json(one: Omission) -> dict[str, Any]:
    percentiles = {"response_ms": one.response, "service_ms": one.service, "closed_ms": one.closed_loop}
    return {
        "levels": dict(one.levels),
        "open": one.open.workload,
        "closed": one.closed.workload,
        **attributes(one, "asked_per_s", "open_per_s", "closed_per_s"),
        "same_load": one.is_same_load,
        **{name: {percentile.name: percentile.value_ms for percentile in of} for name, of in percentiles.items()},
        "hidden_p99": one.hidden(0.99),
    }
