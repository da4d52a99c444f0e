"""``acidtest inspect`` as it is typed: what is told in one or two lines, and exit codes."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from acidtest.cli import complete
from acidtest.conductor import inspect
from acidtest.conductor.inspect import redacted
from acidtest.families import PRODUCTS, SERVERS
from support import command


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    database = sqlite3.connect(path)
    database.execute("create table t (id integer primary key, x text)")
    database.executemany("insert into t (x) values (?)", [("x" * 100,)] * 500)
    database.commit()
    database.close()
    return path


def test_a_sound_database_ends_with_code_0_and_json_on_standard_output(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("inspect", file, "--no-read", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["family"] == "sqlite" and answer["unusual"] == []
    assert [table["records"] for table in answer["statistics"]["tables"]] == [500]
    assert command("inspect", file, "--limit", "5s") == 0
    assert "Nothing unusual was found." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("where", "code", "said"),
    [
        ("absent.db", 2, "No such file"),
        (".", 2, "is a directory"),
        ("oracle://me:geheim@host/x", 2, "scheme"),
        ("postgresql://me:ge/heim@host/x", 2, "holds a / or ? or #"),
        ("postgresql://me:geheim@host:heim/x", 2, "cannot be read as a URL"),
        ("postgresql://me:geheim@127.0.0.1:1/x", 3, "127.0.0.1:1"),
    ],
)
def test_what_is_wrong_is_told_in_two_lines_at_most(
    where: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("inspect", where) == code
    output = capsys.readouterr()
    assert said in output.err and len(output.err.strip().splitlines()) <= 2
    assert "heim@" not in output.err and "geheim" not in output.err and not output.out


def test_of_a_url_no_password_is_shown() -> None:
    for password in ("geheim", "ge:heim", "ge@heim", "ge/heim", "ge?heim", "ge#heim"):
        assert "heim" not in redacted(f"mysql://me:{password}@host/db?password=geheim")


def test_the_beginnings_of_urls_are_completed() -> None:
    words = {name for name in PRODUCTS for family in SERVERS.values() if name in {p.name for p in family.products}}
    assert set(complete.SERVERS) == {f"{name}://" for name in words}
    assert complete.databases("my") == ["mysql://"]
    assert complete.databases("") == []


def test_a_file_that_is_written_to_meanwhile_is_doubted(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    look = inspect._look_into_sqlite

    def looked(*about: Any) -> Any:
        os.utime(file, ns=(1, file.stat().st_mtime_ns + 1))  # as a write in place, which leaves its size
        return look(*about)

    assert command("inspect", file, "--no-read") == 0
    assert "It was written to" not in capsys.readouterr().out
    monkeypatch.setattr(inspect, "_look_into_sqlite", looked)
    assert command("inspect", file, "--no-read") == 0
    assert "It was written to while it was looked into" in capsys.readouterr().out


def test_a_file_is_out_of_the_file_cache_before_it_is_read_cold(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = file.stat().st_size
    drop = Mock(return_value=inspect.filecache.Residency(size, 4096, None, "mincore"))
    monkeypatch.setattr(inspect.filecache, "drop", drop)
    cold, warm = inspect._timed(file, 60, Mock()).passes
    drop.assert_called_once_with([file])
    assert (cold.cached_bytes_before, cold.bytes, warm.bytes) == (4096, size, size)
