"""Charts at the edges of what can be drawn: rates of nothing, too many rows, loads of many databases."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest

import factory
from acidtest.journal.models import Journal
from acidtest.report import charts, growth_charts
from acidtest.report.looks import Looks
from acidtest.report.page import plots
from acidtest.report.results import Table, results
from acidtest.report.vega import Chart
from factory import growing, journal, loaded, recording, result


def table(held: Journal) -> tuple[Table, Looks]:
    (found,) = results(held).tables
    return found, Looks(held.header.factors)


def drawn(chart: Chart | None) -> list[list[dict]]:
    """The rows of each panel's curves."""
    assert chart is not None
    return [panel.spec["data"]["values"] for panel in chart.panels]


def of_levels(**levels: int) -> list[dict[str, str]]:
    """Every combination of so many levels of each factor."""
    names = {factor: [f"{factor} {n}" for n in range(many)] for factor, many in levels.items()}
    return [dict(zip(names, one, strict=True)) for one in itertools.product(*names.values())]


def test_a_run_without_any_commit_is_drawn() -> None:
    """Rates of nothing have no logarithm and no share of the largest."""
    stopped = result(800).model_copy(update={"goodput_per_s": 0.0})
    levels = [{"workload": "tpcb", "engine": "sqlite", "durability": "drive"} | level for level in of_levels(a=2, b=2)]
    found = results(journal([recording(level, found=stopped) for level in levels], {"a": "a 0"}))
    assert {"bars-0", "series-0", "grid-0-0"} <= plots(found).keys()
    json.dumps([panel.spec for chart in plots(found).values() for panel in chart.panels], allow_nan=False)


@pytest.mark.slow
def test_every_specification_is_plain_json() -> None:
    for held in (factory.study(), factory.limited(), growing(disks=("rotating", "nvme")), factory.priced()[0]):
        specs = [panel.spec for chart in plots(results(held)).values() for panel in chart.panels]
        assert json.loads(json.dumps(specs, allow_nan=False)) == specs


def test_loads_of_databases_that_differ_look_different() -> None:
    levels = [
        {"workload": "tpcb", "durability": "drive"} | level
        for level in of_levels(engine=2, page_size=3, filesystem=3, fill=2)
    ]
    held = journal([recording(level, load=loaded(500_000 + n, 8.0)) for n, level in enumerate(levels)])
    panels = drawn(charts.load(*table(held)))
    assert sum(map(len, panels)) == len(levels) == 36
    for rows in panels:
        looks = {(row["colour"], row["shape"], tuple(row["dash"])) for row in rows}
        assert len(looks) == len(rows)


def test_what_is_too_much_to_draw_is_said() -> None:
    levels = [{"workload": "tpcb", "durability": "drive"} | level for level in of_levels(engine=2, a=6, b=6, c=2)]
    one = recording(levels[0], found=result(800))
    held = journal([one.model_copy(update={"levels": of, "cell": f"{of}"}) for of in levels])
    found, looks = table(held)
    (bars, curves) = charts.bars(found, looks), charts.series(found, looks)
    assert bars == Chart((), notes=("No bars of 144 rows: at most 60 are drawn, the table has all.",))
    assert curves == Chart((), notes=("No curves of 144 rows: they would need 36 plots.",))
    (grown,) = results(
        growing(engines=("sqlite",), disks=tuple(map(str, range(60))), sizes=("1x memory",), repetitions=1)
    ).tables
    assert grown.growth is not None
    factors = {"place.disk": [str(n) for n in range(60)]}
    notes = ("No plots of 60 series: they would need 60.",)
    assert growth_charts.plots(grown.growth, Looks(factors)) == {"speed": Chart((), notes=notes)}


def test_sizes_are_drawn_where_they_grew() -> None:
    found = table(factory.grown_logs())
    ((*database,),) = drawn(charts.database_size(*found))
    assert {row["row"] for row in database} == {"none"}
    ((*log,),) = drawn(charts.log_size(*found))
    assert {row["row"] for row in log} == {"reused", "held"}
    assert max(value for row in log for value in row["value"]) == 110
    steady = journal([recording(sizes=factory.sizes(4, 4, 4, 4, 4, 4))])
    assert charts.database_size(*table(steady)) is charts.log_size(*table(steady)) is None


def test_a_curve_over_time_has_five_points_or_a_reason() -> None:
    """Whatever a curve is of: commits, loads, memory, the loads of a database that grows."""
    held = factory.limited()
    few = [
        recording.model_copy(
            update={"memory": recording.memory.model_copy(update={"samples": recording.memory.samples[:3]})}
        )
        for recording in held.recordings
        if recording.memory
    ]
    for draw in (charts.residency, charts.refaults):
        assert drawn(draw(*table(held)))
        assert draw(*table(held.model_copy(update={"recordings": few}))) == Chart(
            (), notes=("Without a curve: 64; 1024 (fewer than 5 samples).",)
        )
    (grown,) = results(growing(engines=("sqlite",), repetitions=1)).tables
    assert grown.growth is not None
    short = [
        replace(one, series=replace(one.series, recorded=replace(one.series.recorded, sizes=tuple(
            replace(at, loaded=at.loaded and at.loaded.model_copy(update={"load": at.loaded.load[-3:]}))
            for at in one.sizes
        ))))
        for one in grown.growth.series if one.series.recorded
    ]  # fmt: skip
    chart = growth_charts.plots(replace(grown.growth, series=tuple(short)), Looks({}))["load-time"]
    assert chart == Chart((), notes=("Loads without a curve: 6 of sqlite (fewer than 5 samples).",))
    quick = [
        recording(load=loaded(1000, 2.0)),
        recording({"engine": "sqlite", "durability": "os"}, load=loaded(900, 8.0)),
    ]
    chart = charts.load(*table(journal(quick)))
    assert len(drawn(chart)) == 1
