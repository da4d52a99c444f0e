"""When a load is as fast as before a power cut: commits at times that are told beforehand."""

from __future__ import annotations

import random

import pytest

from acidtest.analysis.recovery import SECOND_NS, after, back_at, before


def commits(per_s: list[int], start_ns: int = 0) -> list[int]:
    """So many in each second, spread evenly over it; the first one right at its start."""
    return [
        start_ns + second * SECOND_NS + number * SECOND_NS // many
        for second, many in enumerate(per_s)
        for number in range(many)
    ]


def test_seconds_before_a_cut_are_counted_backwards_from_it() -> None:
    # The load begins at 0, power fails at 12.5 s: whole seconds end at 12.5, 11.5 and so on.
    times = commits([100] * 13)
    found = before([at for at in times if at < 12.5 * SECOND_NS], int(12.5 * SECOND_NS))
    assert found.judged.state == "steady"
    assert len(found.per_s) == 10  # 12 whole ones, less the two with which a load begins
    assert found.slowest == min(found.per_s) >= 99


@pytest.mark.parametrize(
    ("rates", "state"),
    [
        ([100, 100] + [100] * 5, "too short to tell"),
        ([100, 100] + [50 + 10 * second for second in range(20)], "drifts"),
        ([100, 100] + [100 + second % 3 for second in range(10)] + [50 - second % 3 for second in range(10)], "steps"),
    ],
)
def test_of_a_rate_that_was_not_steady_nobody_can_tell_when_it_is_back(rates: list[int], state: str) -> None:
    found = before(commits(rates), len(rates) * SECOND_NS)
    assert found.judged.state == state
    assert found.slowest is None


def test_without_a_commit_there_is_no_rate() -> None:
    assert before([], 5 * SECOND_NS).per_s == []
    assert after([], 5 * SECOND_NS) == []


def test_a_stall_before_the_cut_counts_as_seconds_without_commits() -> None:
    found = before(commits([100] * 10), 12 * SECOND_NS)
    assert found.per_s == [100.0] * 8 + [0.0] * 2


def test_seconds_afterwards_begin_with_the_first_commit() -> None:
    times = commits([3, 0, 7], start_ns=123_456_789)
    random.Random(1).shuffle(times)
    assert after(times, 123_456_789 + 3 * SECOND_NS) == [3, 0, 7]
    assert after(times, 123_456_789 + 2 * SECOND_NS + 5) == [3, 0]


@pytest.mark.parametrize(
    ("rates", "back"),
    [
        ([100, 100, 100], 0),
        ([10, 100, 20, 90, 95, 90], 3),
        ([10, 20, 90, 95], None),  # two seconds are not enough
        ([10, 89, 90, 500, 900, 1], 2),  # faster than before is fast enough
        ([90, 90, 89] * 20, None),
        ([], None),
    ],
)
def test_the_first_of_three_seconds_in_a_row_counts(rates: list[float], back: int | None) -> None:
    assert back_at(rates, 90) == back
