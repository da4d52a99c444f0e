"""Percentiles from buckets against percentiles from the values themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidtest.analysis.latency import SHOWN, curve_ms, merge, percentile, percentile_ns, values_needed
from factory import histogram

NS = st.lists(st.integers(0, 2**40), min_size=1, max_size=60)


@pytest.mark.parametrize("count", [1_237, 12_345, 54_321])
def test_percentiles_agree_with_numpys_to_three_figures(count: int) -> None:
    values = np.random.default_rng(count).lognormal(14, 1, count).astype(np.int64)
    for share in SHOWN:
        exact = np.quantile(values, share, method="inverted_cdf")
        assert exact <= percentile_ns(histogram(values), share) <= exact * 1.001


@given(NS, st.integers(0, 1000))
def test_a_percentile_is_the_nearest_rank(values: list[int], thousandths: int) -> None:
    rank = max(1, -(-thousandths * len(values) // 1000))
    exact = sorted(values)[rank - 1]
    assert exact <= percentile_ns(histogram(values), thousandths / 1000) <= min(max(values), exact * 1.001)


def test_a_rank_is_not_raised_by_rounding() -> None:
    assert 0.07 * 100 > 7
    assert percentile_ns(histogram(range(1, 101)), 0.07) == 7


@pytest.mark.parametrize(("share", "needed"), [(0.5, 20), (0.9, 100), (0.99, 1000), (0.999, 10_000)])
def test_a_percentile_is_shown_when_ten_values_lie_beyond(share: float, needed: int) -> None:
    values = np.arange(1, needed + 1) * 1_000_000
    assert values_needed(share) == needed
    shown = percentile(histogram(values), share)
    assert shown.value_ms is not None and shown.reason is None
    assert shown.value_ms == pytest.approx(needed - 10, rel=0.001)
    refused = percentile(histogram(values[:-1]), share)
    assert refused.value_ms is None
    assert refused.reason == f"{refused.name} needs {needed:,} transactions, has {needed - 1:,}"


def test_the_maximum_is_always_shown_and_exact() -> None:
    found = percentile(histogram([5, 1_234_567]), 1.0)
    assert (found.name, found.value_ms) == ("max", 1.234567)
    assert percentile(merge([]), 1.0).value_ms is None


def test_an_empty_histogram_has_no_percentile() -> None:
    with pytest.raises(ValueError, match="empty"):
        percentile_ns(merge([]), 0.5)


@given(st.lists(NS | st.just([]), max_size=5))
def test_merging_histograms_is_merging_their_values(parts: list[list[int]]) -> None:
    merged = merge([histogram(part) for part in parts])
    whole = histogram([value for part in parts for value in part])
    assert merged.model_dump(exclude={"mean_ns"}) == whole.model_dump(exclude={"mean_ns"})
    assert merged.mean_ns == pytest.approx(whole.mean_ns)


def test_a_curve_rises_from_the_median_to_the_last_percentile_it_may_show() -> None:
    values = np.random.default_rng(3).lognormal(14, 1, 5_000).astype(np.int64)
    curve = curve_ms(histogram(values))
    shares, heights = zip(*curve, strict=True)
    assert (shares[0], shares[-1]) == pytest.approx((0.5, 1 - 10 / 5_000))
    assert list(shares) == sorted(shares) and list(heights) == sorted(heights)
    assert heights[0] == pytest.approx(np.median(values) / 1e6, rel=0.002)
    assert sum(values / 1e6 > heights[-1]) == pytest.approx(10, abs=1)
    steps = np.diff([math.log10(1 - share) for share in shares])
    assert steps == pytest.approx(np.full(len(steps), steps[0]))


def test_a_curve_needs_a_median() -> None:
    assert curve_ms(histogram(range(1, 20))) == []
    assert curve_ms(histogram(range(1, 21)))
