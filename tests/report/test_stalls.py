"""Stalls, and what was seen at the same time: in the terminal, on the page and for programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

import factory
from acidtest.journal.models import EngineFigure, EngineSamples, Journal, LogLine
from acidtest.report import shapes
from acidtest.report.page import write_page
from acidtest.report.results import results
from acidtest.report.terminal import print_results
from pages import NARROW, WIDE, opened, turned
from terminals import printed, words

LEVELS = {"workload": "tpcb", "engine": "postgresql-17", "durability": "drive"}
RATES = [100, 100, 100, 100, 20, 10, 100, 100, 100, 100]
CHECKPOINTS = EngineFigure(name="buffers_checkpoint", says="buffers written by checkpoints", rises=True, unit="")
LOG = EngineFigure(name="wal_bytes", says="log written", rises=True, unit="bytes")
WORKERS = EngineFigure(name="autovacuum_workers", says="autovacuum workers at work", rises=False, unit="")


def told() -> EngineSamples:
    written = [0, 0, 0, 0, 0, 12_400, 24_800, 24_800, 24_800, 24_800, 24_800]
    samples = factory.engine_samples(
        {"written": written, "written_log": [3_000_000 * n for n in range(11)], "workers": [0] * 11}
    )
    return samples.model_copy(update={"figures": [CHECKPOINTS, LOG, WORKERS]})


def held(samples: EngineSamples | None, rates: list[float] | None = None) -> Journal:
    ran = factory.result(seconds=len(rates or RATES), rates=rates or RATES)
    one = factory.recording(LEVELS, 1, found=ran)
    lines = [LogLine(at_s=4.2, text="checkpoint starting: wal")]
    return factory.journal(
        [one.model_copy(update={"engine_samples": samples, "log_lines": lines})], {"engine": "postgresql-17"}
    )


def shown(journal: Journal, width: int = 140) -> str:
    return printed(print_results, results(journal), width=width)


@pytest.mark.parametrize("width", [80, 140])
def test_the_terminal_tells_each_figure_beside_that_of_the_median_second_at_any_width(width: int) -> None:
    text = shown(held(told()), width)
    assert max(map(len, text.splitlines())) <= width
    text = words(text)
    assert "at 4.00 s, for 2.00 s: 15.0 commits/s; the median is 100; repetition 1" in text
    assert "engine buffers written by checkpoints 12,400/s (0); log written 3.00 MB/s (3.00) its log" in text
    assert "its log 4.2 s: checkpoint starting: wal" in text
    assert "autovacuum workers" not in text  # there was none, then or usually
    assert shapes.AT_THE_SAME_TIME in text


def test_what_stands_at_a_value_is_a_whole_number() -> None:
    samples = factory.engine_samples({"workers": [0, 1, 1, 1, 9, 12_345, 1, 1, 1, 1, 1]})
    assert "engine workers 12,345 (1)" in words(shown(held(samples)))


def test_an_engine_that_was_not_asked_is_said_to_be_so() -> None:
    assert "engine not asked for where it stood" in words(shown(held(None)))


def test_the_log_of_a_server_by_url_is_not_seen_rather_than_empty() -> None:
    journal = held(told())
    assert "its log nothing" in words(shown(without_log(journal, "directory")))
    text = words(shown(without_log(journal, "server")))
    assert "its log not seen" in text
    (row,) = results(without_log(journal, "server")).as_json()["rows"]
    assert (row["stalls"][0]["log"], row["stalls"][0]["log_seen"]) == ([], False)


def without_log(journal: Journal, place: str) -> Journal:
    (one,) = journal.recordings
    place_ = one.place.model_copy(update={"kind": place})
    return journal.model_copy(update={"recordings": [one.model_copy(update={"log_lines": [], "place": place_})]})


def test_what_stands_still_is_said_too() -> None:
    samples = factory.engine_samples({"written": [7] * 11})
    assert "nothing that it counts moved" in words(shown(held(samples)))


def test_the_terminal_names_the_first_and_how_many_more_there_are() -> None:
    rates = [100.0, 100.0, 10.0] * 7
    text = words(shown(held(None, rates)))
    assert text.count("commits/s; the median is 100") == shapes.STALLS_PRINTED
    assert "2 more stalls." in text


def test_programs_get_the_figures_whole() -> None:
    (row,) = results(held(told())).as_json()["rows"]
    (stall,) = row["stalls"]
    assert stall["engine"][0] == {
        "says": "buffers written by checkpoints", "rises": True, "unit": "", "then": 12_400.0, "usual": 0.0,
    }  # fmt: skip
    assert stall["engine"][2]["then"] == 0


def test_the_page_has_each_stall_in_its_width_and_folds_all_but_the_first(browser: Browser, tmp_path: Path) -> None:
    write_page(results(held(told(), [100.0, 100.0, 10.0] * 7)), tmp_path / "page.html")
    page, trouble = opened(browser, tmp_path / "page.html", *NARROW)
    stalls = page.locator(".stall")
    assert stalls.count() == 7
    assert page.locator(".stall:visible").count() == shapes.STALLS_OPEN
    page.locator(".more-stalls summary").click()
    assert page.locator(".stall:visible").count() == 7
    for screen in (NARROW, WIDE):
        turned(page, *screen)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert "log written 3.00 MB/s (3.00)" in stalls.first.inner_text()
    assert trouble == []
    page.context.close()
