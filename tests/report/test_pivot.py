"""Two factors against each other: every figure in one place of a grid, at every width."""

from __future__ import annotations

import itertools

import pytest

from acidtest.journal.models import NOT_APPLICABLE
from acidtest.report.numbers import number, percent
from acidtest.report.results import Results, results
from acidtest.report.terminal import print_results
from factory import FACTORS, SCHEDULERS, SYSTEMS, file_systems
from terminals import printed


@pytest.fixture(scope="module")
def study() -> Results:
    return results(file_systems(5, {"place.filesystem": "raw"}, ("tpcb", "tpcc")))


def shown(found: Results, width: int) -> str:
    return printed(print_results, found, width=width)


@pytest.mark.slow
def test_the_studys_four_tables(study: Results) -> None:
    titles = [(table.workload, grid.title) for table in study.tables for grid in table.grids]
    assert titles == [
        ("tpcb", "filesystem by scheduler, mount defaults"),
        ("tpcb", "filesystem by scheduler, mount sync,noatime"),
        ("tpcc", "filesystem by scheduler, mount defaults"),
        ("tpcc", "filesystem by scheduler, mount sync,noatime"),
    ]
    for table in study.tables:
        for grid in table.grids:
            assert (grid.rows, grid.columns) == (SYSTEMS, SCHEDULERS)
            assert len(grid.cells) == 20
            for (row, column), line in grid.cells.items():
                assert (line.levels[grid.down], line.levels[grid.across]) == (row, column)
                assert line.levels["place.mount"] in (*grid.fixed.values(), NOT_APPLICABLE)
                # The raw device, without options, is the base of both tables.
                assert line.is_base == (row == "raw")


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 120, 160])
def test_no_figure_is_cut_at_any_width(study: Results, width: int) -> None:
    text = shown(study, width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for table in study.tables:
        for grid in table.grids:
            for line in grid.cells.values():
                assert percent(line.relative) in text
    assert ("95 %" in text.split("filesystem by")[1]) == (width >= 120)


@pytest.mark.slow
def test_any_two_factors_may_be_set_against_each_other() -> None:
    made = file_systems(2, {"place.filesystem": "raw"})
    for down, across in itertools.permutations(FACTORS, 2):
        (table,) = results(made, down=down, across=across).tables
        assert {(grid.down, grid.across) for grid in table.grids} == {(down, across)}
        found = {id(line) for grid in table.grids for line in grid.cells.values()}
        # A grid of options has no place for a raw device's row but in every column.
        assert found == {id(line) for line in table.lines}
    (table,) = results(made, down="place.mount").tables
    assert table.grids[0].down == "place.mount"


def test_without_a_base_a_grid_shows_rates() -> None:
    found = results(file_systems(2, {}))
    (table,) = found.tables
    text = shown(found, 100)
    assert "(commits a second)" in text
    assert all(number(line.goodput.median) in text for line in table.lines)
    assert "Which factors matter is not told" in text
    assert "most" not in text.split("What the factors do")[1].split("Storage")[0]


def test_engines_by_durability_need_no_grid(studied: Results) -> None:
    assert all(not table.grids and table.effects for table in studied.tables)


def test_effects_are_there_for_programs(study: Results) -> None:
    told = study.as_json()["effects"]
    first = next(effect for effect in told if effect["factor"] == "place.filesystem")
    assert (first["workload"], first["best"], first["verdict"]) == ("tpcb", "btrfs", "matters")
    assert first["ratio"]["low"] <= first["ratio"]["median"] <= first["ratio"]["high"]
