"""Rows as series of sizes: what belongs together, what a load's curve is, which series stand beside each other."""

from __future__ import annotations

import pytest

from acidtest.analysis import samples
from acidtest.analysis.growth.compared import pairs
from acidtest.analysis.growth.recorded import load_curve, recorded
from acidtest.analysis.growth.series import Recorded, Series
from acidtest.journal.models import Journal
from factory import failed, growing, journal, recording


def found(held: Journal) -> list[Series]:
    return recorded(held.header, samples.rows(held.header, held.recordings))


def of(series: Series) -> Recorded:
    assert series.recorded is not None
    return series.recorded


def test_each_combination_of_the_other_factors_is_a_series() -> None:
    made = found(growing(disks=("rotating", "sata-ssd"), repetitions=2))
    assert [one.name for one in made] == [
        "sqlite, rotating", "sqlite, sata-ssd", "firebird-5.0, rotating", "firebird-5.0, sata-ssd",
    ]  # fmt: skip
    assert [at.asked for at in of(made[0]).sizes][:2] == ["0.5x memory", "1x memory"]
    assert [at.bytes for at in of(made[0]).sizes][:2] == [24_200_000, 48_400_000]
    assert of(made[0]).sizes[1].load_mb_per_s == pytest.approx(24)
    assert of(made[0]).sizes[1].rate.n == 2


def test_an_experiment_without_growth_has_no_series() -> None:
    assert found(journal([recording({"workload": "tpcc", "engine": "sqlite", "durability": "os", "size": "1"})])) == []


def test_loads_of_one_database_follow_one_another_and_fresh_ones_begin_at_nothing() -> None:
    (one,) = found(growing(engines=("sqlite",), repetitions=1))
    curves = load_curve(of(one).sizes)
    assert len(curves) == 6
    ends = [points[-1].at_s for points in curves]
    starts = [points[0].at_s for points in curves]
    assert all(start > end for start, end in zip(starts[1:], ends, strict=False))
    first = curves[0]
    assert first[0].mb_per_s == pytest.approx(24 * 1.25, rel=0.02)
    assert first[-1].mb_per_s == pytest.approx(24 * 0.75, rel=0.03)
    held = growing(engines=("sqlite",), sizes=("1x memory", "2x memory"), repetitions=1)
    for position, at in enumerate(held.recordings):
        fresh = at.database_size.model_copy(update={"warehouses_before": 0, "bytes_before": 0})  # type: ignore[union-attr]
        held.recordings[position] = at.model_copy(update={"database_size": fresh})
    one_, two = load_curve(of(found(held)[0]).sizes)
    assert one_[0].at_s < 0.1
    assert two[0].at_s < 0.1


def test_a_long_load_has_at_most_sixty_pieces() -> None:
    held = growing(engines=("sqlite",), sizes=("1x memory",), repetitions=1)
    size = held.recordings[0].database_size
    assert size is not None
    assert size.load_s is not None
    step = size.load_s / 2000
    many = [size.load[0].model_copy(update={"at_s": n * step, "bytes": n * 20_000}) for n in range(1, 2001)]
    held.recordings[0] = held.recordings[0].model_copy(update={"database_size": size.model_copy(update={"load": many})})
    (points,) = load_curve(of(found(held)[0]).sizes)
    assert 50 <= len(points) <= 61


def test_series_of_one_engine_stand_beside_each_other_at_sizes_that_both_have() -> None:
    held = growing(disks=("rotating", "sata-ssd"), sizes=("0.5x memory", "2x memory", "4x memory"))
    for position, one in enumerate(held.recordings):
        if one.levels["place.disk"] == "sata-ssd" and one.levels["size"] == "4x memory" and one.database_size:
            larger = one.database_size.model_copy(update={"bytes": int(one.database_size.bytes * 1.2)})
            held.recordings[position] = one.model_copy(update={"database_size": larger})
    paired = pairs(found(held))
    assert [pair.name for pair in paired] == ["sqlite: sata-ssd / rotating", "firebird-5.0: sata-ssd / rotating"]
    assert [at.asked for at in paired[0].at] == ["0.5x memory", "2x memory"]
    assert paired[0].apart == ("4x memory",)
    same, slower = (at.ratio for at in paired[0].at)
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
    sizes = of(one).sizes
    assert [at.asked for at in sizes if at.point] == ["0.5x memory", "1x memory", "2x memory"]
    assert list(one.points) == [at.point for at in sizes if at.point]
    assert sizes[3].reasons == ["growing to 4x memory: no space left on device"]
    assert sizes[3].bytes is None
    assert sizes[3].rate.n == 0
    assert of(one).never == ("6x memory", "8x memory")
