"""Databases that grow: losses, knees, forecasts, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import factory
from acidtest.analysis import samples
from acidtest.analysis.growth.answer import Estimate, GrowthAnswer, analyse, size_text
from acidtest.analysis.growth.compared import compare
from acidtest.analysis.growth.curves import LOGARITHMIC_TIME, POWER, Reads, cache_misses, fit
from acidtest.analysis.growth.knee import find, sharpest_step
from acidtest.analysis.growth.recorded import recorded
from acidtest.analysis.growth.series import MEMORY, Landmark, Series, SizePoint
from acidtest.analysis.growth.words import change, plain, sentences, share
from acidtest.analysis.summary import Interval
from acidtest.journal.models import DatabaseSize, DatabaseStatistics, DeviceWork, IndexStatistics, Recording

GB = 1e9
PUBLISHED = Path(__file__).parents[2] / "docs" / "examples" / "firebird-growth.csv"
MEASURED_LATER = (1813.97 * GB, 169.33)

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Curve = Callable[[Floats], Floats]  # of sizes in GB

CLIFF: Curve = lambda size: 800 / (1 + 8 * (1 - np.minimum(1, 3 / size)))  # noqa: E731
BEND: Curve = lambda size: 800 * np.maximum(size / 3, 1) ** -0.9  # noqa: E731
SMOOTH: dict[str, Curve] = {
    "constant": lambda size: 800 + 0 * size,
    "power": lambda size: 800 * size**-0.2,
    "logarithmic": lambda size: 800 * (1 - 0.1 * np.log2(size)),
    "logarithmic time": lambda size: 800 / (1 + 0.15 * np.log2(size)),
}


def published() -> Series:
    lines = [line.split(",") for line in PUBLISHED.read_text().splitlines() if line[0].isdecimal()]
    points = tuple(SizePoint(float(size) * GB, (float(rate),)) for size, rate in lines)
    return Series("published", points, (Landmark(MEMORY, 16 * GB),))


def series(
    curve: Curve, sizes: int = 8, noise: float = 0.0, repetitions: int = 3, seed: int = 1, memory: float | None = None
) -> Series:
    """From 1 to 16 GB."""
    rng = np.random.default_rng(seed)
    at = np.geomspace(1, 16, sizes)
    rates = curve(at)[:, None] * np.exp(rng.normal(0, noise, (sizes, repetitions)))
    points = tuple(SizePoint(float(one * GB), tuple(each.tolist())) for one, each in zip(at, rates, strict=True))
    return Series("made", points, (Landmark(MEMORY, memory * GB),) if memory else ())


def logs(curve: Curve, sizes: int, noise: float, seed: int, repetitions: int = 3) -> tuple[Floats, Floats]:
    points = series(curve, sizes, noise, repetitions, seed).points
    return np.log2([point.bytes / GB for point in points]), np.log([np.median(point.rates) for point in points])


def test_the_published_series_has_no_knee_at_memory_size() -> None:
    answer = analyse(published())
    assert len(answer.sizes) == 11
    assert answer.knee.verdict == "no knee shown"
    assert answer.knee.near(answer.series.landmarks[0]) == (
        "no knee shown at memory size (16 GB): one from which each doubling takes 10 % more would probably have been "
        "noticed"
    )
    assert "No knee shown at memory size (16 GB)" in sentences(answer)[0]
    assert answer.loss is not None
    assert answer.loss.value == pytest.approx(1 - 407.97 / 494.73)
    assert answer.loss.interval is not None
    assert 0.12 < answer.loss.interval.low < 0.175 < answer.loss.interval.high < 0.23
    assert answer.per_doubling is not None
    assert answer.per_doubling.value == pytest.approx(0.118, abs=0.001)


def test_what_the_published_series_foretells_holds_what_was_measured() -> None:
    size, rate = MEASURED_LATER
    prediction = analyse(published()).predict(size)
    assert prediction.interval is not None
    assert prediction.interval.low < rate < prediction.interval.high
    assert prediction.spans == pytest.approx(3.4, abs=0.05)
    assert any("further than any forecast" in doubt for doubt in prediction.doubts)


@pytest.mark.covering(2)
@pytest.mark.slow
@pytest.mark.parametrize("curve", [CLIFF, BEND], ids=["cliff", "bend"])
@pytest.mark.parametrize("sizes", [6, 8, 11])
@pytest.mark.parametrize("noise", [0.01, 0.03, 0.05])
def test_a_planted_knee_is_found_within_ten_percent(curve: Curve, sizes: int, noise: float) -> None:
    found = [find(*logs(curve, sizes, noise, seed)) for seed in range(10)]
    assert sum(one is not None and one.p <= 0.05 for one in found) >= 9
    near = [one is not None and abs(2**one.at / 3 - 1) < 0.1 for one in found]
    assert sum(near) >= (8 if noise > 0.03 else 9)
    assert sum(one is not None and one.low <= np.log2(3) <= one.high for one in found) >= 8


@pytest.mark.slow
def test_without_a_knee_few_are_found() -> None:
    found, tested = {}, 60
    for name, curve in SMOOTH.items():
        for sizes in (6, 11):
            shown = [find(*logs(curve, sizes, 0.03, seed)) for seed in range(tested // 2)]
            found[name, sizes] = sum(one is not None and one.p <= 0.05 for one in shown)
    assert sum(found.values()) <= 0.05 * tested * len(SMOOTH), found


def test_a_knee_is_told_with_its_place_and_slopes() -> None:
    answer = analyse(series(CLIFF, noise=0.01, memory=3))
    assert answer.knee.verdict == "knee"
    assert answer.knee.bytes == pytest.approx(3 * GB, rel=0.1)
    assert answer.knee.interval is not None
    assert answer.knee.shape == "cliff"
    assert answer.knee.before == pytest.approx(0, abs=0.03)
    assert answer.knee.after is not None
    assert answer.knee.after > 0.4
    assert sentences(answer)[0].startswith("Knee at ")
    assert "the knee may be at memory size (3 GB)" in sentences(answer)[1].replace("The", "the")
    assert {model.name for model in answer.models} <= {"piecewise", "cache misses"}
    elsewhere = answer.knee.near(Landmark("the engine's cache", 8 * GB))
    assert elsewhere == "the knee is not at the engine's cache (8 GB) but below it"


def test_memory_outside_of_the_sizes_cannot_be_judged() -> None:
    answer = analyse(series(SMOOTH["power"], noise=0.01, memory=14))
    assert answer.knee.near(answer.series.landmarks[0]).startswith("cannot tell whether there is a knee at memory")


@pytest.mark.parametrize("leaves", [0.93, 0.5, 1.1, 1.32, 3.0])
def test_a_step_in_either_direction_is_told_and_is_no_knee(leaves: float) -> None:
    def stepped(size: Floats) -> Floats:
        return np.asarray(800 * size**-0.1 * np.where(size > 4.5, leaves, 1))

    x, z = logs(stepped, 11, 0.005, 3)
    step = sharpest_step(x, z)
    assert step is not None
    assert step.p < 0.05
    assert 2 ** x[step.after] < 4.5 < 2 ** x[step.after + 1]
    assert 1 - step.share == pytest.approx(leaves, rel=0.02)
    answer = analyse(
        Series("s", tuple(SizePoint(float(2**at), (float(np.exp(of)),)) for at, of in zip(x, z, strict=True)))
    )
    if answer.step is not None:  # beside a step down a cliff may fit as well
        assert answer.per_doubling is not None
        assert leaves < 1 or answer.per_doubling.value == pytest.approx(1 - 2**-0.1, abs=0.01)
        (said,) = [sentence for sentence in sentences(answer) if "the rate steps" in sentence]
        assert ("steps up" in said) == (leaves > 1)
    assert answer.step is not None or leaves < 1


@pytest.mark.parametrize("factor", [1e-9, 0.5, 1.0, 1.9, 2.1, 47.6, 999.7, 12345.0, 1e300])
def test_a_change_is_printed_as_a_share_or_a_factor_and_never_as_a_power_of_ten(factor: float) -> None:
    said = change(1 - factor)
    assert "e+" not in said + plain(100 * (1 - factor))
    assert "e-" not in said
    assert said.startswith("×") == (factor > 2)
    points = tuple(SizePoint(2.0**n * 1e6, (100 * min(max(factor, 0.1), 1e6) ** n,)) for n in range(4))
    assert not re.search(r"\de[+-]\d", " ".join(sentences(analyse(Series("s", points)))))


@pytest.mark.covering
@pytest.mark.slow
@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("repetitions", [1, 3])
def test_intervals_of_predictions_hold_what_comes(name: str, repetitions: int) -> None:
    held = []
    for seed in range(8):
        answer = analyse(series(SMOOTH[name], 8, 0.015, repetitions, seed))
        prediction = answer.predict(256 * GB)  # twice the doublings measured
        assert prediction.interval is not None
        held.append(prediction.interval.low <= SMOOTH[name](np.array([256.0]))[0] <= prediction.interval.high)
    assert sum(held) >= 6


def test_an_interval_grows_with_the_distance() -> None:
    answer = analyse(series(SMOOTH["power"], 8, 0.02))
    widths = []
    for size in (16, 32, 64, 256):
        interval = answer.predict(size * GB).interval
        assert interval is not None
        widths.append(interval.high / interval.low)
    assert widths == sorted(widths)
    assert widths[-1] > 1.2 * widths[0]


@pytest.mark.parametrize(
    ("made", "size", "reason"),
    [
        (series(SMOOTH["power"], 3), 32, "4 sizes are needed, 3 were measured"),
        (Series("narrow", tuple(SizePoint((10 + n) * GB, (10.0 - n,)) for n in range(5))), 32, "span a doubling"),
        (series(SMOOTH["power"], 6), 0.5, "no prediction below 1 GB"),
        (series(SMOOTH["power"], 6), 2e6, "no more than 4 times"),
        (series(SMOOTH["power"], 6, memory=64), 128, "no size larger than it measured"),
        (series(SMOOTH["power"], 6, memory=12), 128, "one size larger than it measured"),
        (Series("stopped", (SizePoint(1 * GB, (3.0,)), SizePoint(2 * GB, (0.0,)))), 4, "is zero"),
        (Series("alone", (SizePoint(1 * GB, (3.0, 4.0)),)), 4, "one size alone"),
    ],
)
def test_what_the_sizes_cannot_bear_is_refused(made: Series, size: float, reason: str) -> None:
    prediction = analyse(made).predict(size * GB)
    assert prediction.rate is None
    assert prediction.interval is None
    assert reason in (prediction.refused or "")


def test_memory_beyond_all_sizes_hinders_no_prediction_beneath_it() -> None:
    assert analyse(series(SMOOTH["power"], 6, memory=64)).predict(32 * GB).refused is None


def test_a_law_that_leaves_nothing_gives_no_figure() -> None:
    answer = analyse(series(SMOOTH["logarithmic"], 11, 0.002))
    prediction = answer.predict(2**11 * GB)
    assert prediction.refused or (prediction.model != "logarithmic" and (prediction.rate or 0) > 1)


def test_reads_that_were_counted_tell_what_the_rates_do_not() -> None:
    """The largest size is a doubling beyond the cache: how long it takes where all misses is far from seen."""
    x = np.linspace(0, 2.5, 6)
    reads = 20 * (1 - np.minimum(1, 3 / 2**x))
    time_s = (1 / 800 + 8 / 800 * reads / 20) * np.exp(np.random.default_rng(5).normal(0, 0.03, 6))
    free = fit(cache_misses(), x, -np.log(time_s))
    held = fit(cache_misses(Reads(x, time_s, reads)), x, -np.log(time_s))
    assert free is not None
    assert held is not None
    assert held.freedom == free.freedom + 1  # the hit time is not fitted
    assert np.exp(held.values[1]) == pytest.approx(8, rel=0.15)
    assert 2 ** held.values[3] == pytest.approx(3, rel=0.03)
    true = -np.log(9 / 800 - 8 / 800 * 3 / 2**6)
    assert abs(held.at(6) - true) < abs(free.at(6) - true)
    assert held.error(6, held.scatter) < free.error(6, free.scatter)


def test_a_forecast_knows_no_reads_of_a_size_beyond_it() -> None:
    x, z = logs(CLIFF, 8, 0.02, 1)
    reads = np.exp(-z) - np.exp(-z[0])
    known = Reads(x, np.exp(-z), reads)
    later = Reads(x, np.where(np.arange(8) < 5, np.exp(-z), 9.0), np.where(np.arange(8) < 5, reads, 1e3))
    ends = [fit(cache_misses(one), x[:5], z[:5]) for one in (known, later)]
    assert ends[0] is not None
    assert ends[1] is not None
    assert list(ends[0].values) == list(ends[1].values)


@pytest.mark.parametrize("reads", [True, False])
def test_a_loss_without_reads_is_none_of_the_cache(reads: bool) -> None:
    made = series(SMOOTH["logarithmic time"], 8, 0.01)
    hit_s = 1 / max(made.points[0].rates)

    def watched(point: SizePoint) -> SizePoint:
        counted = (2e4 * max(1 / rate - hit_s, 0) if reads else 0.25 for rate in point.rates)
        return replace(point, reads=tuple(counted))

    answer = analyse(replace(made, points=tuple(map(watched, made.points))))
    (misses,) = (model for model in answer.models if model.name == "cache misses")
    (other,) = (model for model in answer.models if model.name == "power")
    assert ((misses.forecast_error or 0) < (other.forecast_error or 0)) == reads
    assert misses.plausible == reads
    told = [sentence for sentence in sentences(answer) if sentence.startswith("A transaction reads ")]
    assert [" 0.25 times at 16 GB." in sentence for sentence in told] == [not reads]


def test_reads_of_some_sizes_alone_are_not_used() -> None:
    made = series(CLIFF, 8)
    first = replace(made.points[0], reads=(1.0,) * 3)
    for points in ((first, *made.points[1:]), (first, made.points[0], *made.points[1:])):
        answer = analyse(replace(made, points=points))
        assert answer.sizes[-1].reads is None
        assert not any(sentence.startswith("A transaction reads ") for sentence in sentences(answer))
        (misses,) = (model for model in answer.models if model.name == "cache misses")
        assert misses.fit.curve.measured is None
    assert analyse(replace(made, points=(first, made.points[0], *made.points[1:]))).sizes[0].reads is None


@pytest.mark.parametrize(
    ("curve", "name", "value"), [(POWER, "power", -0.2 * np.log(2)), (LOGARITHMIC_TIME, "logarithmic time", 0.15)]
)
def test_curves_are_recovered(curve: object, name: str, value: float) -> None:
    assert curve in (POWER, LOGARITHMIC_TIME)
    found = fit(POWER if curve is POWER else LOGARITHMIC_TIME, *logs(SMOOTH[name], 8, 0.0, 1))
    assert found is not None
    assert found.values[1] == pytest.approx(value, rel=1e-3)
    assert found.scatter == 0


def test_five_repetitions_give_the_house_s_interval_of_the_loss() -> None:
    answer = analyse(series(SMOOTH["power"], 6, 0.02, repetitions=5))
    assert all(size.rate.interval is not None for size in answer.sizes)
    assert answer.loss is not None
    assert answer.loss.interval is not None
    assert answer.loss.interval.low < 1 - 16**-0.2 < answer.loss.interval.high


rates = st.one_of(st.just(0.0), st.floats(1e-6, 1e9), st.just(100.0))
points = st.builds(
    SizePoint,
    st.floats(1, 1e18),
    st.lists(rates, min_size=1, max_size=4).map(tuple),
    st.lists(st.floats(0, 1e6), max_size=4).map(tuple),
)


@settings(max_examples=40)
@given(st.lists(points, min_size=1, max_size=9), st.floats(1, 1e18))
def test_any_series_gets_an_answer_in_words(found: list[SizePoint], size: float) -> None:
    answer = analyse(Series("any", tuple(found), (Landmark(MEMORY, 16 * GB),)))
    assert [size.bytes for size in answer.sizes] == sorted({size_point.bytes for size_point in found})
    prediction = answer.predict(size)
    assert (prediction.rate is None) == (prediction.refused is not None)
    if prediction.interval is not None and prediction.rate is not None:
        assert 0 <= prediction.interval.low <= prediction.rate * (1 + 1e-9)
        assert prediction.rate <= prediction.interval.high * (1 + 1e-9)
    assert all(sentence.strip() for sentence in sentences(answer, [prediction]))


@settings(max_examples=15)
@given(st.floats(1e-3, 1e6), st.integers(2, 11), st.permutations(range(11)))
def test_equal_rates_have_no_knee_and_no_loss(rate: float, sizes: int, order: list[int]) -> None:
    unordered = [SizePoint(2.0 ** (n / 2) * GB, (rate,)) for n in order if n < sizes]
    answer: GrowthAnswer = analyse(Series("equal", tuple(unordered)))
    assert answer.knee.verdict != "knee"
    assert answer.step is None
    assert answer.loss is not None
    assert answer.loss.value == 0


def test_two_series_by_size() -> None:
    one = Series("ssd", tuple(SizePoint(n * GB, (800.0 + n,) * 5) for n in (1, 2, 4, 32)))
    other = Series("disk", tuple(SizePoint(n * GB, (100.0 + n,) * 5) for n in (1, 1.99, 8)))
    found = compare(one, other)
    assert [(at.bytes / GB, at.interpolated) for at in found] == [(1, False), (2, False), (4, True)]
    assert found[0].ratio.median == pytest.approx(801 / 101)
    assert found[0].ratio.interval is not None
    assert found[2].ratio.interval is None
    assert 804 / 108 < (found[2].ratio.median or 0) < 804 / 101.99


def measured(engine: str, size: float, repetition: int, rate: float, depth: int | None = None) -> Recording:
    levels = {"workload": "tpcc", "engine": engine, "durability": "drive", "size": f"{size:g} GB"}
    index = IndexStatistics(
        name="order_line_pk", table="order_line", depth=depth, keys=1, key_bytes=1.0, duplicates=0, duplicates_max=0,
        unique=1, bytes=1, fill_percent=90.0,
    )  # fmt: skip
    looked = DatabaseStatistics(source="t", page_bytes=8192, bytes=1, took_s=1.0, tables=[], indexes=[index])
    work = DeviceWork(
        device="vda", reads=100, read_bytes=1, read_s=2.0, writes=0, write_bytes=0, write_s=0, flushes=0, flush_s=0,
        busy_s=1,
    )  # fmt: skip
    found = factory.recording(levels, repetition, found=factory.result(rate=rate, terminals=20))
    return found.model_copy(
        update={
            "memory": factory.memory(),
            "device": work,
            "database_size": DatabaseSize(
                asked=f"{size:g} GB", asked_bytes=int(size * GB), warehouses=10, bytes=int(size * GB) + 5,
                statistics=looked if depth else None,
            ),
        }
    )  # fmt: skip


def test_series_of_a_journal() -> None:
    found = [
        measured(engine, size, repetition, 900 / size, depth if repetition == 1 else None)
        for engine in ("sqlite", "firebird-5.0")
        for size, depth in ((1, 2), (4, 3), (2, 2))
        for repetition in (1, 2)
    ]
    found.append(found[0].model_copy(update={"status": "invalid", "reason": "t", "cell": "other"}))
    held = factory.journal(found, growth={"sizes": ["1 GB", "4 GB", "2 GB"]})
    rows = samples.rows(held.header, held.recordings)
    sqlite, firebird = recorded(held.header, rows)
    assert (sqlite.name, firebird.name) == ("sqlite", "firebird-5.0")
    assert [(point.bytes, len(point.rates)) for point in sqlite.points] == [
        (1 * GB + 5, 2), (2 * GB + 5, 2), (4 * GB + 5, 2),
    ]  # fmt: skip
    limit = factory.memory().limit_bytes
    assert sqlite.landmarks[0] == Landmark(MEMORY, float(limit or 0))
    deeper = sqlite.landmarks[-1]
    assert deeper.name == "depth 3 of order_line's order_line_pk"
    assert deeper.bytes == pytest.approx(2**1.5 * GB, rel=1e-6)
    result = found[0].result
    assert result is not None
    assert found[0].device is not None
    assert sqlite.points[0].reads == (found[0].device.reads / result.counts.committed,) * 2
    assert recorded(held.header, rows, memory_bytes=3 * GB)[0].landmarks[0].bytes == 3 * GB
    unknown = [one.model_copy(update={"database_size": None}) for one in found]
    for one in recorded(held.header, samples.rows(held.header, unknown)):
        assert (one.points, one.landmarks) == ((), ())


def test_sizes_as_they_are_told() -> None:
    assert [size_text(size) for size in (9.04e9, 1.81397e12, 512e6, 999_999_999, 5, 2e3)] == [
        "9.04 GB", "1.814 TB", "512 MB", "1 GB", "5 bytes", "2 kB",
    ]  # fmt: skip


def test_an_interval_that_says_nothing_is_put_into_words() -> None:
    assert share(Estimate(0.175, Interval(0.141, 0.207))) == "17.5 % (14.1 to 20.7)"
    assert share(Estimate(0.5, Interval(-239.0, 0.998))) == "50 % (too few sizes to say how surely)"
