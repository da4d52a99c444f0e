"""[growth] in an experiment: sizes in three notations, and what cannot stand beside them."""

from __future__ import annotations

import pytest

from acidtest.errors import BadInput
from acidtest.experiment import Experiment, Size, parse, size_of
from acidtest.experiment.sizes import UNITS_MOST, check_ascending
from acidtest.plan import make

TEXT = """
name = "t"
engine = "sqlite"
durability = "os"
[growth]
sizes = ["0.5x memory", "1x memory", "300 MB"]
[place]
memory_mb = 128
[workload.tpcc]
duration_s = 1
"""
SIZES = '["0.5x memory", "1x memory", "300 MB"]'


def held_out(sizes: str) -> str:
    return TEXT.replace("[growth]", f"[growth]\nheld_out = {sizes}")


def read(text: str) -> Experiment:
    return parse(text, "t.toml")


def test_sizes_are_a_factor_in_their_order_and_the_first_is_the_base() -> None:
    experiment = read(TEXT)
    assert [level.name for level in experiment.factors["size"]] == ["0.5x memory", "1x memory", "300 MB"]
    assert list(experiment.factors)[-1] == "size"
    assert experiment.base == {"size": "0.5x memory"}
    assert experiment.growth is not None
    assert (experiment.growth.load, experiment.growth.statistics) == ("incremental", True)
    assert experiment.workload["tpcc"].roaming
    assert read(TEXT + "[base]\nsize = '300 MB'\n").base == {"size": "300 MB"}
    assert not read(TEXT + "roaming = false\n").workload["tpcc"].roaming


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("9.04 GB", Size("9.04 GB", bytes=9_040_000_000)),
        ("40 warehouses", Size("40 warehouses", units=40)),
        ("1 warehouse", Size("1 warehouse", units=1)),
        ("2x memory", Size("2x memory", times_memory=2.0)),
        ("0.5 × memory", Size("0.5 × memory", times_memory=0.5)),
    ],
)
def test_notations(text: str, size: Size) -> None:
    assert size_of(text) == size


@pytest.mark.parametrize("text", ["", "x memory", "0x memory", "-1x memory", "0 warehouses", f"{UNITS_MOST + 1} warehouses", "2 memory", "nan", "1e999 GB", "2x swap", "1" * 400])  # fmt: skip
def test_what_is_no_size_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        size_of(text)
    assert "\n" not in str(caught.value)


def test_a_multiple_follows_the_memory_limit_of_each_cell() -> None:
    assert size_of("2x memory").with_memory(64).bytes == 2 * 64 << 20
    # 150 MB lies between the two with the smaller limit, and below both with the larger one.
    sizes = [size_of(text) for text in ("1x memory", "150 MB", "2x memory")]
    check_ascending(sizes, [128])
    with pytest.raises(BadInput, match='"150 MB" is not above "1x memory"'):
        check_ascending(sizes, [128, 256])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT.replace(SIZES, '["2 GB", "1 GB"]'), 't.toml: growth.sizes: "1 GB" is not above "2 GB", and a database only grows'),
        (TEXT.replace(SIZES, '["1 GB", "1000 MB"]'), 't.toml: growth.sizes: "1000 MB" is not above "1 GB"'),
        (TEXT.replace(SIZES, '["1 GB", "40 warehouses"]'), '"40 warehouses" and "1 GB" cannot be put in order'),
        (TEXT.replace(SIZES, '["1 GB", "1 GB"]') .replace("[growth]", "[growth]\nload = 'fresh'"), '"1 GB" stands twice'),
        (TEXT.replace(SIZES, '["much"]'), 't.toml: "much" is not a size'),
        (TEXT.replace(SIZES, "[]"), "t.toml: growth.sizes: found an empty list, must be a list of texts"),
        (TEXT.replace(SIZES, "[1]"), "t.toml: growth.sizes: found a list, must be a list of texts"),
        (TEXT.replace("sizes", "size"), 't.toml: growth: key "size" is not known (did you mean "sizes"?)'),
        (TEXT.replace("memory_mb = 128", ""), '"0.5x memory" is a multiple of place.memory_mb, and there is none'),
        (TEXT.replace("workload.tpcc", "workload.tpcb"), "t.toml: workload.tpcb: databases grow under tpcc, and this is tpcb"),
        (TEXT + "[workload.tpcb]\nduration_s = 1\n", "t.toml: workload.tpcb: databases grow under tpcc"),
        (TEXT + "warehouses = 3\n", "t.toml: warehouses: growth.sizes say how many there are"),
        (TEXT + "[factors]\nwarehouses = [1, 2]\n", "t.toml: warehouses: growth.sizes say how many there are"),
        (TEXT + '[factors]\nsize = [{ name = "a", set = { terminals = 2 } }]\n', "t.toml: factors.size: [growth] has a factor of that name"),
        (TEXT.replace("[growth]", "[growth]\nload = 'once'"), "growth.load"),
        (held_out('["1 kB"]'), 't.toml: growth.held_out: "1 kB" is not above "'),
        (held_out('["9 TB", "8 TB"]'), 't.toml: growth.held_out: "8 TB" is not above "9 TB", and forecasts look ahead'),
        (held_out('["40 warehouses"]'), 't.toml: growth.held_out: "40 warehouses" and "'),
        (held_out('"9 TB"'), "t.toml: growth.held_out: found"),
    ],
)  # fmt: skip
def test_bad_growth_gets_one_line(text: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_held_out_is_measured_last() -> None:
    cells = make(read(held_out('["9 TB"]'))).cells
    assert cells[-1].levels["size"] == "9 TB"
    assert [cell.held_out for cell in cells] == [cell.levels["size"] == "9 TB" for cell in cells]
    unsorted = held_out('["9 TB"]').replace(SIZES, '["2 GB", "1 GB"]').replace("[growth]", "[growth]\nload = 'fresh'")
    assert [cell.levels["size"] for cell in make(read(unsorted)).cells][-1] == "9 TB"


def test_an_experiment_without_held_out_sizes_has_the_digest_of_before() -> None:
    assert "held_out" not in read(TEXT).model_dump()["growth"]


def test_fresh_loads_may_come_in_any_order() -> None:
    read(TEXT.replace(SIZES, '["2 GB", "1 GB"]').replace("[growth]", "[growth]\nload = 'fresh'"))


def test_the_memory_limit_may_come_from_a_factor() -> None:
    read(TEXT.replace("memory_mb = 128", "") + '[factors]\n"place.memory_mb" = [64, 128]\n')
