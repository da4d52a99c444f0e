"""Which factors matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidtest.analysis.effects import Effect, conclusion, effects, permutation_p
from designs import crossed, row


def test_factors_are_told_apart_by_the_size_of_what_they_do() -> None:
    found = effects(crossed({"fs": [1, 2, 1.5], "option": [1, 0.9], "scheduler": [1, 1, 1]}, repetitions=5))
    assert [(e.factor, e.verdict) for e in found] == [
        ("fs", "matters"), ("option", "matters"), ("scheduler", "no difference shown"),
    ]  # fmt: skip
    fs, option, _ = found
    assert (fs.best, fs.worst, fs.contexts) == ("fs1", "fs0", 6)
    assert fs.ratio.median == pytest.approx(2, rel=0.02)
    assert fs.ratio.interval is not None
    assert fs.ratio.interval.low < 2 < fs.ratio.interval.high
    assert (option.best, option.worst, option.contexts) == ("option0", "option1", 9)
    said = conclusion(found)
    assert said[0].startswith("fs matters most: fs1 is 2")
    assert said[1].startswith("Less, but shown: option option0 is 1.1")
    assert said[2].startswith("scheduler: no difference shown; a rate ")
    assert said[2].endswith(" would probably have been noticed.")


def test_four_repetitions_rank_nothing() -> None:
    found = effects(crossed({"fs": [1, 2], "option": [1, 0.9]}, repetitions=4))
    assert {(e.verdict, e.ratio.interval, e.p) for e in found} == {("cannot tell", None, None)}
    (said,) = conclusion(found)
    assert said.startswith("Which factors matter is not told")
    assert "most" not in said


def test_overlapping_factors_are_not_put_in_order() -> None:
    found = effects(crossed({"fs": [1, 1.5], "option": [1, 1.5]}, repetitions=6, noise=0.1))
    said = conclusion(found)
    assert "which of them more is not shown" in said[0]


def test_a_factor_that_acts_both_ways_says_so() -> None:
    rows = crossed({"fs": [1, 2, 4], "option": [1, 1]}, repetitions=5)
    # Better on two file systems, worse on the third.
    for n, gain in ((1, 1.5), (3, 1.5), (5, 0.8)):
        samples = [gain * rate for rate in rows[n].goodput_per_s]
        rows[n] = row({k: v for k, v in rows[n].levels.items() if k in ("fs", "option")}, samples)
    option = next(e for e in effects(rows) if e.factor == "option")
    assert option.least == pytest.approx(0.8, rel=0.03)
    assert option.most == pytest.approx(1.5, rel=0.03)
    assert any("Not everywhere alike: option" in sentence for sentence in conclusion(effects(rows)))


def test_levels_that_no_context_shares_are_not_compared() -> None:
    rows = [row({"fs": "raw", "option": "–"}, [1.0] * 5), row({"fs": "ext4", "option": "defaults"}, [2.0] * 5)]
    assert effects(rows) == []
    assert conclusion([]) == []


@pytest.mark.slow
def test_without_an_effect_few_are_found() -> None:
    found = 0
    for seed in range(120):
        rows = crossed({"fs": [1, 1, 1, 1], "option": [1, 1]}, repetitions=5, noise=0.2, seed=seed)
        found += any(e.verdict == "matters" for e in effects(rows))
    assert found <= 12  # 5 % of 120 and two standard deviations


@settings(max_examples=30)
@given(
    st.lists(st.floats(0.2, 5), min_size=2, max_size=4),
    st.lists(st.floats(0.2, 5), min_size=2, max_size=3),
    st.integers(1, 6),
    st.floats(0.01, 100),
)
def test_an_effect_depends_neither_on_the_unit_nor_on_the_order(
    one: list[float], other: list[float], repetitions: int, unit: float
) -> None:
    rows = crossed({"a": one, "b": other}, repetitions)
    scaled = [row({"a": r.levels["a"], "b": r.levels["b"]}, [unit * x for x in r.goodput_per_s]) for r in rows]

    def told(effects_: list[Effect]) -> dict[str, tuple[object, ...]]:
        return {e.factor: (e.best, e.worst, e.contexts, e.verdict) for e in effects_}

    found = effects(rows)
    assert told(effects(scaled)) == told(found)
    assert told(effects(rows[::-1])).keys() == told(found).keys()
    for effect in found:
        assert effect.ratio.median is not None
        assert effect.ratio.median >= 1
        assert effect.least <= effect.ratio.median * (1 + 1e-9)
        assert effect.most >= effect.ratio.median * (1 - 1e-9)
        assert (effect.ratio.interval is None) == (repetitions < 5)


def test_five_against_five_apart_is_the_rarest_arrangement() -> None:
    apart = {"a": np.log([1.0, 1.1, 1.2, 1.3, 1.4]), "b": np.log([2.0, 2.1, 2.2, 2.3, 2.4])}
    assert permutation_p([apart]) < 0.03
    assert permutation_p([{"a": np.zeros(5), "b": np.zeros(5)}]) == 1.0
