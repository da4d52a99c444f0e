"""Databases that grow: the order of their cells, and the time that they take."""

from __future__ import annotations

from itertools import groupby

import pytest

from acidtest import plan
from acidtest.errors import BadInput
from acidtest.experiment import parse

TEXT = """
name = "t"
durability = "os"
repetitions = 2
[factors]
engine = ["sqlite", "firebird-5.0"]
"place.memory_mb" = [64, 128]
[growth]
sizes = ["1x memory", "2x memory", "4x memory"]
[workload.tpcc]
duration_s = 10
"""
MB = 1 << 20


def make(text: str = TEXT) -> plan.Plan:
    return plan.make(parse(text, "t.toml"))


def test_a_series_is_one_database_from_its_smallest_size_up() -> None:
    cells = make().cells
    assert [cell.order for cell in cells] == list(range(1, 25))
    series = [(name, list(of)) for name, of in groupby(cells, key=lambda cell: cell.series)]
    assert len(series) == len({name for name, _ in series}) == 4
    for _, of in series:
        assert [(cell.levels["size"][0], cell.repetition) for cell in of] == [
            ("1", 1), ("1", 2), ("2", 1), ("2", 2), ("4", 1), ("4", 2),
        ]  # fmt: skip
        sizes = [cell.size.bytes for cell in of if cell.size]
        assert sizes == sorted(sizes)
    assert {cell.size.bytes for cell in cells if cell.size and cell.place.memory_mb == 128} == {
        128 * MB, 256 * MB, 512 * MB,
    }  # fmt: skip


def test_sizes_that_are_loaded_anew_are_series_of_their_own() -> None:
    cells = make(TEXT.replace("[growth]", '[growth]\nload = "fresh"')).cells
    assert len({cell.series for cell in cells}) == 12


def test_cells_of_other_experiments_have_no_series() -> None:
    text = TEXT.replace("[growth]", "").replace('sizes = ["1x memory", "2x memory", "4x memory"]', "")
    assert {(cell.size, cell.series) for cell in make(text).cells} == {(None, "")}


def test_a_multiple_of_a_limit_that_a_cell_does_not_have_is_refused() -> None:
    levels = '[{ name = "none", set = {} }, { name = "some", set = { "place.memory_mb" = 64 } }]'
    with pytest.raises(BadInput, match=r"multiple of place\.memory_mb, and there is none"):
        make(TEXT.replace('"place.memory_mb" = [64, 128]', f"limit = {levels}"))


def test_warehouses_of_fewer_rows_are_smaller() -> None:
    text = TEXT.replace('"1x memory", "2x memory", "4x memory"', '"40 warehouses"')
    cell, whole = (make(one).cells[0] for one in (text + "warehouse_percent = 10\n", text))
    for family in ("sqlite", "firebird", "postgresql", "mysql"):
        few, many = (plan.size_bytes(one, family) for one in (cell, whole))
        assert 5 < many / few < 10.1
        assert many > 1 << 30


def test_time_left_follows_the_speed_of_the_last_load() -> None:
    cells = list(make(TEXT.replace('"place.memory_mb" = [64, 128]', '"place.memory_mb" = [64]')).cells)
    pace = plan.GrowthPace({"sqlite": "sqlite", "firebird-5.0": "firebird"})
    unseen = pace.left(cells, {})
    measuring = sum(map(plan.cell_seconds, cells))
    assert unseen > measuring
    first = cells[0]
    pace.loaded(first, 64_000_000, 64.0)
    pace.looked(first, 64_000_000, 0.064)
    assert pace.bytes_per_s("sqlite") == 1e6
    assert pace.bytes_per_s("firebird-5.0") > 1e6  # still assumed
    sqlite = [cell for cell in cells if cell.engine == "sqlite"]
    # From 1x to 4x memory, 192 MiB are to come at a megabyte a second.
    left = pace.left(sqlite, {first.series: 64 * MB})
    assert left == pytest.approx(192 * MB / 1e6 + sum(map(plan.cell_seconds, sqlite)), rel=0.01)
    assert pace.left(sqlite[-1:], {first.series: 256 * MB}) == pytest.approx(plan.cell_seconds(sqlite[-1]))
    pace.measured(first, plan.cell_seconds(first) + 10)
    assert pace.left(sqlite[-1:], {first.series: 256 * MB}) == pytest.approx(plan.cell_seconds(first) + 10)
