"""A disk of 3,600 turns a minute with its write cache off, under each engine: one durable write of the log a turn, and
what engines do about it.

Counts, and one rate that is the disk's own arithmetic: a slow machine makes it lower, none makes it higher.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support import ACIDTEST, journal_lines, times

RPM = 3_600
TURNS_PER_S = RPM / 60
COMMITS = times(32, 60)
LOGS = {"sqlite": "-wal", "postgresql-15": "/pg_wal/", "mariadb-10.11": "/ib_logfile0"}
# Firebird has no log: it writes pages.
ENGINES = ("postgresql-15", "firebird-5.0", "sqlite", "mariadb-10.11")[: times(2, 4)]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], dict[str, Any]]:
    """By engine and number of terminals."""
    directory = tmp_path_factory.mktemp("platter")
    file = directory / "platter.toml"
    file.write_text(
        f'name = "platter"\nrepetitions = 1\ndurability = "drive"\n'
        f"[factors]\nengine = {list(ENGINES)}\nterminals = [1, 16]\n"
        f"[workload.commits]\ncount = {COMMITS}\nobserve = true\n"
        '[place]\nkind = "disk"\ndisk = "rotating"\ndisk_cache_mb = 0\nfilesystem = "ext4"\n'
        f'disk_parameters = "rpm={RPM}"\n'
    )
    command = [ACIDTEST, "run", file, "--out", directory / "out"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    storage = f"Storage: a simulated disk (memory, 512 MiB): rotating, rpm {RPM}, write cache off, "
    assert storage in " ".join(ran.stdout.split())
    found = {(line["engine"]["id"], line["result"]["terminals"]): line for line in journal_lines(directory / "out")}
    assert len(found) == 2 * len(ENGINES)
    assert {one["calls"]["dropped"] for one in found.values()} == {0}
    return found


def durable(calls: dict[str, Any], log: str = "") -> int:
    """Calls that return when the disk has it: flushes, and writes to what is open for that."""
    count = 0
    for file in calls["files"]:
        if log in file["path"]:
            written_through = any("SYNC" in flags for flags in file["flags"])
            for call in file["calls"]:
                if call["call"] in ("fsync", "fdatasync") or (written_through and "write" in call["call"]):
                    count += call["count"]
    return count


@pytest.mark.every_engine
@pytest.mark.parametrize("engine", ENGINES)
def test_one_terminal_has_no_more_commits_than_the_disk_turns(
    recordings: dict[tuple[str, int], dict[str, Any]], engine: str
) -> None:
    one = recordings[engine, 1]
    committed, calls = one["result"]["counts"]["committed"], one["calls"]
    assert committed == calls["commits"] == COMMITS
    assert committed - 1 <= TURNS_PER_S * one["result"]["measured_s"]  # the first waits for less than a turn
    assert durable(calls) >= committed
    if log := LOGS.get(engine):
        assert committed <= durable(calls, log) <= TURNS_PER_S * calls["seconds"] + 1


@pytest.mark.every_engine
@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine.startswith(("postgresql", "mariadb"))])
def test_many_terminals_share_a_flush(recordings: dict[tuple[str, int], dict[str, Any]], engine: str) -> None:
    calls = recordings[engine, 16]["calls"]
    flushes = durable(calls, LOGS[engine])
    assert calls["commits"] == COMMITS >= 2 * flushes > 0
    assert flushes - 1 <= TURNS_PER_S * calls["seconds"]
    at_the_disk = sum(one["count"] for one in calls["storage"] if one["layer"] == "block" and one["what"] == "write")
    assert 0 < at_the_disk < COMMITS


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine.startswith(("sqlite", "firebird"))])
def test_an_engine_without_group_commit_makes_each_durable_by_itself(
    recordings: dict[tuple[str, int], dict[str, Any]], engine: str
) -> None:
    calls = recordings[engine, 16]["calls"]
    assert durable(calls) >= calls["commits"] == COMMITS


def test_the_audit_condemns_a_cache_that_lies_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "lie.toml"
    drives = [
        f'{{ name = "{name}", set = {{ "place.disk_faults" = "{fault}" }} }}'
        for name, fault in (("honest", ""), ("lying", "lie-about-flush"))
    ]
    file.write_text(
        'name = "lie"\nrepetitions = 3\ndurability = "drive"\n'
        f'[factors]\nengine = ["sqlite"]\ndrive = [{", ".join(drives)}]\n'
        "[workload.commits]\ncount = 60\n"
        # It turns slowly, so that a busy machine commits faster than that, where nothing waits for a turn.
        '[place]\nkind = "disk"\ndisk = "rotating"\ndisk_parameters = "rpm=1800"\ndisk_cache_mb = 32\n'
        'filesystem = "ext4"\n'
    )
    command = [ACIDTEST, "run", file, "--out", tmp_path / "out"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 1, ran.stderr + ran.stdout
    done = subprocess.run([ACIDTEST, "audit", tmp_path / "out", "--json"], capture_output=True, text=True, check=False)
    found = [
        finding["text"] for finding in json.loads(done.stdout)["findings"] if finding["rule"] == "faster-than-it-turns"
    ]
    assert [text.partition(":")[0] for text in found] == ["commits, lying"], found
