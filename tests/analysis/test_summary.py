"""Medians and their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from acidtest.analysis.summary import Interval, ratio, summarise

EXPERIMENTS = 200


# The coverage that docs/ANALYSIS.md tells: 94 % for 5 samples, 98 % for 7, 96 % for 10 and more.
@pytest.mark.slow
@pytest.mark.parametrize(("n", "low", "high"), [(5, 0.90, 0.98), (7, 0.95, 1.0), (10, 0.93, 0.99), (15, 0.93, 0.995)])
def test_the_interval_holds_the_true_median_in_most_experiments(n: int, low: float, high: float) -> None:
    rng = np.random.default_rng(n)
    held = 0
    for _ in range(EXPERIMENTS):
        interval = summarise(rng.lognormal(np.log(700), 0.1, n)).interval
        assert interval is not None
        held += interval.low <= 700 <= interval.high
    assert low < held / EXPERIMENTS <= high


def test_the_interval_of_a_ratio_holds_the_true_ratio() -> None:
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(EXPERIMENTS):
        interval = ratio(rng.lognormal(np.log(600), 0.1, 5), rng.lognormal(np.log(300), 0.1, 5)).interval
        assert interval is not None
        held += interval.low <= 2 <= interval.high
    assert held / EXPERIMENTS > 0.95


def test_five_samples_give_their_smallest_and_largest() -> None:
    assert summarise([30.0, 10, 20, 50, 40]).interval == Interval(10, 50)
    assert summarise([7.0] * 5).interval == Interval(7, 7)


def test_more_samples_of_the_same_give_a_narrower_interval() -> None:
    values = np.random.default_rng(1).normal(500, 20, 40).tolist()
    few, many = summarise(values[:8]).interval, summarise(values).interval
    assert few is not None and many is not None
    assert many.high - many.low < few.high - few.low


def test_the_same_samples_give_the_same_interval() -> None:
    values, base = np.random.default_rng(2).normal(500, 20, (2, 20)).tolist()
    assert len({summarise(values) for _ in range(3)}) == 1
    assert len({ratio(values, base) for _ in range(3)}) == 1


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_no_interval_under_five(n: int) -> None:
    one = summarise(list(range(1, n + 1)))
    assert (one.n, one.median, one.interval) == (n, (n + 1) / 2, None)
    assert one.reason == f"needs 5 repetitions, has {n}"
    for many in (ratio([4.0] * n, [2.0] * 9), ratio([4.0] * 9, [2.0] * n)):
        assert (many.n, many.median, many.interval, many.reason) == (n, 2, None, one.reason)


def test_nothing_measured_and_a_base_of_zero_say_so() -> None:
    assert (summarise([]).median, summarise([]).reason) == (None, "no repetition was done")
    assert (ratio([], [1.0]).median, ratio([1.0], []).reason) == (None, "no repetition was done")
    zero = ratio([1.0] * 5, [0.0, 0, 0, 1, 1])
    assert (zero.median, zero.interval, zero.reason) == (None, None, "the base is zero")
    mostly = ratio([1.0] * 5, [0.0, 0, 1, 1, 1])
    assert (mostly.median, mostly.interval, mostly.reason) == (1, None, "the base is zero in some repetitions")


def test_a_ratio_is_of_the_medians() -> None:
    found = ratio([10.0, 20, 30, 40, 900], [10.0, 10, 10, 10, 10])
    assert (found.n, found.median, found.interval) == (5, 3, Interval(1, 90))
