"""Tables in a terminal of any width: figures and names that are typed are never cut, and every column has a heading."""

from __future__ import annotations

import io
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import factory
from acidtest.cli.plan import plan
from acidtest.journal.models import OwnReport
from acidtest.report import engine_work
from acidtest.report import table as tables
from acidtest.report.growth_tables import print_growth
from acidtest.report.results import results
from acidtest.report.side_by_side import side_by_side
from acidtest.report.table import Cell, Column, Table, headings, on_page, page_section, print_table
from acidtest.report.terminal import print_results

pytestmark = pytest.mark.slow
NAMES = ["sqlite", "firebird-3.0-server", "postgresql-17"]


def console(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False)


def printed(on: Console) -> str:
    return on.file.getvalue()  # type: ignore[attr-defined]


@given(st.integers(10, 120), st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
def test_no_name_and_no_figure_is_cut_at_any_width(width: int, names: list[str]) -> None:
    rows = [(name, f"{10**n:,}", "many words that may stand on several lines") for n, name in enumerate(names, start=3)]
    columns = [
        Column("engine", lambda row: row[0], right=False, typed=True),
        Column("words", lambda row: row[2], right=False),
        Column("commits/s", lambda row: row[1]),
        Column("left out", lambda row: row[2], right=False, drop=1),
    ]
    on = console(width)
    print_table(Table(columns, rows), on)
    text = printed(on)
    assert "…" not in text
    for name, figure, _ in rows:
        assert any(name in line.split() for line in text.splitlines())
        assert any(figure in line.split() for line in text.splitlines())
    assert ("A wider terminal also shows left out" in " ".join(text.split())) == (
        " left out" not in text.splitlines()[0]
    )


@pytest.mark.parametrize("width", [40, 80])
def test_two_runs_side_by_side_lose_no_level_and_no_figure(width: int) -> None:
    held = factory.study(engines=["sqlite", "firebird-3.0-server"], workloads=["tpcb"])
    on = console(width)
    side_by_side(held, held).show(on)
    text = printed(on)
    assert "…" not in text
    together = text.replace(" ", "").replace("\n", "")
    assert "drive" in together
    assert text.count(" 100 ") == 5


def test_every_column_has_a_heading(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[str] = []
    grid = tables._grid

    def watched(shown, width):
        heads.extend(column.head for column, _ in shown)
        return grid(shown, width)

    monkeypatch.setattr(tables, "_grid", watched)
    (table,) = results(factory.growing(repetitions=2)).tables
    run, cuts = factory.priced()
    for found in (
        results(factory.study()), results(factory.tpcc()), results(factory.limited()), results(run, cuts=cuts),
        results(factory.file_systems(2, {"place.filesystem": "raw"})), results(factory.growing(repetitions=2)),
        results(factory.journal([factory.recording()])),
    ):  # fmt: skip
        print_results(found, console(160))
    assert table.growth is not None
    print_growth(table.growth, console(160))
    assert len(set(heads)) > 40
    assert "" not in heads
    assert "verdict" in heads


@pytest.mark.parametrize("width", [16, 60])
def test_the_first_columns_of_a_databases_own_report_stay(width: int) -> None:
    heads = [f"head_{letter}" for letter in "abcdefgh"]
    report = OwnReport(title="what it did", columns=heads, rows=[[f"{n}00" for n in range(1, 9)]], by_kind=False)
    on = console(width)
    for table in engine_work.own_reports([Mock(label="sqlite", own_reports=[report])], parts=False):
        print_table(table, on)
    text, _, left_out = " ".join(printed(on).split()).partition("A wider terminal also shows")
    assert all(f"{n}00" in text for n in range(1, 6))
    assert "head h" in left_out


def test_a_page_has_what_a_terminal_has_not() -> None:
    columns = [
        Column("row", lambda row: row, right=False),
        Column("rate", lambda row: Cell("–", "bad", why='needs "5"', marks={2: "a warning"})),
        Column("only here", lambda row: "&", only="page"),
        Column("only there", lambda row: "there", only="terminal"),
    ]
    table = Table(columns, ["<b>"], "of-rows", "Rows", explained="short", page_explained="long", notes=["missing"])
    page = page_section(table)
    assert "&lt;b&gt;" in page and "<b>" not in page and "&amp;" in page
    assert 'class="n bad"' in page and "needs &#34;5&#34;" in page and 'href="#note-2"' in page and "a warning" in page
    assert "long" in page and "short" not in page and "missing" in page and "there" not in page
    assert table.heads == ["row", "rate", "only here"]
    assert table.texts == [["<b>", "–", "&"]]
    on = console(80)
    print_table(table, on)
    text = printed(on)
    assert "<b>" in text and "–²" in text and "there" in text and "only here" not in text
    assert "short" in text and "long" not in text and "missing" in text


def test_nothing_is_said_of_a_table_without_rows() -> None:
    empty = Table([Column("row", str)], [], "of-rows", "Rows", conclusions=["said"], explained="explained")
    on = console(80)
    print_table(empty, on)
    assert printed(on) == "" == on_page(empty) == page_section(empty)


@pytest.mark.parametrize(
    ("factors", "beside", "found"),
    [
        (["engine", "firebird.page_size", "place.mount"], (), ["engine", "page_size", "mount"]),
        (["firebird.page_size", "sqlite.page_size"], (), ["firebird.page_size", "sqlite.page_size"]),
        (["place.terminals"], ("terminals",), ["place.terminals"]),
        (["terminals", "lasts"], ("lasts",), ["terminals", "factor lasts"]),
        (["firebird.page_size", "page_size"], (), ["firebird.page_size", "page_size"]),
    ],
)
def test_headings_are_short_and_differ(factors: list[str], beside: tuple[str, ...], found: list[str]) -> None:
    assert headings(factors, beside) == found
    assert len({*found, *beside}) == len(found) + len(beside)


@pytest.mark.parametrize(
    ("factors", "head"),
    [
        ("terminals = [1, 2]", "terminals  lasts  runs as cell"),
        ('clients = [{ name = "few", set = { terminals = 1 } }, { name = "many", set = { terminals = 9 } }]',
         "clients  terminals  lasts  runs as cell"),
        ('"sqlite.page_size" = [4096, 8192]\n"firebird.page_size" = [4096, 8192]\nengine = ["sqlite", "firebird-5.0"]',
         "engine  sqlite.page_size  firebird.page_size  terminals  lasts  runs as cell"),
        ('lasts = [{ name = "a", set = { retries = 1 } }, { name = "b", set = { retries = 2 } }]',
         "factor lasts  terminals  lasts  runs as cell"),
    ],
)  # fmt: skip
def test_a_plan_has_no_two_columns_alike(
    factors: str, head: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / "t.toml"
    engine = "" if "engine" in factors else 'engine = "sqlite"\n'
    file.write_text(f'name = "t"\n{engine}durability = "drive"\n[workload.commits]\ncount = 5\n[factors]\n{factors}\n')
    for everything in (False, True):
        plan(file, all_=everything)
        assert " ".join(capsys.readouterr().out.splitlines()[1].split()) == " ".join(head.split())
