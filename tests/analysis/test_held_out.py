"""Forecasts of held-out sizes, and the score of forecasts: what is predicted, from what, and how often it holds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import factory
from acidtest.analysis import samples
from acidtest.analysis.growth.answer import analyse
from acidtest.analysis.growth.held_out import Predicted, Score, exact_interval, looking_back, predict
from acidtest.analysis.growth.held_out import held_out as scored
from acidtest.analysis.growth.recorded import recorded
from acidtest.analysis.growth.series import Series, SizePoint
from acidtest.analysis.growth.words import predicted_sentence, score_sentence
from acidtest.analysis.summary import Interval
from acidtest.journal.models import DatabaseSize, Forecast, Journal, Recording
from acidtest.report.growth import growth
from support import times

GB = 1e9
SIZES = [1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
LEVELS = {"workload": "tpcc", "engine": "sqlite", "durability": "drive"}


def of_size(size: float, rate: float, repetition: int = 1, bytes_: float | None = None) -> Recording:
    found = factory.recording({**LEVELS, "size": f"{size:g} GB"}, repetition, found=factory.result(rate=rate))
    reached = DatabaseSize(
        asked=f"{size:g} GB", asked_bytes=int(size * GB), warehouses=int(10 * size), bytes=int(bytes_ or size * GB)
    )
    return found.model_copy(update={"database_size": reached})


def journal(*more: Recording, forecasts: list[Forecast] | None = None) -> Journal:
    """Six sizes, each with a rate that falls by a tenth with each doubling, and what is given."""
    found = [of_size(size, 900 * size**-0.152) for size in SIZES]
    made = factory.journal([*found, *more], growth={"sizes": ["1 GB"], "held_out": ["12 GB"]})
    return made.model_copy(update={"forecasts": forecasts or []})


def concluded(of: Journal) -> list[Series]:
    return recorded(of.header, samples.rows(of.header, of.recordings), forecasts=of.forecasts)


def test_a_held_out_size_is_foretold_from_the_others_alone() -> None:
    found = predict(journal(), LEVELS, "12 GB", 12 * GB)
    assert found is not None
    assert found.measured == [f"{size:g} GB" for size in SIZES]
    assert (found.levels, found.size, found.bytes, found.refused) == (LEVELS, "12 GB", 12 * GB, None)
    assert found.rate_per_s == pytest.approx(900 * 12**-0.152, rel=0.01)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.rate_per_s <= found.high
    # An earlier held-out size that has a figure by now changes nothing.
    also = journal(of_size(8, 3.0))
    also.header.experiment["growth"]["held_out"].append("8 GB")
    again = predict(also, LEVELS, "12 GB", 12 * GB)
    assert again is not None
    assert again.rate_per_s == found.rate_per_s


def test_nothing_is_foretold_twice_or_afterwards() -> None:
    found = predict(journal(), LEVELS, "12 GB", 12 * GB)
    assert found is not None
    assert predict(journal(forecasts=[found]), LEVELS, "12 GB", 12 * GB) is None
    assert predict(journal(of_size(12, 500.0)), LEVELS, "12 GB", 12 * GB) is None
    # The database of an interrupted run has got other figures since: the last forecast before the measurement counts.
    assert predict(journal(of_size(5, 100.0), forecasts=[found]), LEVELS, "12 GB", 12 * GB) is not None


def test_a_size_in_warehouses_is_as_large_as_the_largest_lets_expect() -> None:
    found = predict(journal(), LEVELS, "120 warehouses", None, 120)
    assert found is not None
    assert found.bytes == pytest.approx(12 * GB)
    assert found.rate_per_s is not None


def test_what_cannot_be_foretold_says_why() -> None:
    for made, levels in (
        (journal(), LEVELS | {"engine": "other"}),
        (factory.journal([], growth={"sizes": []}), LEVELS),
    ):
        found = predict(made, levels, "12 GB", 12 * GB)
        assert found is not None
        assert found.refused == "no prediction: no smaller size has a rate"
        assert (found.rate_per_s, found.low, found.high) == (None, None, None)


def test_what_was_measured_stands_beside_the_forecast() -> None:
    written = predict(journal(), LEVELS, "12 GB", 12 * GB)
    assert written is not None
    right = [of_size(12, 900 * 12**-0.152 * factor, n) for n, factor in enumerate((0.99, 1.0, 1.01), start=1)]
    (inside,) = scored(concluded(journal(*right, forecasts=[written]))).forecasts
    assert inside.holds
    assert predicted_sentence(inside).endswith("than predicted, inside the interval.")
    (outside,) = scored(concluded(journal(of_size(12, 1.0), forecasts=[written]))).forecasts
    assert outside.holds is False
    assert predicted_sentence(outside).endswith("% less than predicted, outside the interval.")
    (elsewhere,) = scored(concluded(journal(of_size(12, 1.0, bytes_=13 * GB), forecasts=[written]))).forecasts
    assert elsewhere.holds is None
    assert predicted_sentence(elsewhere).endswith("the database has another size than was predicted.")
    said = growth(concluded(journal(*right, forecasts=[written])))
    assert said.scores[0].startswith(
        "Of sizes held out, predicted before they were loaded: 1 of 1 measured figures lie"
    )
    assert said.as_json()["forecasts"]["held_out"]["held"] == 1
    # A size that was held out is not looked back at: it has its forecast.
    assert 12 * GB not in {forecast.bytes for forecast in said.looked_back.forecasts}


@pytest.mark.parametrize(("hits", "of"), [(0, 1), (0, 12), (7, 9), (19, 20), (40, 40)])
def test_the_interval_of_a_share_is_exact(hits: int, of: int) -> None:
    """Each end is where what was seen, or more of it, has a probability of 2.5 % (Clopper and Pearson 1934)."""
    found = exact_interval(hits, of)
    assert found.low <= hits / of <= found.high
    if hits:
        assert scipy.stats.binom.sf(hits - 1, of, found.low) == pytest.approx(0.025)
    if hits < of:
        assert scipy.stats.binom.cdf(hits, of, found.high) == pytest.approx(0.025)


def test_a_score_counts_what_lies_inside() -> None:
    def one(measured: float | None) -> Predicted:
        return Predicted("s", GB, 100.0, Interval(80.0, 160.0), measured)

    score = Score(tuple(one(measured) for measured in (79.0, 80.0, 100.0, 110.0, 161.0, None)))
    assert (len(score.scored), score.held) == (5, 3)
    assert score.coverage == exact_interval(3, 5)
    assert score.width == 2.0
    assert score.error == pytest.approx(100 / 80 - 1)  # the middle one of 0, 10, 25, 27 and 61 %
    assert score_sentence(score, "Here") == (
        "Here: 3 of 5 measured figures lie in their 95 % intervals (60 %; 95 %: 14.7 to 94.7); the median figure is 25 % off, "
        "and the upper end of the median interval is 2 × its lower one."
    )
    wide = Score((Predicted("s", GB, 100.0, Interval(1.0, 11.0), 9.0),))
    assert score_sentence(wide, "Here").endswith("off, and the median interval is so wide that it says little.")
    assert score_sentence(Score(()), "Here") == "Here: none can be scored."


def made(law: str, seed: int, sizes: int = 8, noise: float = 0.05) -> Series:
    """A series of known truth, from 1 GB on, half a doubling from size to size, with five repetitions."""
    rng = np.random.default_rng(seed)
    at = 2.0 ** (np.arange(sizes) / 2)
    truth = {
        "constant": 800 + 0 * at,
        "power": 800 * at**-0.25,
        "logarithmic time": 800 / (1 + 0.3 * np.log2(at)),
        "bent": 800 * np.maximum(at / 2, 1) ** -0.8,
    }[law]
    shared = np.exp(rng.normal(0, noise, sizes))  # what is special about a size's database
    rates = (truth * shared)[:, None] * np.exp(rng.normal(0, noise / 5, (sizes, 5)))
    return Series(law, tuple(SizePoint(s * GB, tuple(r.tolist())) for s, r in zip(at, rates, strict=True)))


@pytest.mark.slow
def test_forecasts_of_known_truth_hold_as_often_as_they_say() -> None:
    """Of series whose laws are known, each forecasting its last, held-out size: 95 % must not be shown to be too much."""
    held = of = 0
    for law in ("constant", "power", "logarithmic time"):
        for seed in range(times(12, 20)):
            series = made(law, seed)
            *known, last = series.points
            prediction = analyse(Series(law, tuple(known))).predict(last.bytes)
            assert prediction.interval is not None
            rate = float(np.median(last.rates))
            held += prediction.interval.low <= rate <= prediction.interval.high
            of += 1
    assert exact_interval(held, of).high >= 0.95, (held, of)
    assert exact_interval(held, of).low >= 0.8, (held, of)


@pytest.mark.slow
def test_looking_back_scores_series_of_known_truth() -> None:
    score = looking_back([made(law, seed) for law in ("constant", "power", "bent") for seed in range(4)])
    assert len(score.scored) >= 40
    assert score.coverage is not None
    assert score.coverage.high >= 0.95, score.held / len(score.scored)
    assert score.error is not None
    assert score.error < 0.12  # noise of 5 %, and laws that are seen from few sizes


def test_the_score_finds_forecasts_that_claim_too_much() -> None:
    """Intervals half as wide as they must be hold too little, and the score's own interval says so."""
    rng = np.random.default_rng(7)
    rates = np.exp(rng.normal(0, 0.1, 200))
    width = 1.96 * 0.1 / 2
    half = Interval(float(np.exp(-width)), float(np.exp(width)))
    coverage = Score(tuple(Predicted("s", GB, 1.0, half, float(rate)) for rate in rates)).coverage
    assert coverage is not None
    assert coverage.low <= 0.673 <= coverage.high < 0.95  # 67.3 % of a normal distribution
