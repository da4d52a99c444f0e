"""Whether a rate stands still, and when a measurement may begin."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable

import numpy as np
import pytest
import scipy

from acidtest.analysis.steady import SECONDS_NEEDED, Gate, pettitt, rates_per_s, row_steadiness, steadiness
from acidtest.journal.protocol import Second
from acidtest.workload.base import STEADY_WINDOW_S
from acidtest.workload.commits import Commits
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


def began(rates: Iterable[float], gate: Gate) -> int | None:
    """The second from which on to measure; None where the rates end before."""
    committed = 0.0
    for second, rate in enumerate(rates, start=1):
        committed += rate
        if (named := gate.hear(second * 1.001, round(committed))) is not None:
            return named
    return None


def gate(window: int = 10, earliest_s: float = 0.0) -> Gate:
    return Gate(earliest_s=earliest_s, window=window)


def test_an_even_rate_is_measured_when_five_windows_were_steady() -> None:
    made = gate()
    assert began([100.0] * 60, made) == 15  # ten seconds, and four further windows
    assert made.is_open and len(made.per_s) == 14


def test_nobody_measures_before_the_earliest_second() -> None:
    assert began([100.0] * 60, gate(earliest_s=25)) == 26


@pytest.mark.parametrize("seed", range(20))
def test_a_cache_that_fills_is_waited_for(seed: int) -> None:
    """A rate that approaches its end exponentially, with noise of 3 %: what is left of the rise is below a tenth."""
    lot = random.Random(seed)
    rates = [1000 * (1 - 0.8 * math.exp(-second / 15)) * lot.gauss(1, 0.03) for second in range(200)]
    found = began(rates, gate())
    assert found is not None
    left = 0.8 * math.exp(-(found - 11) / 15) - 0.8 * math.exp(-(found - 1) / 15)
    assert left < 0.25  # of the whole rate, from the window's first second to its last: a slope that noise may hide
    assert found >= 20


@pytest.mark.parametrize("at", range(10, 40))
def test_a_step_is_waited_for_wherever_it_comes(at: int) -> None:
    rates = [300.0 + second % 3 for second in range(at)] + [100.0 + second % 3 for second in range(80)]
    found = began(rates, gate(earliest_s=at + 5))
    assert found is not None
    before_step = at - (found - 1 - 10)  # of the last window
    assert before_step <= 3  # so few that the measurement of as many seconds, which has none of them, is not concerned


def test_a_rate_that_never_stands_still_is_never_let_through() -> None:
    made = gate()
    assert began([100.0 * 1.05**second for second in range(120)], made) is None
    assert not made.is_open
    assert made.judged is not None and made.judged.state == "drifts"
    assert len(made.per_s) == 120


def test_after_the_word_nothing_more_is_said() -> None:
    made = gate()
    began([100.0] * 14, made)
    assert made.hear(16.0, 1600) is None
    assert len(made.per_s) == 14


def test_news_between_two_seconds_make_no_rate() -> None:
    made = gate()
    made.hear(1.0, 100)
    made.hear(1.2, 100)
    made.hear(2.0, 200)
    assert made.per_s == [100.0, 100.0]


@pytest.mark.parametrize(("duration_s", "window"), [(1.0, 8), (12.9, 12), (600.0, 30)])
def test_as_many_seconds_are_judged_as_will_be_measured(duration_s: float, window: int) -> None:
    made = Commits(kind="commits", duration_s=duration_s, warmup_limit_s=120)
    assert made.steady_window_s() == window
    assert STEADY_WINDOW_S[0] == SECONDS_NEEDED
