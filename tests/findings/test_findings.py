"""Each finding's own program runs, reports in its format, and, where chance has no part in it, shows its fault."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acidtest.conductor.engines import plan_of
from acidtest.experiment import read
from acidtest.files import state_directory

FINDINGS = Path(__file__).parent.parent.parent / "findings"
NAMES = sorted(folder.name for folder in FINDINGS.iterdir() if (folder / "reproduce.py").exists())
SHOWN, NOT_SHOWN = 1, 0
TOLD = ("What it does", "What came out", "What is known", "What is guessed", "What is known elsewhere", "## For the ")


def reproduce(name: str, *options: str) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, str(FINDINGS / name / "reproduce.py"), *options]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert ended.returncode in (SHOWN, NOT_SHOWN), ended.stderr
    assert ended.stdout, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    assert found["finding"] == name
    return ended.returncode, found


def of_each_version(test: Callable[..., None]) -> Callable[..., None]:
    versions = pytest.mark.parametrize("version", ["5.0", "4.0", "3.0"])
    return pytest.mark.sampled(1)(versions(pytest.mark.usefixtures("engines_installed")(test)))


def runtime(version: str) -> str:
    return str(state_directory() / "engines" / f"firebird-{version}" / "firebird" / "embedded" / "runtime")


def test_all_of_them_are_here() -> None:
    assert NAMES == [
        "diskcache-large-values",
        "ext4-second-flush",
        "firebird-drop-table",
        "firebird-grows",
        "firebird-hidden-page",
        "firebird-not-null",
        "firebird-rollback",
        "firebird-torn-page",
        "firebird-two-alters",
        "mariadb-aria-torn-page",
        "mariadb-renamed-log",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_each_says_what_is_known_and_what_is_guessed(name: str) -> None:
    text = (FINDINGS / name / "README.md").read_text()
    assert [part for part in TOLD if part not in text] == []
    assert f"make finding NAME={name}" in text
    assert f"({name}/README.md)" in (FINDINGS / "README.md").read_text()
    documents = [page.read_text() for page in (FINDINGS.parent / "docs").glob("*.md")]
    assert any(f"../findings/{name}/README.md" in page for page in documents)


@of_each_version
def test_rows_on_a_page_that_counts_as_empty_are_hidden_after_a_kill(version: str, tmp_path: Path) -> None:
    code, found = reproduce("firebird-hidden-page", "--runtime", runtime(version), "--work", str(tmp_path))
    assert f"Firebird {version}" in found["version"]
    assert (code, found["kills"], found["hidden_from_scans"], found["missing_by_key"]) == (SHOWN, 1, 1, 0)


@of_each_version
def test_a_kill_within_the_commit_of_a_drop_leaves_a_table_without_pages(version: str, tmp_path: Path) -> None:
    asked = ("--runtime", runtime(version), "--work", str(tmp_path))
    code, found = reproduce("firebird-drop-table", *asked)
    assert (code, found["table"]["gone"]) == (SHOWN, 1)
    assert found["table"]["cannot be read"] == found["states"] - 1 > 5
    assert "missing pointer page in DPM_data_pages (243)" in found["examples"][0]["error"]
    code, found = reproduce("firebird-drop-table", *asked, "--do", "delete")
    assert (code, found["wrong"]) == (NOT_SHOWN, 0)
    assert set(found["table"]) <= {"whole", "empty"}


@of_each_version
def test_an_old_statement_writes_null_into_a_new_column(version: str, tmp_path: Path) -> None:
    asked = ("--runtime", runtime(version), "--work", str(tmp_path))
    code, found = reproduce("firebird-not-null", *asked)
    assert (code, found["rows"]) == (SHOWN, {"1": 7, "2": 7, "3": None})
    code, found = reproduce("firebird-not-null", *asked, "--without-another")
    assert (code, set(found["rows"].values())) == (NOT_SHOWN, {7})


@of_each_version
def test_a_column_that_was_refused_leaves_its_format(version: str, tmp_path: Path) -> None:
    asked = ("--runtime", runtime(version), "--work", str(tmp_path))
    code, found = reproduce("firebird-two-alters", *asked)
    assert (code, found["rdb_formats"], found["validation"][0]) == (SHOWN, [1, 2, 2], 1)
    assert "wrong record length (183)" in found["error"]
    code, found = reproduce("firebird-two-alters", *asked, "--in-turn")
    assert (code, found["rdb_formats"], found["rows"]) == (NOT_SHOWN, [1, 2, 3], [1, 2, 3])


@of_each_version
def test_a_torn_page_brings_rows_that_nobody_wrote_and_a_whole_one_does_not(version: str, tmp_path: Path) -> None:
    asked = ("--runtime", runtime(version), "--work", str(tmp_path), "--transactions", "20", "--states", "10")
    code, found = reproduce("firebird-torn-page", *asked)
    assert f"Firebird {version}" in found["version"]
    assert (code, found["silent"] > 0, found["wrong"]["row that nobody wrote"] > 0) == (SHOWN, True, True)
    code, found = reproduce("firebird-torn-page", *asked, "--kept", "all")
    assert (code, found["states"] > 0, found["damaged"]) == (NOT_SHOWN, True, 0)


@pytest.mark.usefixtures("engines_installed")
def test_a_page_of_one_sector_cannot_be_torn(tmp_path: Path) -> None:
    asked = ("--runtime", runtime("5.0"), "--work", str(tmp_path), "--transactions", "5", "--page-size", "4096")
    code, found = reproduce("firebird-torn-page", *asked)
    assert (code, found["writes"] > 0, found["states"]) == (NOT_SHOWN, True, 0)


@pytest.mark.long
def test_a_torn_page_of_a_system_table_keeps_mariadb_from_starting() -> None:
    code, found = reproduce("mariadb-aria-torn-page")
    assert (code, found["torn_writes"] > 0) == (SHOWN, True)
    assert found["kept"]["everything"] == found["kept"]["nothing"] == {"starts": found["torn_writes"]}
    assert "Redo phase failed" in found["examples"][0]["said"]


@pytest.mark.usefixtures("engines_installed")
def test_rollbacks_are_counted_and_the_value_told(tmp_path: Path) -> None:
    asked = ("--runtime", runtime("5.0"), "--work", str(tmp_path))
    code, found = reproduce("firebird-rollback", *asked, "--seconds", "2")
    assert found["rollbacks"] > 0
    assert (found["threads"], found["wait"], found["auto_undo"]) == (3, True, True)
    assert (code == SHOWN) == (found["value"] != 0)
    code, found = reproduce("firebird-rollback", *asked, "--seconds", "1", "--threads", "1")
    assert (code, found["value"]) == (NOT_SHOWN, 0)


def test_a_second_flush_on_ext4_reports_success_and_nothing_is_durable() -> None:
    code, found = reproduce("ext4-second-flush", "--trials", "2")
    assert (code, found["second_flush"], found["after_success"]) == (SHOWN, {"success": 2}, {"lost": 2})


def test_a_second_flush_on_xfs_fails() -> None:
    code, found = reproduce("ext4-second-flush", "--trials", "1", "--filesystem", "xfs")
    assert (code, found["after_success"]) == (NOT_SHOWN, {})


@pytest.mark.long
def test_a_log_that_is_made_anew_and_one_that_is_not() -> None:
    _, found = reproduce("mariadb-renamed-log", "--cuts", "1")
    assert sum(found["committed_row"].values()) == 1
    code, found = reproduce("mariadb-renamed-log", "--cuts", "1", "--same-size")
    assert (code, found["committed_row"]) == (NOT_SHOWN, {"kept": 1})


def test_a_large_value_is_not_flushed_and_the_row_that_names_it_is() -> None:
    code, found = reproduce("diskcache-large-values")
    assert (code, found["flushes_of_the_value"]) == (SHOWN, 0)
    assert ".db-wal" in found["flushes"]["large"]
    # Where values lie in the database, nothing is left to be flushed: then the program refuses to say anything.
    command = [sys.executable, str(FINDINGS / "diskcache-large-values" / "reproduce.py"), "--bytes", "1000"]
    assert "in a file of its own" in subprocess.run(command, check=False, capture_output=True, text=True).stderr


@of_each_version
def test_a_commit_waits_for_each_page_with_forced_writes_and_not_without(version: str, tmp_path: Path) -> None:
    asked = ("--runtime", runtime(version), "--work", str(tmp_path), "--rows", "300")
    code, found = reproduce("firebird-grows", *asked)
    forced, without, flushed = found["modes"].values()
    assert (code, forced["opened"], forced["waits"]) == (SHOWN, "O_DSYNC", forced["calls"]["pwrite64"])
    assert (without["waits"], flushed["waits"]) == (0, 1)
    assert forced["pages"] == without["pages"] == flushed["pages"]
    assert forced["pages"]["data"] > forced["waits"] / 2


def test_the_experiment_of_a_growing_database_can_be_planned() -> None:
    cells = plan_of(read(FINDINGS / "firebird-grows" / "grows.toml")).cells
    assert {(cell.workload_name, cell.durability) for cell in cells} == {
        (name, level) for name in ("one", "many") for level in ("os", "drive")
    }
