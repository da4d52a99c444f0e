"""Verdicts: how often they are wrong when nothing differs, and whether they come when something does."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

import factory
from acidtest.analysis import power
from acidtest.analysis.compare import (
    EXACT_ARRANGEMENTS,
    Comparison,
    cliffs_delta,
    comparisons,
    holm,
    judge,
    mann_whitney_p,
)
from acidtest.analysis.pairs import ALPHA, smallest_p
from acidtest.analysis.samples import Row, rows

FEW = st.lists(st.integers(0, 6).map(float), min_size=2, max_size=5)  # scipy's permutations need two
RUN = factory.result(rate=50.0)


def by_counting(a: list[float], b: list[float]) -> float:
    """The two-sided p from the rank sums of every arrangement."""
    ranks = scipy.stats.rankdata([*a, *b])
    seen = ranks[: len(a)].sum()
    sums = np.array([sum(chosen) for chosen in itertools.combinations(ranks, len(a))])
    return float(min(1, 2 * min((sums <= seen + 1e-9).mean(), (sums >= seen - 1e-9).mean())))


def table(groups: dict[tuple[str, str], list[float]], workload: str = "commits") -> list[Row]:
    """Rows of engine and durability with these rates, one a repetition; a rate of -1 is a failed cell."""
    found = []
    for (engine, durability), rates in groups.items():
        levels = {"workload": workload, "engine": engine, "durability": durability}
        for repetition, rate in enumerate(rates, start=1):
            run = RUN.model_copy(update={"goodput_per_s": rate})
            done = factory.recording(levels, repetition, found=run)
            found.append(done if rate >= 0 else factory.failed(levels, repetition, "why"))
    return rows(factory.journal(found).header, found)


def pairs(found: list[Comparison]) -> set[tuple[str, str]]:
    return {("/".join(c.row.key[1:]), "/".join(c.against.key[1:])) for c in found}


# ---------------------------------------------------------------------------------------- calibration and power


def test_a_difference_is_claimed_in_at_most_five_percent_of_families_where_there_is_none() -> None:
    rng = np.random.default_rng(1)
    families, wrong = 300, 0
    for _ in range(families):
        n, size, shared = int(rng.integers(5, 9)), int(rng.integers(2, 6)), rng.random() < 0.5
        drawn = rng.lognormal(6.5, 0.05, (2 * size, n)).tolist()
        against = [drawn[-1]] * size if shared else drawn[size:]
        verdicts = {judged.verdict for judged in judge(list(zip(drawn[:size], against, strict=True)))}
        assert "cannot tell" not in verdicts
        wrong += bool(verdicts & {"faster", "slower"})
    assert 0 < wrong <= scipy.stats.binom.ppf(0.999, families, ALPHA)


def test_clear_differences_are_found_with_five_repetitions() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        base, more, less = (rng.normal(rate, 0.03 * rate, 5).tolist() for rate in (700, 1000, 500))
        assert [j.verdict for j in judge([(more, base), (less, base), (more, less)])] == ["faster", "slower", "faster"]


def test_the_largest_family_that_five_repetitions_bear_is_six() -> None:
    apart = ([6.0, 7, 8, 9, 10], [1.0, 2, 3, 4, 5])
    assert {j.verdict for j in judge([apart] * 6)} == {"faster"}
    beyond = judge([apart] * 7)
    assert {j.verdict for j in beyond} == {"cannot tell"}
    assert "among 7 comparisons" in beyond[0].reason


def test_overlapping_runs_show_no_difference() -> None:
    (judged,) = judge([([101.0, 103, 105, 107, 109], [102.0, 104, 106, 108, 110])])
    assert judged.verdict == "no difference shown"
    assert judged.p is not None and judged.p > ALPHA
    assert judged.smallest_ratio is not None
    lower = 100 * (1 - judged.smallest_ratio)
    assert judged.reason.endswith(f"a rate {lower:.2g} % lower would probably have been noticed")


def test_runs_that_vary_too_much_cannot_tell() -> None:
    """Five against five of which the least is a ninth of the most would miss a halving."""
    (judged,) = judge([([1.0, 3, 5, 7, 9], [2.0, 4, 6, 8, 10])])
    assert judged.verdict == "cannot tell"
    assert judged.smallest_ratio is not None and judged.smallest_ratio < power.HALVING
    assert "would have missed even a halving; about " in judged.reason
    (zero,) = judge([([0.0] * 5, [0.0] * 5)])
    assert (zero.verdict, zero.smallest_ratio) == ("cannot tell", None)


@pytest.mark.parametrize(("n", "m"), [(4, 4), (4, 50), (50, 4), (1, 5)])
def test_under_five_repetitions_nothing_is_claimed(n: int, m: int) -> None:
    (judged,) = judge([([10.0 + i for i in range(n)], [1.0 + i / 100 for i in range(m)])])
    assert (judged.verdict, judged.cliffs_delta) == ("cannot tell", 1)
    many = f"{n} repetitions" if n == m else f"{n} and {m} repetitions"
    none = smallest_p(n, m) > ALPHA
    says = "can show no difference of any size; 5 on each side can" if none else "a verdict takes 5 on each side"
    assert judged.reason == f"{many}{' ' if none else '; '}{says}"


def test_a_pair_without_a_sample_is_not_tested_and_does_not_weigh_on_the_others() -> None:
    apart = ([6.0, 7, 8, 9, 10], [1.0, 2, 3, 4, 5])
    empty, full = judge([([], [1.0] * 5), apart])
    assert (empty.p, empty.p_corrected, empty.cliffs_delta) == (None, None, None)
    assert empty.verdict == "cannot tell"
    assert (full.verdict, full.p_corrected) == ("faster", full.p)


# ---------------------------------------------------------------------------------------- the numbers


@settings(max_examples=60)
@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=14, unique=True), st.data())
def test_p_without_ties_is_scipys_exact(values: list[int], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(values) - 1))
    expected = scipy.stats.mannwhitneyu(values[:cut], values[cut:], method="exact").pvalue
    assert mann_whitney_p(values[:cut], values[cut:]) == pytest.approx(min(1, expected))


@settings(max_examples=60)
@given(FEW, FEW)
def test_p_with_ties_counts_every_arrangement(a: list[float], b: list[float]) -> None:
    assert mann_whitney_p(a, b) == pytest.approx(by_counting(a, b))


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [
        ([3.0, 3, 3, 3, 3], [2.0, 2, 2, 2, 2], 2 / 252),
        ([2.0, 3, 3, 3, 3], [2.0, 2, 2, 2, 2], 2 * 6 / 252),  # all 3s on one side, beside one of six 2s
        ([1.0, 2], [2.0, 3], 2 * 2 / 6),  # rank sums 3.5, 3.5, 5, 5, 6.5, 6.5
        ([4.0, 4], [4.0, 4], 1.0),
    ],
)
def test_p_of_tied_samples_by_hand(a: list[float], b: list[float], p: float) -> None:
    assert mann_whitney_p(a, b) == pytest.approx(p)
    assert mann_whitney_p(b, a) == pytest.approx(p)


def test_many_tied_samples_are_approximated_closely() -> None:
    assert math.comb(18, 9) > EXACT_ARRANGEMENTS
    a, b = [1.0, 2, 2, 3, 4, 4, 5, 6, 7], [3.0, 4, 5, 5, 6, 7, 7, 8, 9]
    assert mann_whitney_p(a, b) == pytest.approx(by_counting(a, b), rel=0.1)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 4), (5, 5), (8, 6)])
def test_smallest_p_is_that_of_samples_that_do_not_overlap(n: int, m: int) -> None:
    assert smallest_p(n, m) == pytest.approx(mann_whitney_p(list(range(n)), list(range(100, 100 + m))))


def test_holm_by_hand() -> None:
    # in order: 0.005 * 4, 0.01 * 3, 0.03 * 2, and 0.04 * 1 raised to the one before it
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1, 1]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


@given(FEW, FEW)
def test_cliffs_delta_counts_pairs(a: list[float], b: list[float]) -> None:
    expected = sum((x > y) - (x < y) for x in a for y in b) / (len(a) * len(b))
    assert cliffs_delta(a, b) == pytest.approx(expected)


# ---------------------------------------------------------------------------------------- which rows are compared

SLOW, FAST = [100.0, 101, 102, 103, 104], [200.0, 201, 202, 203, 204]
GRID = {(engine, durability): SLOW for engine in ("a", "b", "c") for durability in ("os", "drive")}


def test_without_a_base_all_pairs_that_differ_in_one_factor() -> None:
    found = comparisons(table(GRID), {})
    assert len(found) == 3 + 2 * 3
    assert all(len(c.factors) == 1 and not c.is_base for c in found)
    assert {c.factors: c.family for c in found} == {("engine",): 6, ("durability",): 3}


def test_a_named_factor_is_compared_with_the_bases_level_only() -> None:
    found = comparisons(table(GRID), {"engine": "a"})
    assert pairs(found) == {
        ("b/os", "a/os"),
        ("c/os", "a/os"),
        ("b/drive", "a/drive"),
        ("c/drive", "a/drive"),
        ("a/drive", "a/os"),
        ("b/drive", "b/os"),
        ("c/drive", "c/os"),
    }
    assert {c.is_base for c in found if c.factors == ("engine",)} == {True}
    assert {c.is_base for c in found if c.factors == ("durability",)} == {False}


def test_every_row_is_read_against_a_base_that_names_all_factors() -> None:
    found = comparisons(table(GRID), {"engine": "b", "durability": "drive"})
    to_base = [c for c in found if c.is_base]
    assert {c.against.key for c in to_base} == {("commits", "b", "drive")}
    assert {c.factors: c.family for c in to_base} == {("engine", "durability"): 2, ("engine",): 4, ("durability",): 3}
    assert ("a/os", "b/os") in pairs(found)
    assert len({frozenset((c.row.key, c.against.key)) for c in found}) == len(found)


def test_workloads_are_never_compared_nor_one_family() -> None:
    groups = {("a", "os"): SLOW, ("b", "os"): FAST}
    found = comparisons([*table(groups), *table(groups, "tpcb")], {"engine": "a"})
    assert [(c.row.workload, c.against.workload, c.family) for c in found] == [
        ("commits", "commits", 1),
        ("tpcb", "tpcb", 1),
    ]


def test_a_comparison_reads_row_against_base() -> None:
    (found,) = comparisons(table({("a", "os"): SLOW, ("b", "os"): FAST}), {"engine": "a"})
    assert (found.verdict, found.n, found.cliffs_delta, found.ratio.median) == ("faster", (5, 5), 1, 202 / 102)
    assert found.p == found.p_corrected == pytest.approx(2 / 252)
    (turned,) = comparisons(table({("a", "os"): SLOW, ("b", "os"): FAST}), {"engine": "b"})
    assert (turned.verdict, turned.cliffs_delta, turned.ratio.median) == ("slower", -1, 102 / 202)


def test_a_row_without_a_run_that_counts_is_named_and_not_judged() -> None:
    (found,) = comparisons(table({("a", "os"): SLOW, ("b", "os"): [-1.0] * 5}), {"engine": "a"})
    assert (found.n, found.p, found.ratio.median) == ((0, 5), None, None)
    assert (found.verdict, found.reason) == ("cannot tell", "one side has no run that counts")


def test_failed_repetitions_are_missing_from_n() -> None:
    (found,) = comparisons(table({("a", "os"): SLOW, ("b", "os"): [*FAST[:4], -1.0]}), {"engine": "a"})
    assert (found.n, found.verdict) == ((4, 5), "cannot tell")
