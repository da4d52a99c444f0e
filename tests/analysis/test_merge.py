"""Parts of one load, put together, are what a single rig would have brought."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import factory
from acidtest.analysis.latency import percentile_ns
from acidtest.analysis.merge import Part, acknowledged_totals, series, together
from acidtest.journal.protocol import AcknowledgedTotals, ArrivalCounts, Kind, RunResult, Shared, SharedSecond

PARTS = st.lists(st.lists(st.integers(0, 2**40), max_size=80), min_size=1, max_size=5).filter(any)
NOTHING = AcknowledgedTotals(committed=0, unknown=0, kinds=[], units=(0, 0))


def part(values: list[int], **changes: object) -> Part:
    latency = factory.histogram(values)
    counts = factory.counts(committed=len(values))
    fields = {"latency": latency, "service": latency, "counts": counts, "series": []} | changes
    return Part(
        factory.result(seconds=2, **fields), Shared(began_late_ns=0, stood_still_ns_max=0, told=NOTHING, seconds=[])
    )


@given(PARTS, st.integers(0, 1000))
def test_a_percentile_of_the_parts_is_that_of_one_histogram_over_all_values(
    parts: list[list[int]], thousandths: int
) -> None:
    whole = together([part(values) for values in parts])
    one = factory.histogram(list(itertools.chain(*parts)))
    assert percentile_ns(whole.latency, 0.99) == percentile_ns(one, 0.99)
    assert percentile_ns(whole.service, thousandths / 1000) == percentile_ns(one, thousandths / 1000)
    assert whole.latency.buckets == one.buckets
    assert (whole.latency.count, whole.latency.min_ns, whole.latency.max_ns) == (one.count, one.min_ns, one.max_ns)
    assert whole.latency.mean_ns == pytest.approx(one.mean_ns)
    assert whole.counts.committed == sum(map(len, parts))


SECONDS = st.tuples(st.integers(-3, 5), st.integers(1, 10**9), st.sampled_from(["commit", "conflict", "error"]))


def shared(happened: list[tuple[int, int, str]]) -> Shared:
    """What one rig would tell of ``happened``: each with its second, its latency in ns, and its end."""
    seconds = []
    for second, of in itertools.groupby(sorted(happened), key=lambda one: one[0]):
        events = list(of)
        values = sorted(latency for _, latency, end in events if end == "commit")
        seconds.append(
            SharedSecond(
                second=second,
                committed=len(values),
                conflicts=sum(end == "conflict" for _, _, end in events),
                errors=sum(end == "error" for _, _, end in events),
                latencies=[(value, len(list(same))) for value, same in itertools.groupby(values)],
                latency_ns_max=max(values, default=0),
            )
        )
    return Shared(began_late_ns=0, stood_still_ns_max=0, told=NOTHING, seconds=seconds)


@given(st.lists(st.lists(SECONDS, max_size=30), min_size=1, max_size=4), st.floats(0.1, 6.0))
def test_the_seconds_of_the_parts_are_those_of_one_rig(
    parts: list[list[tuple[int, int, str]]], measured_s: float
) -> None:
    whole = series([shared(list(itertools.chain(*parts)))], 2.5, measured_s)
    assert series([shared(part) for part in parts], 2.5, measured_s) == whole
    kept = [part for part in itertools.chain(*parts) if part[2] == "commit"]
    assert sum(one.committed for one in whole) == len(kept)
    assert [one.at_s for one in whole[:4]] == [-2.5, -2.0, -1.0, 0.0]


def test_counts_kinds_and_arrivals_are_added() -> None:
    def arrivals(late: int) -> ArrivalCounts:
        lateness = factory.histogram([late * 1_000_000])
        return ArrivalCounts(
            scheduled=10, late=late, unfinished=1, unfinished_wait_ms_max=float(late), lateness=lateness
        )

    def kinds(value_ms: float) -> list[Kind]:
        return [factory.kind("new_order", [value_ms], 5000.0), factory.kind("payment", [value_ms, value_ms])]

    one = part([5, 6], arrivals=arrivals(1), kinds=kinds(1.0), counts=factory.counts(committed=2, errors=1, other=1))
    two = part([7], arrivals=arrivals(3), kinds=kinds(2.0), counts=factory.counts(committed=1, conflicts=2, busy=2))
    whole = together([one, two])
    assert (whole.counts.committed, whole.counts.errors, whole.counts.conflicts) == (3, 1, 2)
    assert {class_.class_: class_.count for class_ in whole.counts.classes} == {"other": 1, "busy": 2}
    assert whole.arrivals is not None
    assert (whole.arrivals.scheduled, whole.arrivals.late, whole.arrivals.unfinished_wait_ms_max) == (20, 4, 3.0)
    assert whole.arrivals.lateness is not None
    assert whole.arrivals.lateness.count == 2
    assert [(kind.name, kind.committed, kind.limit_ms) for kind in whole.kinds] == [
        ("new_order", 2, 5000.0),
        ("payment", 4, None),
    ]
    assert whole.throughput_per_s == pytest.approx(6 / 2)
    assert whole.terminals == 2


def test_the_measurement_lasts_until_the_last_part_has_ended() -> None:
    slow = factory.result(seconds=2, series=[])
    longer = slow.model_copy(update={"measured_s": 2.5})
    none = Shared(began_late_ns=0, stood_still_ns_max=0, told=NOTHING, seconds=[])
    whole: RunResult = together([Part(slow, none), Part(longer, none)])
    assert whole.measured_s == 2.5
    assert whole.goodput_per_s == pytest.approx(2 * slow.counts.committed / 2.5)


def test_what_was_acknowledged_is_added_and_units_are_known_of_all_or_of_none() -> None:
    one = AcknowledgedTotals(committed=3, unknown=1, kinds=[2, 1], units=(30, 5))
    without = one.model_copy(update={"units": None})

    def of(*parts: AcknowledgedTotals) -> AcknowledgedTotals:
        return acknowledged_totals(
            [Shared(began_late_ns=0, stood_still_ns_max=0, told=part, seconds=[]) for part in parts]
        )

    assert of(one, one) == AcknowledgedTotals(committed=6, unknown=2, kinds=[4, 2], units=(60, 10))
    assert of(one, without).units is None
