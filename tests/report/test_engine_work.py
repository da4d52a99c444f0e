"""What engines counted themselves: for each commit, never 0 for what was not told, in the terminal, on the page, as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.journal.models import EngineCounts, Journal
from acidtest.report import engine_work
from acidtest.report.page import write_page
from acidtest.report.results import results
from acidtest.report.terminal import print_results
from factory import engine_counts, journal, recording
from terminals import printed, words

LEVELS = {"workload": "tpcb", "engine": "firebird-5.0", "durability": "drive"}


def counted(*counts: EngineCounts | None) -> Journal:
    return journal(
        [recording(LEVELS, n, engine_counts=count) for n, count in enumerate(counts, start=1)],
        {"engine": "firebird-5.0"},
    )


def shown(held: Journal, width: int = 200) -> str:
    return words(printed(print_results, results(held), width=width))


def three() -> list[EngineCounts]:
    figures = ((5000, 6000), (4000, 4000), (9000, 9500))
    return [
        engine_counts(1000, page_reads=figure, record_updates=(3000, 3000), record_deletes=(0, 0)) for figure in figures
    ]


def test_it_is_the_median_of_each_commits_figure() -> None:
    (row,) = results(counted(*three())).as_json()["rows"]
    work = row["engine_work"]
    assert work["sessions"] == {"page_reads": 5.0, "record_updates": 3.0, "record_deletes": 0.0}
    assert work["database"] == {"page_reads": 6.0, "record_updates": 3.0, "record_deletes": 0.0}
    assert work["units"]["page_reads"] == "pages"
    assert (work["committed"], work["uncertain"], work["not_counted"]) == (3000, 0.004, None)


@pytest.mark.parametrize("width", [80, 200])
def test_the_terminal_shows_what_is_not_0_everywhere(width: int) -> None:
    text = shown(counted(*three()), width)
    assert engine_work.WHAT in text
    assert "page reads" in text
    assert "record deletes" not in text


NO_RIGHT = "no permission for SELECT access to TABLE MON$IO_STATS"


@pytest.mark.parametrize(
    ("counts", "sessions", "database", "said"),
    [
        ([engine_counts(not_counted=NO_RIGHT)], {}, {}, f"not counted: {NO_RIGHT}"),
        ([engine_counts(page_reads=(5000, None), page_writes=(None, 100))],
         {"page_reads": 5.0, "page_writes": None}, {"page_reads": None, "page_writes": 0.1}, "5.00 –"),
        ([engine_counts(page_reads=(5000, 5000)), engine_counts(not_counted="gone"), None],
         {"page_reads": 5.0}, {"page_reads": 5.0}, "not in every repetition: gone"),
        ([engine_counts(0, page_reads=(7, 7))], {}, {}, "no transaction was committed"),
    ],
    ids=["not counted", "a part is not told", "some repetitions", "no commit"],
)  # fmt: skip
def test_what_is_not_counted_is_said_with_its_reason_and_is_no_0(
    counts: list[EngineCounts | None], sessions: dict[str, float | None], database: dict[str, float | None], said: str
) -> None:
    (row,) = results(counted(*counts)).as_json()["rows"]
    assert (row["engine_work"]["sessions"], row["engine_work"]["database"]) == (sessions, database)
    text = shown(counted(*counts))
    assert said in text
    assert (engine_work.WHAT in text) == bool(sessions)


def test_an_engine_that_is_not_asked_has_none() -> None:
    (row,) = results(counted(None)).as_json()["rows"]
    assert row["engine_work"] is None
    assert engine_work.WHAT not in shown(counted(None))


def test_the_page_has_the_sessions_and_the_whole_database(tmp_path: Path) -> None:
    write_page(results(counted(*three())), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert engine_work.WHAT in text
    assert "The same of the whole database" in text
    assert text.count('<table class="engine-work">') == 2
