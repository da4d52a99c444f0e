"""The diagnosis as a user meets it: on files of Firebird and SQLite, refused, and stopped."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from acidtest.engine import catalogue
from support import ACIDTEST, Run

SHORT = ("--minutes", "0.25")
BOTTLENECKS = {
    "the drive's flush", "the file system", "memory and cache", "the configuration", "the engine's log",
    "the database inside", "the processor",
}  # fmt: skip
CONFIGURATION = "DefaultDbCachePages = 256\nServerMode = Classic\nWobble = 3\n"


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Path:
    path = tmp_path / "mine" / "shop.db"
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (a)")
        connection.executemany("insert into t values (?)", [("x" * 100,)] * 1000)
    connection.close()
    return path


@pytest.fixture
def firebird_file(tmp_path: Path) -> Path:
    directory = tmp_path / "mine"
    directory.mkdir()
    instance = catalogue.find("firebird-5.0").create(directory, {"page_size": 4096})
    (path,) = instance.database_files()
    instance.seal()
    instance.release()
    return path


def state(directory: Path) -> dict[str, str]:
    """All files with what they hold."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def found(ran: subprocess.CompletedProcess[str]) -> Any:
    assert ran.returncode == 0, ran.stderr + ran.stdout
    return json.loads(ran.stdout)


def test_a_file_of_sqlite(acidtest: Run, sqlite_file: Path, tmp_path: Path) -> None:
    before, out, page = state(sqlite_file.parent), tmp_path / "out", tmp_path / "page.html"
    told = found(acidtest("diagnose", "--database", sqlite_file, *SHORT, "--out", out, "--html", page, "--json"))
    assert state(sqlite_file.parent) == before
    assert {bottleneck["name"] for bottleneck in told["bottlenecks"]} == BOTTLENECKS
    assert (told["database"]["family"], told["cells"]["engine"]) == ("sqlite", "sqlite")
    assert told["cells"]["settings"]["found"] == {"page_size": 4096, "journal_mode": "delete"}
    assert told["probe"]["verdict"] in ("flushes", "cannot tell")
    assert [bottleneck["name"] for bottleneck in told["bottlenecks"] if bottleneck["standing"] == "not looked at"] == [
        "the engine's log"
    ]
    assert told["inside"]["looked_at"]
    assert {"diagnosis.json", "journal.jsonl", "probe.json", "next.toml"} <= {path.name for path in out.iterdir()}
    redrawn = json.loads(acidtest("report", out, "--json").stdout)
    ran = {row["levels"]["configuration"] for row in redrawn["rows"]} - {
        "found, 128 MiB cache"
    }  # where the time allows
    assert ran == {"found", "reference: 4 KiB pages, 128 MiB cache"}
    assert told["processor"]["deflate_mb_per_s"] > 0
    assert acidtest("plan", out / "next.toml").returncode == 0
    assert "Diagnosis of" in page.read_text(encoding="utf-8")


def test_a_file_of_firebird_with_its_configuration(acidtest: Run, firebird_file: Path, tmp_path: Path) -> None:
    config = tmp_path / "conf"
    config.mkdir()
    (config / "firebird.conf").write_text(CONFIGURATION)
    before = state(tmp_path)
    words, minutes = "", 0.25
    while "A scratch database of" not in words:  # a busy machine has no time left for one after its probe
        assert minutes <= 16, words
        ran = acidtest("diagnose", "--database", firebird_file, "--config", config, "--minutes", minutes, code=1)
        assert state(tmp_path) == before
        words, minutes = " ".join(ran.stdout.split()), 4 * minutes
    assert f"Diagnosis of {firebird_file}" in words
    assert "DefaultDbCachePages = 256 (firebird.conf:1) → page_buffers = 256" in words
    assert "Wobble = 3 (firebird.conf:3) → not in the cells: acidtest has no such setting for firebird-5.0" in words
    assert "firebird-5.0, which is of the version in question" in words
    assert "found-durable" in words  # the file was made without Forced Writes
    assert "Severe: Forced writes are off" in words  # which the inspection says too
    assert "the engine's log: no log of an engine was found" in words
    assert "acidtest init next.toml --question" in words


def test_a_directory_alone_tells_of_its_storage(acidtest: Run, tmp_path: Path) -> None:
    told = found(acidtest("diagnose", tmp_path, *SHORT, "--json"))
    assert told["probe"]["path"] == str(tmp_path)
    assert (told["cells"], told["next"]) == (None, None)
    missing = {one["what"]: one["why"] for one in told["not_looked_at"]}
    assert "no engine is known" in missing["what the settings change, on a scratch database"]
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_cannot_be_reached_is_an_error(acidtest: Run) -> None:
    ran = acidtest("diagnose", "--database", "postgresql://ann:secret@127.0.0.1:1/shop", *SHORT, "--json")
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "postgresql://ann@127.0.0.1:1/shop: 127.0.0.1:1: Connection refused" in ran.stderr
    assert "secret" not in ran.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--minutes", "0"), "--minutes 0: must be 0.25 to 60"),
        (("--minutes", "nan"), "--minutes nan: must be"),
        (("no-such-place",), "no-such-place: is no directory"),
        (("text",), "did you mean --database text?"),
        (("mysql://u:secret@h/d",), "give a server as --database URL"),
        (("--database", "no-such-file"), "cannot be read: No such file"),
        (("--database", "."), "is a directory"),
        (("--database", "text"), "is neither a Firebird nor a SQLite database"),
        (("--database", "empty"), "is neither a Firebird nor a SQLite database"),
        (("--database", "oracle://a@b/c"), "oracle"),
        (("--config", "text"), "--config text: is no directory"),
        (("--out", "full"), "--out full: is there already and not empty"),
        (("--out", "no/out"), "no is no directory"),
        (("--html", "full"), "--html full: cannot be a file there"),
        (("full",), "is the data directory of a server"),
    ],
)
def test_what_is_refused(
    acidtest: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("no database" * 100)
    (tmp_path / "empty").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "PG_VERSION").write_text("17\n")
    before = state(tmp_path)
    ran = acidtest("diagnose", *words, code=2)
    assert said in ran.stderr
    assert len(ran.stderr.strip().splitlines()) <= 2
    assert state(tmp_path) == before


@pytest.mark.parametrize("sign", ["[1/", pytest.param("[70/70]", marks=pytest.mark.long)])
def test_it_leaves_nothing_when_it_is_stopped(sqlite_file: Path, tmp_path: Path, sign: str) -> None:
    before, out = state(tmp_path), tmp_path / "out"
    command = [ACIDTEST, "diagnose", "--database", sqlite_file, "--minutes", "0.5", "--out", out]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if line.startswith(sign) and "left" in line and (sign != "[1/" or "commits/s" in line):
            break
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, seen + said
    assert "stopped by Ctrl-C; nothing of it is kept" in said
    assert state(tmp_path) == before
    assert [path.name for path in sqlite_file.parent.iterdir()] == ["shop.db"]
