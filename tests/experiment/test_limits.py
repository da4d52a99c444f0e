"""Limits of latency as a user writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidtest.errors import BadInput
from acidtest.limits import UNITS_MS, Clause, Limit, limit_of, milliseconds


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("p99 < 10 ms", [("", "p99", 10.0, 0.99)]),
        ("p99.9<50ms", [("", "p99.9", 50.0, 0.999)]),
        ("mean < 2 ms", [("", "mean", 2.0, None)]),
        ("MAX < 1 s", [("", "max", 1000.0, 1.0)]),
        ("median < 200us", [("", "p50", 0.2, 0.5)]),
        ("new_order p90 < 5 s", [("new_order", "p90", 5000.0, 0.9)]),
        ("p99 < 10 ms and mean < 2 ms", [("", "p99", 10.0, 0.99), ("", "mean", 2.0, None)]),
        ("p99 < 10 ms AND payment p99 < .5 min", [("", "p99", 10.0, 0.99), ("payment", "p99", 30000.0, 0.99)]),
    ],
)
def test_limits_are_read(text: str, clauses: list[tuple[str, str, float, float | None]]) -> None:
    assert [(c.kind, c.statistic, c.limit_ms, c.share) for c in limit_of(text).clauses] == clauses
    assert limit_of(str(limit_of(text))) == limit_of(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the limit is empty"),
        ("p99", '"p99" is not a limit'),
        ("p99 > 10 ms", 'found ">", a latency is limited with "<"'),
        ("p99 <= 10 ms", 'found "<=", a latency is limited with "<"'),
        ("p99 < 10", "the time has no unit"),
        ("p99 < 10 hours", '"hours" is not a unit of time'),
        ("p100 < 10 ms", '"p100" is no statistic of latencies'),
        ("p0 < 10 ms", '"p0" is no statistic of latencies'),
        ("average < 10 ms", '"average" is no statistic of latencies'),
        ("p99 < 0 ms", "the time is not between 1 us and a day"),
        ("p99 < 10 ms and", '"p99 < 10 ms and" is not a limit'),
        ("p99 < 10 ms and p99 < 20 ms", "p99 stands twice"),
        ("p99 < 10 ms or mean < 2 ms", "is not a limit"),
        ("x" * 1000, "has 1,000 characters"),
        ("p99 < 1\x1b[2J0 ms", "is not a limit"),
    ],
)
def test_what_is_wrong_with_a_limit_is_said(text: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        limit_of(text)
    assert said in caught.value.message
    assert caught.value.message.isprintable()
    assert caught.value.remedy


clauses = st.builds(
    Clause,
    st.sampled_from(["", "new_order", "payment"]),
    st.sampled_from(["mean", "max", "p50", "p90", "p99", "p99.9", "p99.99"]),
    st.floats(0.001, 86_000_000).map(lambda ms: float(f"{ms:.4g}")),
)


@given(st.lists(clauses, min_size=1, max_size=5, unique_by=lambda clause: clause.figure))
def test_a_limit_that_is_written_out_is_read_back(found: list[Clause]) -> None:
    limit = Limit(tuple(found))
    again = limit_of(str(limit))
    assert [clause.figure for clause in again.clauses] == [clause.figure for clause in limit.clauses]
    for one, other in zip(again.clauses, limit.clauses, strict=True):
        assert one.limit_ms == pytest.approx(other.limit_ms, rel=1e-9)


@given(st.text(max_size=80))
def test_no_text_does_more_than_to_be_refused(text: str) -> None:
    try:
        limit_of(text)
    except BadInput as error:
        assert error.message.isprintable()


def test_times_have_few_digits() -> None:
    assert [milliseconds(ms) for ms in (0.2, 10.0, 1500.0, float("inf"))] == ["200 us", "10 ms", "1.5 s", "no end"]
    assert UNITS_MS["s"] == 1000
