"""Directories that somebody made to break their reader: each is read within bounds, and what is not read is told."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.hostile.kits import nested

from acidtest.audit import importers
from acidtest.audit.importers import file, trees
from acidtest.audit.importers.file import Broken, Budget, File
from support import command
from tables import rows

pytestmark = pytest.mark.slow

CONFIGURATION = b"DefaultDbCachePages = 50\n"


@pytest.fixture(autouse=True)
def gone(tmp_path: Path) -> Iterator[None]:
    """Python of 3.11 cannot remove what is nested that deep."""
    yield
    subprocess.run(["rm", "-rf", tmp_path], check=True)


def test_what_lies_too_deep_is_told(tmp_path: Path) -> None:
    nested(1_500, tmp_path)
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "firebird.conf").write_bytes(CONFIGURATION)
    bench = importers.read(tmp_path)
    assert [name for name, _ in bench.read] == ["z/firebird.conf"]
    assert ["folders deep" in evidence.text for evidence in bench.passed] == [True]


def test_what_is_no_file_is_told_and_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "postgresql.conf")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "up").symlink_to("..")
    (tmp_path / "my.cnf").symlink_to("/etc/hostname")
    told = {evidence.file: evidence.text for evidence in importers.read(tmp_path).passed}
    assert told == {
        "postgresql.conf": "a FIFO",
        "loop": "a symbolic link to loop",
        "up": "a symbolic link to ..",
        "my.cnf": "a symbolic link to /etc/hostname",
    }
    assert command("audit", tmp_path) == 2


def test_of_a_sparse_file_only_what_is_no_hole_is_read(tmp_path: Path) -> None:
    for name, begin in (("postgres", b"\x7fELF\x02\x01\x01"), ("notes.txt", b"32 GB of RAM\n"), ("x.fdb", b"")):
        with (tmp_path / name).open("wb") as sparse:
            sparse.write(begin)
            sparse.truncate(1 << 40)
    bench = importers.read(tmp_path)
    assert not bench.read or {name for name, _ in bench.read} <= {"postgres", "notes.txt"}


def test_a_long_line_is_cut_and_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "firebird.conf").write_bytes(b"# " + b"x" * 200_000 + b"\n" + CONFIGURATION)
    bench = importers.read(tmp_path)
    (side,) = bench.sides
    assert [(setting.name, setting.where.line) for setting in side.configurations[0].settings] == [
        ("defaultdbcachepages", 2)
    ]
    assert [(evidence.file, evidence.line) for evidence in bench.passed] == [("firebird.conf", 1)]


@rows("STREAM_BYTES_MAX", "TEXT_BYTES_MAX")
def test_a_large_file_is_read_so_far_and_that_is_told(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, limit, 1 << 20)
    (tmp_path / "a.log").write_bytes(b"a line\n" * 300_000)
    one = File(tmp_path / "a.log", "a.log")
    lines = list(one.stream()) if limit == "STREAM_BYTES_MAX" else one.lines
    assert len(lines) < 200_000
    assert "larger than is read" in one.notes[0].text


def test_when_the_budget_is_spent_the_rest_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importers, "Budget", lambda: Budget(files=3))
    for n in range(6):
        (tmp_path / f"{n}.cnf").write_text("[mysqld]\nsync_binlog = 1\n")
    bench = importers.read(tmp_path)
    assert [evidence.file for evidence in bench.passed] == ["3.cnf", "4.cnf", "5.cnf"]


CODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"]


@rows(*CODINGS)
def test_a_text_is_read_however_it_is_written(coding: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes("Größe ± 3\r\nzwei\rdrei\n".encode(coding))
    one = File(tmp_path / "a.md", "a.md")
    assert one.lines == one.first_lines == list(one.stream()) == ["Größe ± 3", "zwei", "drei"]


BOMBS = ["[" * 100_000, "a: &a [x, x]\n" + "".join(f"{c}: &{c} [{', '.join([f'*{p}'] * 9)}]\n" for p, c in zip("abcdefghij", "bcdefghijk", strict=True)),
         "- " * 100_000, "&a [*a]", "a: b: c", "\x00"]  # fmt: skip


@rows(*BOMBS)
def test_yaml_that_explodes_is_refused(text: str) -> None:
    with pytest.raises(Broken):
        trees.load_yaml(text)


@rows("[" * 100_000, "[1,2", "9" * 5_000, "[" * 300 + "]" * 300, "[" + "0," * 1_100_000 + "0]")
def test_json_that_explodes_is_refused(text: str) -> None:
    with pytest.raises(Broken):
        trees.load_json(text)


def test_yaml_has_its_lines_and_what_was_written() -> None:
    (tree,) = trees.load_yaml("base: &b\n  fsync: off\nserver:\n  <<: *b\n  port: 0x10\n")
    assert tree.says("base", "fsync") == "off"
    server = tree.get("server")
    assert server is not None
    assert [(key, pair.text, pair.line) for key, pair in server.pairs.items()] == [
        ("fsync", "off", 2),
        ("port", "0x10", 5),
    ]
