"""The page in a browser: whole without a network, plots drawn, findings beside their numbers, at every width."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import jinja2
import pytest
from playwright.sync_api import Browser, Page

from acidtest.report.numbers import number, percent
from acidtest.report.page import _library, templates, write_page
from acidtest.report.results import Results, results
from factory import file_systems, grown_logs, journal, limited, recording, result, tpcc
from pages import NARROW, WIDE, opened, turned, unreadable


@pytest.fixture(scope="module")
def file(studied: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(studied, path)
    return path


@pytest.fixture(scope="module")
def page(browser: Browser, file: Path) -> Iterator[Page]:
    """Opened once for those who read in it."""
    page, _ = opened(browser, file)
    yield page
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_draws_without_a_network_and_never_scrolls_sideways(
    browser: Browser, file: Path, studied: Results, scheme: str
) -> None:
    page, trouble = opened(browser, file, 420, scheme)
    for width in (420, 1280):
        turned(page, width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert unreadable(page) == []
        plots = page.locator(".plot svg")
        assert plots.count() == sum(2 if table.workload == "commits" else 3 for table in studied.tables)
        # A plot must be more than its frame.
        assert page.locator("#bars-0 svg .mark-rect path").count() >= len(studied.tables[0].lines)
    # Where there is room, no column of a table is out of sight.
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    hidden = "[...document.querySelectorAll('.wide')].filter(one => one.scrollWidth > one.clientWidth).length"
    assert page.evaluate(hidden) == 0
    assert trouble == []
    page.context.close()


def test_the_table_shows_the_results(page: Page, studied: Results) -> None:
    for position, table in enumerate(studied.tables):
        rows = page.locator(".results").nth(position).locator("tbody tr")
        assert rows.count() == len(table.lines)
        for index, line in enumerate(table.lines):
            text = rows.nth(index).inner_text()
            assert number(line.goodput.median) in text
            assert (line.verdict or "base") in text


def test_every_mark_leads_to_its_finding(page: Page, studied: Results) -> None:
    marked = set()
    for link in page.locator("sup a").all():
        target = link.get_attribute("href")
        assert page.locator(f"li{target}").count() == 1
        marked.add(target)
    assert marked == {f"#note-{n}" for n in range(1, len(studied.findings) + 1)}
    page.locator("sup a").first.click()
    assert page.evaluate("document.querySelector(':target').id").startswith("note-")


def test_settings_machine_and_bad_cells_are_there(page: Page, studied: Results) -> None:
    text = page.locator("body").inner_text()
    for fact in ("Example CPU 3000", "Linux 6.12.1", "ext4", "Example SSD 1TB", "write back"):
        assert fact in text
    for one in studied.bad:
        assert one.cell in text
        assert one.reason in text
    page.locator("details", has_text="sqlite, drive").last.locator("summary").click()
    assert page.locator("details[open]").get_by_role("rowheader", name="synchronous", exact=True).count() == 1


def test_kinds_and_loads_are_there(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "tpcc.html"
    write_page(results(tpcc()), path)
    page, trouble = opened(browser, path)
    assert trouble == []
    rows = page.locator(".kinds tbody tr")
    assert rows.count() == 6
    assert " ".join(rows.nth(4).inner_text().split()) == "firebird-5.0 payment 2,150 0 0 0 0 6,000 5,000 no"
    assert page.locator(".kinds td.bad").count() == 2  # the percentile, and that its limit is not kept
    page.locator("summary", has_text="How the databases were loaded").click()
    assert "500,000\t50.0\t4.50\t111,000\t11.1\t2" in page.locator("details[open]").inner_text()
    assert page.locator("#load-0 svg .mark-line path").count() > 0
    assert "tpmC" not in page.locator("body").inner_text()
    page.context.close()


def test_names_that_look_like_markup_stay_words(browser: Browser, tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    levels = {"workload": "commits", "engine": "sqlite", "durability": "drive", "label": evil}
    other = {**levels, "label": "plain"}
    held = journal([recording(levels), recording(other)], title=evil)
    path = tmp_path / "evil.html"
    write_page(results(held), path)
    page, trouble = opened(browser, path)
    assert trouble == []
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == evil
    page.context.close()


def test_the_page_fetches_nothing_by_its_own_words(file: Path) -> None:
    html = re.sub(r"<script>.*?</script>", "<script></script>", file.read_text(), flags=re.DOTALL)
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=", html)


def test_an_interrupted_write_leaves_the_old_page(studied: Results, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("no")))
    with pytest.raises(OSError, match="no"):
        write_page(studied, path)
    assert path.read_text() == "old"


def test_memory_is_a_table_and_two_curves(browser: Browser, tmp_path: Path) -> None:
    write_page(results(limited()), tmp_path / "memory.html")
    page, trouble = opened(browser, tmp_path / "memory.html")
    assert trouble == []
    rows = page.locator(".memory tbody tr")
    assert rows.count() == 2
    assert "3.12" in rows.nth(0).inner_text()  # times the limit
    assert "24%" in rows.nth(0).inner_text()  # in the file cache at the end
    for kind in ("residency", "refaults"):
        assert page.locator(f"#{kind}-0 svg .mark-line path").count() >= 10  # a line a repetition
    page.context.close()


def test_sizes_are_columns_and_two_curves(browser: Browser, tmp_path: Path) -> None:
    write_page(results(grown_logs()), tmp_path / "sizes.html")
    page, trouble = opened(browser, tmp_path / "sizes.html")
    assert trouble == []
    assert "110" in page.locator("table.results tbody tr").nth(1).inner_text().split()
    assert page.locator("#database-size-0 svg .mark-line path").count() >= 2
    assert page.locator("#log-size-0 svg .mark-line path").count() >= 4
    page.context.close()


def test_two_factors_stand_in_grids_with_a_plot_and_tints(browser: Browser, tmp_path: Path) -> None:
    found = results(file_systems(5, {"place.filesystem": "raw"}))
    write_page(found, tmp_path / "report.html")
    page, trouble = opened(browser, tmp_path / "report.html", 420, "dark")
    assert trouble == []
    grids = found.tables[0].grids
    assert page.locator("table.grid").count() == len(grids) == 2
    for position, grid in enumerate(grids):
        text = page.locator("table.grid").nth(position).inner_text()
        assert all(percent(line.relative) in text for line in grid.cells.values())
        assert page.locator(f"#grid-0-{position} svg").count() == 1
        tinted = page.locator("table.grid").nth(position).locator("td[style]")
        assert tinted.count() == len(grid.cells)
        # The base has no tint, all that is faster is the bluer the faster it is.
        styles = [one.get_attribute("style") for one in (tinted.first, tinted.last)]
        assert styles == ["background: rgb(0 114 178 / 0.00)", "background: rgb(0 114 178 / 0.32)"]
    assert unreadable(page) == []
    assert "filesystem matters most" in page.locator(".answer").inner_text()
    page.context.close()


def test_rows_of_many_factors_and_long_names_are_told_apart(browser: Browser, tmp_path: Path) -> None:
    """Three factors vary; one level is a sentence, one a word without an end."""
    factors = {
        "engine": ("sqlite", "postgresql-17"),
        "variant": ("small cache, and the journal as it is recommended everywhere", "x" * 90),
        "terminals": ("1", "16"),
        "durability": ("drive",),
    }
    held = [
        recording({"workload": "tpcb", **dict(zip(factors, levels, strict=True))}, repetition, found=result(813))
        for levels in itertools.product(*factors.values())
        for repetition in (1, 2)
    ]
    write_page(results(journal(held)), tmp_path / "report.html")
    page, trouble = opened(browser, tmp_path / "report.html", *NARROW)
    for screen in (NARROW, WIDE):
        turned(page, *screen)
        _told_apart(page, factors["engine"] + factors["variant"])
    assert trouble == []
    page.context.close()


def _told_apart(page: Page, keys: Sequence[str]) -> None:
    assert unreadable(page) == []
    for kind in ("percentiles", "series"):
        figure = page.locator("figure", has=page.locator(f"#{kind}-0"))
        assert figure.locator(".panel-title").all_inner_texts() == ["terminals 1", "terminals 16"]
        assert figure.locator(".key").all_inner_texts() == list(keys)
        for panel in figure.locator(".plot").all():
            lines = panel.locator("svg .mark-line.role-mark path").all()
            looks = {(line.get_attribute("stroke"), line.get_attribute("stroke-dasharray")) for line in lines}
            assert len(looks) == len(lines) == 4
    # The median of each row stands in a column beside the bars, not among the values.
    lefts, reach = page.locator("#bars-0 svg").evaluate(
        """svg => [[...svg.querySelectorAll("text")].filter(e => e.textContent === "813")
             .map(e => e.getBoundingClientRect().left),
           Math.max(...[...svg.querySelectorAll(".role-mark path")].map(e => e.getBoundingClientRect().right))]"""
    )
    assert len(lefts) == 8
    assert min(lefts) > reach


def test_a_curve_takes_five_points_and_what_is_not_drawn_is_named(browser: Browser, tmp_path: Path) -> None:
    """A run of 12 s has curves; of one of 2 s, or of 60 transactions, the page says why it has none."""
    found = {"sqlite": result(800), "firebird-5.0": result(800, seconds=2), "firebird-4.0": result(5, seconds=12)}
    held = [
        recording({"workload": "tpcb", "engine": engine, "durability": "drive"}, found=one)
        for engine, one in found.items()
    ]
    write_page(results(journal(held)), tmp_path / "report.html")
    page, trouble = opened(browser, tmp_path / "report.html")
    assert trouble == []
    captions = [
        page.locator("figure", has=page.locator(f"#{kind}-0")).locator("figcaption").inner_text()
        for kind in ("percentiles", "series")
    ]
    assert captions[0].endswith("Without a curve: firebird-4.0 (fewer than 100 transactions).")
    assert captions[1].endswith("Without a curve: firebird-5.0 (measured for fewer than 5 seconds).")
    assert page.locator("#series-0 svg .mark-line.role-mark path").count() == 2
    page.context.close()
    write_page(results(journal(held[1:2])), tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<p class="soft" id="series-0">Without a curve: all (measured for fewer than 5 seconds).</p>' in html


def test_the_plots_library_is_bundled_once_and_kept_where_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled: list[str] = []
    monkeypatch.setattr("vl_convert.javascript_bundle", lambda: bundled.append("made") or "a</script>")
    for home, times in ((tmp_path, 1), (Path("/dev/null/nowhere"), 3)):  # on top of each other
        monkeypatch.setenv("ACIDTEST_HOME", str(home))
        for _ in range(2):
            _library.cache_clear()
            assert _library() == "a<\\/script>"
        assert len(bundled) == times
    _library.cache_clear()
    assert [file.suffix for file in (tmp_path / "page").iterdir()] == [".js"]


def test_templates_are_compiled_once_and_kept_where_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    compile_ = jinja2.Environment._compile
    monkeypatch.setattr(
        jinja2.Environment, "_compile", lambda self, source, name: compiled.append(name) or compile_(self, source, name)
    )
    for home, times in ((tmp_path, 1), (Path("/dev/null/nowhere"), 3)):  # on top of each other
        monkeypatch.setenv("ACIDTEST_HOME", str(home))
        for _ in range(2):
            templates.cache_clear()
            templates().get_template("charts.html.j2")
        assert len(compiled) == times
    templates.cache_clear()
    assert [file.name.partition("-")[0] for file in (tmp_path / "page").iterdir()] == ["template"]
