"""Which kind of storage a flush is held against, and what is said of it, by the whole interval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidtest.analysis.summary import Interval, Summary
from acidtest.analysis.yardsticks import (
    DISK,
    KEEPS_CACHE,
    LOSES_CACHE,
    NETWORK,
    YARDSTICKS,
    Yardstick,
    contradiction,
    likeness,
    named,
    sentence,
)

UNCERTAIN = "too uncertain to name a kind of drive; repeat it while the machine is idle"


def flush(low: float, high: float) -> Summary:
    return Summary(5, (low + high) / 2, Interval(low, high), None)


@pytest.mark.parametrize(
    ("low", "high", "kinds", "begins", "ends"),
    [
        (347, 7_610, (), UNCERTAIN, "idle"),
        (1_060, 17_300, (), UNCERTAIN, "idle"),
        (90.8, 2_290, (), UNCERTAIN, "idle"),
        (1_400, 1_700, (), UNCERTAIN, "idle"),  # at the edge of two
        (200, 1_000, (), UNCERTAIN, "idle"),  # meets one, begins at another
        (30, 200, (), UNCERTAIN, "idle"),  # on both sides of one
        (80, 90, (KEEPS_CACHE,), "as fast as an SSD with", "µs)"),
        (150, 190, (KEEPS_CACHE,), "as fast as an SSD with", "(43 to 158 µs), or slower"),
        (30, 50, (KEEPS_CACHE,), "as fast as an SSD with", "(43 to 158 µs), or faster"),
        (5, 9, (KEEPS_CACHE,), "faster than an SSD with", "(43 to 158 µs)"),
        (200, 300, (KEEPS_CACHE, NETWORK), "slower than an SSD with", "and faster than a network volume (Amazon EBS) (500 to 1,420 µs)"),
        (600, 900, (NETWORK,), "as slow as a network", "µs)"),
        (2_000, 2_100, (LOSES_CACHE,), "as slow as an SSD without", "µs)"),
        (4_700, 4_900, (LOSES_CACHE, DISK), "slower than an SSD without", "(8,333 to 9,524 µs)"),
        (8_400, 90_000, (DISK,), "as slow as a 7,200 RPM disk", ", or slower"),
        (10_000, 90_000, (DISK,), "slower than a 7,200 RPM disk", "µs)"),
    ],
)  # fmt: skip
def test_a_kind_is_named_where_the_whole_interval_bears_it(
    low: float, high: float, kinds: tuple[Yardstick, ...], begins: str, ends: str
) -> None:
    says = likeness(flush(low, high))
    assert named(flush(low, high)) == kinds
    assert says.startswith(begins) and says.endswith(ends), says


def test_the_interval_stands_beside_the_figure() -> None:
    assert sentence(flush(347, 7_610)) == f"A flush takes 3,980 µs (347 to 7,610): {UNCERTAIN}"
    few = Summary(3, 900, None, "needs 5 repetitions, has 3")
    assert (
        sentence(few)
        == "A flush takes 900 µs: too few repetitions to name a kind of drive (needs 5 repetitions, has 3)"
    )


@given(st.floats(0, 1e7), st.floats(0, 1e7))
def test_what_is_said_holds_at_both_ends(one: float, two: float) -> None:
    low, high = min(one, two), max(one, two)
    says = likeness(flush(low, high))
    assert [kind for kind in YARDSTICKS if kind.kind in says] == list(named(flush(low, high)))
    for kind in named(flush(low, high)):
        assert (
            high <= kind.high_us or f"{kind.high_us:,.0f} µs), or slower" in says or f"slower than {kind.kind}" in says
        )
        assert low >= kind.low_us or f"{kind.high_us:,.0f} µs), or faster" in says or f"faster than {kind.kind}" in says


@pytest.mark.parametrize(
    ("rotational", "low", "high", "contradicts"),
    [
        ("yes", 80, 90, True),
        ("yes", 3_700, 3_990, True),
        ("yes", 1_060, 17_300, False),
        ("yes", 8_300, 8_500, False),
        ("no", 8_400, 8_500, True),
        ("no", 5_500, 9_000, False),
        ("no", 80, 90, False),
        ("", 80, 90, False),
    ],
)
def test_a_device_is_contradicted_by_the_whole_interval_alone(
    rotational: str, low: float, high: float, *, contradicts: bool
) -> None:
    assert bool(contradiction(rotational, flush(low, high))) == contradicts
    assert contradiction(rotational, Summary(3, low, None, "needs 5 repetitions, has 3")) == ""
