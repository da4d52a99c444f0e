"""Columns of tables: no two of one are called alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.cli.plan import plan
from acidtest.report.table import headings


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
