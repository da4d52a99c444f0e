"""Databases that grow on the page, in the terminal and as JSON: the answer first, and nothing that was not measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from typer.testing import CliRunner

from acidtest.cli import app
from acidtest.journal.models import DatabaseStatistics, Journal
from acidtest.report.growth import Growth
from acidtest.report.growth_charts import marks, plots
from acidtest.report.looks import Looks
from acidtest.report.page import write_page
from acidtest.report.results import Results, results
from acidtest.report.statistics_tables import tables_of
from acidtest.report.terminal import print_results
from factory import database_statistics, failed, growing, recording, stored, study
from pages import NARROW, WIDE, opened, turned, unreadable
from terminals import printed

pytestmark = pytest.mark.slow
LOOKS = Looks({"engine": ("sqlite", "firebird-5.0"), "place.disk": ("rotating", "sata-ssd")})


def drawn(held: Journal) -> set[str]:
    return set(plots(growth(held), LOOKS))


def growth(held: Journal, *predict: int) -> Growth:
    (table,) = results(held, predict=predict).tables
    assert table.growth is not None
    return table.growth


def shown(found: Results, width: int) -> str:
    return printed(print_results, found, width=width)


@pytest.fixture(scope="module")
def disks() -> Results:
    return results(growing(disks=("rotating", "sata-ssd"), warehouse_percent=2), predict=(10**9,))


def changed(held: Journal, **fields: object) -> Journal:
    """Each cell's growth with other fields."""
    recordings = [
        recording.model_copy(update={"database_size": recording.database_size.model_copy(update=fields)})
        if recording.database_size
        else recording
        for recording in held.recordings
    ]
    return held.model_copy(update={"recordings": recordings})


@pytest.mark.parametrize("width", [80, 160])
def test_the_terminal_answers_first_and_shows_every_size(disks: Results, width: int) -> None:
    text = shown(disks, width)
    assert max(map(len, text.splitlines())) <= width
    (table,) = disks.tables
    assert table.growth is not None
    said = " ".join(text.split())
    for sentence in table.growth.answers:
        assert said.index(" ".join(sentence.split())) < said.index("0.5x memory 24.2 MB")
    assert "sqlite rotating 0.5x memory 24.2 MB" in said
    assert "firebird-5.0: sata-ssd / rotating 8x memory 385 MB 19.2" in said
    assert "Reduced scale: memory is held to 50.33 MB of 17.18 GB; a warehouse has 2 % of its rows." in said


def test_json_has_the_answer_the_predictions_and_the_statistics(disks: Results, studied: Results) -> None:
    (told,) = json.loads(json.dumps(disks.as_json()))["growth"]
    assert len(told["series"]) == 4
    first = told["series"][0]
    assert first["answer"]["loss"]["value"] == pytest.approx(0.985, abs=0.01)
    assert first["answer"]["predictions"][0]["bytes"] == 10**9
    assert first["answer"]["said"] == first["said"]
    assert [at["asked"] for at in first["sizes"]][-1] == "8x memory"
    assert first["sizes"][0]["statistics"]["tables"][0]["name"] == "order_line"
    assert first["sizes"][1]["device"]["reads"]["share"] == pytest.approx(0.81, abs=0.01)
    assert told["beside"][0]["ratios"][1]["ratio"] == pytest.approx(12.3, rel=0.1)
    assert studied.as_json()["growth"] == []


def test_each_plot_is_there_only_if_the_series_bear_it() -> None:
    every = {"sizes", "load", "load-time", "speed", "speed-log", "device-0"}
    assert drawn(growing(engines=("sqlite",), repetitions=1)) == every
    assert drawn(growing(disks=("rotating", "nvme"), engines=("sqlite",), repetitions=1)) == every | {
        "ratio", "device-1",
    }  # fmt: skip
    one_size = growing(engines=("sqlite",), sizes=("1x memory",), repetitions=1)
    assert drawn(one_size) == every - {"speed-log"}
    unloaded = changed(one_size, load_s=None, load=[], statistics=None)
    assert drawn(unloaded) == {"sizes", "speed", "device-0"}


def test_marks_name_each_landmark_once() -> None:
    assert [(mark.letter, mark.words) for mark in marks(growth(growing(repetitions=1)))] == [
        ("a", "the engine's cache, 8.389 MB"),
        ("b", "memory, 50.33 MB"),
        ("c", "depth 3 of order_line's order_line_pk, 136.1 MB"),
    ]


def test_a_series_that_ended_early_says_where_and_why() -> None:
    held = growing(engines=("sqlite",), repetitions=1)
    lost = failed(held.recordings[3].levels, 1, "growing to 4x memory: no space left on device")
    (one,) = growth(held.model_copy(update={"recordings": [*held.recordings[:3], lost]})).series
    assert one.incomplete == [
        "4x memory has no rate: growing to 4x memory: no space left on device.",
        "6x memory, 8x memory have not been measured.",
    ]
    lost = failed(held.recordings[0].levels, 1, "no space left on device")
    (one,) = growth(held.model_copy(update={"recordings": [lost]})).series
    assert one.sentences[0] == "Nothing is told of its growth: no size has a rate."


