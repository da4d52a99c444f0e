"""When a measurement may begin, over rates that are told beforehand."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable

import pytest

from acidtest.analysis.steady import SECONDS_NEEDED, Gate
from acidtest.workload.base import STEADY_WINDOW_S
from acidtest.workload.commits import Commits


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
