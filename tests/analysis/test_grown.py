"""Rows as series of sizes: what belongs together, what a load's curve is, which series stand beside each other."""

from __future__ import annotations

import pytest

from acidtest.analysis import samples
from acidtest.analysis.grown import GrownSeries, beside, load_curve, series
from acidtest.journal.models import Journal
from factory import failed, growing, journal, recording


def found(held: Journal) -> list[GrownSeries]:
    return series(held.header, samples.rows(held.header, held.recordings))


def test_each_combination_of_the_other_factors_is_a_series() -> None:
    made = found(growing(disks=("rotating", "sata-ssd"), repetitions=2))
    assert [one.name for one in made] == [
        "sqlite, rotating", "sqlite, sata-ssd", "firebird-5.0, rotating", "firebird-5.0, sata-ssd",
    ]  # fmt: skip
    assert [at.asked for at in made[0].sizes][:2] == ["0.5x memory", "1x memory"]
    assert [at.bytes for at in made[0].sizes][:2] == [24_200_000, 48_400_000]
    assert made[0].sizes[1].load_mb_per_s == pytest.approx(24)
    assert made[0].sizes[1].goodput.n == 2


def test_an_experiment_without_growth_has_no_series() -> None:
    assert found(journal([recording({"workload": "tpcc", "engine": "sqlite", "durability": "os", "size": "1"})])) == []


def test_loads_of_one_database_follow_one_another_and_fresh_ones_begin_at_nothing() -> None:
    (one,) = found(growing(engines=("sqlite",), repetitions=1))
    curves = load_curve(one)
    assert len(curves) == 6
    ends = [points[-1].at_s for points in curves]
    starts = [points[0].at_s for points in curves]
    assert all(start > end for start, end in zip(starts[1:], ends, strict=False))
    first = curves[0]
    assert first[0].mb_per_s == pytest.approx(24 * 1.25, rel=0.02)
    assert first[-1].mb_per_s == pytest.approx(24 * 0.75, rel=0.03)
    held = growing(engines=("sqlite",), sizes=("1x memory", "2x memory"), repetitions=1)
    for position, at in enumerate(held.recordings):
        fresh = at.grown.model_copy(update={"warehouses_before": 0, "bytes_before": 0})  # type: ignore[union-attr]
        held.recordings[position] = at.model_copy(update={"grown": fresh})
    one_, two = load_curve(found(held)[0])
    assert one_[0].at_s < 0.1
    assert two[0].at_s < 0.1


def test_a_long_load_has_at_most_sixty_pieces() -> None:
    held = growing(engines=("sqlite",), sizes=("1x memory",), repetitions=1)
    grown = held.recordings[0].grown
    assert grown is not None
    assert grown.load_s is not None
    step = grown.load_s / 2000
    many = [grown.load[0].model_copy(update={"at_s": n * step, "bytes": n * 20_000}) for n in range(1, 2001)]
    held.recordings[0] = held.recordings[0].model_copy(update={"grown": grown.model_copy(update={"load": many})})
    (points,) = load_curve(found(held)[0])
    assert 50 <= len(points) <= 61


def test_series_of_one_engine_stand_beside_each_other_at_sizes_that_both_have() -> None:
    held = growing(disks=("rotating", "sata-ssd"), sizes=("0.5x memory", "2x memory", "4x memory"))
    for position, one in enumerate(held.recordings):
        if one.levels["place.disk"] == "sata-ssd" and one.levels["size"] == "4x memory" and one.grown:
            larger = one.grown.model_copy(update={"bytes": int(one.grown.bytes * 1.2)})
            held.recordings[position] = one.model_copy(update={"grown": larger})
    pairs = beside(found(held))
    assert [pair.name for pair in pairs] == ["sqlite: sata-ssd / rotating", "firebird-5.0: sata-ssd / rotating"]
    assert [at.asked for at in pairs[0].at] == ["0.5x memory", "2x memory"]
    assert pairs[0].apart == ("4x memory",)
    same, slower = (at.ratio for at in pairs[0].at)
    assert same.median == pytest.approx(1, rel=0.05)
    assert same.interval is not None
    assert same.interval.low < 1 < same.interval.high
    assert slower.median == pytest.approx((1e3 / 900 + 6.28 * 8) / (1e3 / 900 + 6.28 * 0.25), rel=0.1)


def test_a_series_that_ended_early_keeps_its_place() -> None:
    held = growing(engines=("sqlite",), repetitions=1)
    kept = held.recordings[:3]
    lost = failed(held.recordings[3].levels, 1, "growing to 4x memory: no space left on device")
    short = held.model_copy(update={"recordings": [*kept, lost]})
    (one,) = found(short)
    assert [at.asked for at in one.measured] == ["0.5x memory", "1x memory", "2x memory"]
    assert one.sizes[3].reasons == ["growing to 4x memory: no space left on device"]
    assert one.sizes[3].bytes is None
    assert one.never == ("6x memory", "8x memory")
