"""Steady, drifting, stepping, too short."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from acidtest.analysis.steady import SECONDS_NEEDED, pettitt, rates_per_s, row_steadiness, steadiness
from acidtest.journal.protocol import Second
from factory import series

SEEDS = range(20)


def noisy(shape: object, seed: int, noise: float = 0.02) -> list[Second]:
    values = np.asarray(shape, dtype=float)
    return series((values * np.random.default_rng(seed).normal(1, noise, len(values))).tolist())


@pytest.mark.parametrize("seconds", [8, 12, 60])
def test_a_constant_rate_with_noise_is_steady(seconds: int) -> None:
    for seed in SEEDS:
        found = steadiness(noisy(np.full(seconds, 1000), seed))
        assert (found.state, found.seconds, found.at_s) == ("steady", seconds, None)


def test_noise_alone_is_seldom_taken_for_change() -> None:
    unsteady = sum(steadiness(noisy(np.full(30, 1000), seed, noise=0.25)).state != "steady" for seed in range(200))
    assert unsteady <= scipy.stats.binom.ppf(0.999, 200, 0.10)  # two tests at five percent each


@pytest.mark.slow
def test_noise_of_five_repetitions_is_seldom_taken_for_change() -> None:
    rows = [[noisy(np.full(8, 1000), 5 * row + n, noise=0.25) for n in range(5)] for row in range(200)]
    assert sum(not row_steadiness(row).steady for row in rows) <= scipy.stats.binom.ppf(0.999, 200, 0.15)
    # Two tests of the common run and five of the repetitions: without the correction it is every third row.
    alone = sum(any(steadiness(run).state != "steady" for run in row) for row in rows)
    assert alone > scipy.stats.binom.ppf(0.999, 200, 0.15)


@pytest.mark.parametrize("shape", [np.linspace(1150, 850, 8), [1000] * 4 + [700] * 4])
def test_what_repetitions_have_in_common_shows_where_each_alone_is_uncertain(shape: object) -> None:
    for seed in SEEDS:
        judged = row_steadiness([noisy(shape, 5 * seed + n, noise=0.08) for n in range(5)])
        assert judged.common is not None
        assert (judged.judged, judged.common.state == "steady") == (5, False)


def test_one_repetition_of_five_that_falls_for_certain_is_counted() -> None:
    for seed in SEEDS:
        flat = [noisy(np.full(12, 1000), 5 * seed + n) for n in range(4)]
        judged = row_steadiness([*flat, noisy(np.linspace(1300, 700, 12), seed)])
        assert judged.common is not None
        assert (judged.judged, judged.unsteady, judged.common.state, judged.steady) == (5, 1, "steady", False)


def test_repetitions_that_are_too_short_are_not_judged() -> None:
    judged = row_steadiness([series([1000.0] * 5), series([1000.0] * 9), series([900.0] * 7)])
    assert (judged.judged, judged.unsteady, judged.common, judged.steady) == (1, 0, None, True)
    assert row_steadiness([]).judged == 0


@pytest.mark.parametrize("seconds", [8, 12, 60])
@pytest.mark.parametrize(("first", "last"), [(1200, 800), (800, 1200)])
def test_a_ramp_drifts(seconds: int, first: int, last: int) -> None:
    for seed in SEEDS:
        found = steadiness(noisy(np.linspace(first, last, seconds), seed))
        assert (found.state, found.at_s) == ("drifts", None)
        assert found.change == pytest.approx((last - first) / 1000, abs=0.08)


@pytest.mark.parametrize(("before", "after", "off_by"), [(4, 4, 0), (5, 5, 0), (6, 6, 0), (20, 20, 0), (20, 40, 5)])
@pytest.mark.parametrize("to", [600, 1500])
def test_a_step_is_found_where_it_is(before: int, after: int, off_by: int, to: int) -> None:
    for seed in SEEDS:
        ran = noisy([1000] * before + [to] * after, seed)
        found = steadiness(ran)
        assert found.state == "steps"
        assert found.at_s == pytest.approx(before, abs=off_by)
        middle = np.median([rate for _, rate in rates_per_s(ran)])
        assert found.change == pytest.approx((to - 1000) / middle, abs=0.05)


def test_a_small_change_is_steady_however_certain() -> None:
    assert steadiness(noisy(np.linspace(1030, 970, 60), 1, noise=0.001)).state == "steady"
    assert steadiness(noisy([1000] * 30 + [950] * 30, 1, noise=0.001)).state == "steady"


@pytest.mark.parametrize("seconds", [0, 1, SECONDS_NEEDED - 1])
def test_too_short_says_so(seconds: int) -> None:
    found = steadiness(series([100.0, 900.0, 100.0, 900.0, 100.0, 900.0, 100.0][:seconds]) if seconds else [])
    assert (found.state, found.seconds, found.change) == ("too short to tell", seconds, None)


def test_warm_up_and_a_cut_last_second_do_not_count() -> None:
    whole = series([1000.0] * 7, warmup_s=5)
    cut = whole[-1].model_copy(update={"at_s": 7.0, "length_s": 0.4, "committed": 10})
    assert rates_per_s([*whole, cut]) == [(float(at), 1000.0) for at in range(7)]
    assert steadiness([*whole, cut]).state == "too short to tell"


def test_a_long_second_is_a_rate_all_the_same() -> None:
    (second,) = series([1000.0], warmup_s=0)
    assert rates_per_s([second.model_copy(update={"length_s": 1.25})]) == [(0.0, 800.0)]


def test_equal_rates_are_steady_and_mostly_nothing_is_not() -> None:
    assert steadiness(series([500.0] * 10)).state == "steady"
    assert steadiness(series([0.0] * 10)).state == "steady"
    assert steadiness(series([800.0] * 3 + [0.0] * 7)).state != "steady"


def test_pettitt_by_hand() -> None:
    # all 30 * 90 pairs across the change fall: U = 2700, p = 2 exp(-6 * 2700**2 / (120**3 + 120**2))
    split, p = pettitt(np.array([9.0] * 30 + [5.0] * 90))
    assert (split, p) == (30, pytest.approx(2 * np.exp(-6 * 2700**2 / (120**3 + 120**2))))


def test_pettitt_of_a_few_values_counts_arrangements() -> None:
    # Of the 70 ways to set four high among four low values, two have them all on one side.
    split, p = pettitt(np.array([9.0] * 4 + [5.0] * 4))
    assert (split, p) == (4, pytest.approx(2 / 70, abs=0.01))