def test_a_column_of_which_an_engine_tells_nothing_is_left_out() -> None:
    sqlite, firebird = (tables_of(database_statistics(engine, 40)) for engine in ("sqlite", "firebird-5.0"))
    assert [column.head for column in sqlite.table_columns] == [
        "table", "records", "record bytes", "data pages", "MB", "indexes MB", "fill %", "real fill %", "total %",
    ]  # fmt: skip
    assert [column.head for column in firebird.table_columns][3:6] == ["versions", "version bytes", "versions of one"]
    assert [column.cell(firebird.tables[0]) for column in firebird.table_columns] == [
        "order_line", "240,000", "60.09", "2,400", "9.00", "3", "2,930", "24.00", "2.88", "76", "60", "100",
    ]  # fmt: skip
    assert [column.head for column in sqlite.index_columns] == [
        "index", "table", "depth", "keys", "unique", "MB", "fill %",
    ]  # fmt: skip
    assert firebird.read_mb_per_s == [("cold", 0.22, 400), ("warm", 0.044, 2000)]


def test_what_is_unusual_stands_out() -> None:
    told = database_statistics("firebird-5.0", 40)
    empty = told.tables[0].model_copy(update={"fill_percent": 31.0, "real_fill_percent": 30.0})
    found = tables_of(told.model_copy(update={"tables": [empty, *told.tables[1:]], "estimated": ["keys: 20 pages"]}))
    assert [(unusual.where, unusual.text[:24]) for unusual in found.unusual] == [
        ("table order_line", "its pages are 31 % full "),
        ("the database", "the oldest transaction i"),
    ]
    assert [found.stands_out(table) for table in found.tables] == [True, False]
    assert found.estimated == {"keys": "20 pages"}
    nothing = DatabaseStatistics(source="dbstat", page_bytes=4096, bytes=0, took_s=0.1, tables=[], indexes=[])
    assert tables_of(nothing).tables == ()


def test_the_page_shows_plots_statistics_and_the_scale(browser: Browser, tmp_path: Path, disks: Results) -> None:
    write_page(disks, tmp_path / "report.html")
    page, trouble = opened(browser, tmp_path / "report.html", *WIDE)
    assert unreadable(page) == []
    (table,) = disks.tables
    assert table.growth is not None
    assert page.locator(".answer p").all_inner_texts() == table.growth.answers
    for name in plots(table.growth, LOOKS):
        assert page.locator(f"#growth-{name}-0 svg .role-mark path").count() > 0
    assert page.locator("table.growth tbody tr").count() == 24
    assert page.locator("table.beside tbody tr").count() == 12
    looks = page.locator("details", has=page.locator("table.statistics"))
    assert looks.count() == 24
    assert page.locator("details[open]", has=page.locator("table.statistics")).count() == 8  # smallest and largest
    assert "a warehouse has 2 % of its rows" in page.locator("body").inner_text()
    # What is folded is as wide as the page once it is opened.
    page.locator("summary", has_text="Latency, kinds").click()
    page.wait_for_function("document.querySelector('#series-0 svg').getBoundingClientRect().width > 300")
    for screen in (WIDE, NARROW):
        turned(page, *screen)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert unreadable(page) == []
    assert trouble == []
    page.context.close()


def test_a_page_without_statistics_device_or_a_second_size_has_no_empty_sections(tmp_path: Path) -> None:
    held = growing(engines=("sqlite",), sizes=("1x memory",), repetitions=1)
    bare = [recording.model_copy(update={"device": None, "memory": None}) for recording in held.recordings]
    told = changed(held.model_copy(update={"recordings": bare}), statistics=None, statistics_said="dbstat is missing")
    write_page(results(told), tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text().partition("<script>")[0]
    assert "No statistics at 1x memory: dbstat is missing" in html
    assert "one size alone has no growth" in html
    for section in ("Side by side", "Where the device", "What this reduced scale"):
        assert section not in html
    write_page(results(changed(told, statistics_said="")), tmp_path / "report.html")
    assert "Tables and indexes" not in (tmp_path / "report.html").read_text().partition("<script>")[0]


def test_a_page_of_other_experiments_says_nothing_of_growth(tmp_path: Path, studied: Results) -> None:
    write_page(studied, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text().partition("<script>")[0].partition("<body>")[2]
    assert not [word for word in ("growth", "grows", "reduced scale") if word in html]


def test_the_command_takes_sizes_to_predict(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    stored(growing(engines=("sqlite",), repetitions=1), file)
    result = CliRunner().invoke(app, ["report", str(tmp_path), "--predict", "1GB", "--predict", "1.5 GB", "--json"])
    assert result.exit_code == 0, result.output
    (series,) = json.loads(result.stdout)["growth"][0]["series"]
    assert [prediction["bytes"] for prediction in series["answer"]["predictions"]] == [10**9, 1_500_000_000]
    assert "At 1.5 GB expect" in (tmp_path / "report.html").read_text()
    alike = CliRunner().invoke(app, ["growth", str(tmp_path), "--predict", "1GB", "--predict", "1.5 GB", "--json"])
    assert json.loads(alike.stdout)["series"][0]["said"] == series["said"]
    stored(study([recording().levels["engine"]]), file)
    refused = CliRunner().invoke(app, ["report", str(tmp_path), "--predict", "1GB"])
    assert "sizes are no factor of this experiment" in str(refused.exception)
