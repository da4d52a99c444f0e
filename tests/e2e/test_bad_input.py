"""Bad input: one or two plain lines on standard error, exit code 2, no traceback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from blocks import mounted_in_memory
from support import ACIDTEST

GOOD = 'name = "t"\nrepetitions = 1\nengine = "sqlite"\ndurability = "drive"\n[workload.commits]\ncount = 5\n'


def refused(ran: subprocess.CompletedProcess[str], *said: str) -> None:
    assert ran.returncode == 2, (ran.returncode, ran.stdout, ran.stderr)
    assert 1 <= len(ran.stderr.strip().splitlines()) <= 2, ran.stderr
    for words in said:
        assert words in ran.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace("sqlite", "sqlit"), ['engine "sqlit" is not known (did you mean "sqlite"?)']),
        (GOOD.replace("sqlite", "firebird-5.0").replace("drive", "none"), ["firebird-5.0", "none"]),
        (GOOD.replace("drive", "disk"), ['durability "disk" is not known', "none, os, drive"]),
        (GOOD.replace("count", "cuont"), ['did you mean "count"']),
        (GOOD + "terminals = 0\n", ["terminals", "must be at least 1"]),
        (GOOD.replace("count = 5", "duration_s = -1"), ["duration_s", "must be above 0"]),
        (GOOD + "x = = 1\n", ["not TOML", "line 7"]),
        (GOOD + "[settings.sqlite]\njurnal_mode = 'wal'\n", ['did you mean "journal_mode"']),
        (GOOD + "[settings.sqlite]\njournal_mode = 'wall'\n", ["journal_mode", "wal"]),
        (GOOD + "[settings.sqlite]\njournal_mode = 'memory'\n", ["drive", "memory"]),
        (GOOD.replace(".commits", ".tpcc") + "procedures = true\n", ["sqlite: has no stored procedures", "procedures = false"]),
    ],
)  # fmt: skip
def test_experiments(acidtest, tmp_path: Path, text: str, said: list[str]) -> None:
    file = tmp_path / "t.toml"
    file.write_text(text)
    refused(acidtest("plan", file), "t.toml", *said)
    refused(acidtest("run", file, "--out", tmp_path / "out"), "t.toml", *said)
    assert not (tmp_path / "out").exists()


def test_a_missing_file(acidtest, tmp_path: Path) -> None:
    refused(acidtest("plan", tmp_path / "none.toml"), "no such file")


def test_an_output_directory_of_another_experiment(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(GOOD)
    assert acidtest("run", file, "--out", tmp_path / "out").returncode == 0
    file.write_text(GOOD.replace('"t"', '"other"'))
    before = (tmp_path / "out" / "journal.jsonl").read_bytes()
    refused(acidtest("run", file, "--out", tmp_path / "out"), "another experiment")
    assert (tmp_path / "out" / "journal.jsonl").read_bytes() == before


def test_a_strangers_directory_is_not_written_to(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(GOOD)
    refused(acidtest("run", file, "--out", tmp_path), "not acidtest's")


@pytest.fixture
def small_disk(tmp_path: Path):
    with mounted_in_memory(tmp_path / "small", size_mb=10) as disk:
        yield disk


def test_a_full_disk(acidtest, tmp_path: Path, small_disk: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(GOOD)
    refused(acidtest("run", file, "--out", small_disk / "out"), "MB free", str(small_disk))


def test_a_disk_that_fills_up_during_the_run(acidtest, tmp_path: Path) -> None:
    # More is inserted than the estimate knows of: SQLite keeps the old pages in its log until a checkpoint.
    with mounted_in_memory(tmp_path / "filling", size_mb=60) as disk:
        file = tmp_path / "t.toml"
        file.write_text(
            'name = "t"\nrepetitions = 1\nengine = "sqlite"\ndurability = "none"\n'
            "[workload.commits]\ncount = 20000\nrow_bytes = 100\n"
            "[settings.sqlite]\nwal_autocheckpoint_pages = 1000000000\n"
        )
        ran = acidtest("run", file, "--out", disk / "out")
        refused(ran, "the disk is full")
        (disk / "out" / "journal.jsonl").unlink()
        assert list((disk / "out").iterdir()) == []


def test_a_directory_without_write_permission(tmp_path: Path) -> None:
    # Root may write anywhere, so the command runs without that capability here.
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    file = tmp_path / "t.toml"
    file.write_text(GOOD)
    drop = "-dac_override,-dac_read_search"
    ran = subprocess.run(
        ["setpriv", f"--bounding-set={drop}", f"--inh-caps={drop}", ACIDTEST, "run", file, "--out", locked / "out"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    refused(ran, "cannot be written to", "Permission denied")


@pytest.mark.parametrize("engine", ["firebird-4.0", "postgresql-12"])
def test_an_engine_that_is_not_installed_is_exit_4(acidtest, tmp_path: Path, engine: str) -> None:
    file = tmp_path / "t.toml"
    file.write_text(GOOD.replace("sqlite", engine))
    ran = acidtest(
        "run", file, "--out", tmp_path / "out", environment={"ACIDTEST_HOME": str(tmp_path / "empty")}, code=4
    )
    assert f"acidtest engines install {engine}" in ran.stderr
