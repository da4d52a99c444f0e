"""``acidtest trace`` and ``observe = true``, as a user meets them."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from support import journal_lines

alone = pytest.mark.alone  # no event may be lost, and the figures are of a machine that does nothing else


@alone
def test_each_combination_is_shown(acidtest, experiment, tmp_path: Path) -> None:
    ran = acidtest("trace", experiment(durability='["none", "drive"]', count=1000), "--transactions", 20, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    words = " ".join(ran.stdout.split())
    assert words.count("20 commits") == 2
    assert words.count("no event lost") == 2
    assert re.search(r"\b1\.\d\d f(data)?sync", words)
    assert "log" in words
    assert words.count("One commit like most") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"], "databases and recordings are gone"
    assert acidtest("clean").stdout.strip() == "Nothing was left behind."


def test_json_for_programs(acidtest, experiment, tmp_path: Path) -> None:
    file = experiment(engine='["sqlite", "firebird-5.0"]', count=20)
    ran = acidtest("trace", file, "--engine", "firebird-5.0", "--json", "--out", tmp_path / "out")
    assert ran.returncode == 0, ran.stderr + ran.stdout
    told = json.loads(ran.stdout)
    (cell,) = told["cells"]
    assert cell["engine"]["id"] == "firebird-5.0"
    assert cell["calls"]["commits"] == 20
    assert any(
        one["role"] == "database" and any("SYNC" in flags for flags in one["flags"]) for one in cell["calls"]["files"]
    )
    assert (tmp_path / "out" / "journal.jsonl").exists()


@pytest.mark.parametrize("engine", ["firebird-3.0", "firebird-5.0", "firebird-4.0-server"])
def test_a_firebird_tells_of_each_statement(acidtest, tmp_path: Path, engine: str) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        f'name = "t"\nrepetitions = 1\nengine = "{engine}"\ndurability = "drive"\n[workload.commits]\ncount = 30\n'
    )
    ran = acidtest("trace", file, "--out", tmp_path / "out")
    assert "Statements by Firebird's trace API: 90 events, none lost." in " ".join(ran.stdout.split()), ran.stdout
    (recording,) = journal_lines(tmp_path / "out")
    traced = recording["traced_statements"]
    assert (traced["not_traced"], traced["commits"], traced["committed"]) == (None, 30, 30)
    by_kind = {one["kind"]: one for one in traced["statements"]}
    assert set(by_kind) == {"", "commit", "start of a transaction"}
    assert by_kind[""]["text"].startswith("insert into")
    assert (by_kind[""]["count"], by_kind[""]["record_inserts"]) == (30, 30)
    # With forced writes the pages are written by the commit, and the engine's counters tell the same.
    assert by_kind["commit"]["writes"] >= 30
    assert by_kind["commit"]["writes"] > by_kind[""]["writes"]
    (page_writes,) = [one for one in recording["engine_counts"]["counters"] if one["name"] == "page_writes"]
    assert sum(one["writes"] for one in traced["statements"]) <= page_writes["sessions"]
    assert acidtest("report", tmp_path / "out").returncode == 0
    assert "its statements, as the engine traced them" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [(["--engine", "sqlit"], '--engine "sqlit" is not known (did you mean "sqlite"?)'), (["--cell", "x"], '--cell "x" is not known')],
)  # fmt: skip
def test_what_is_not_in_the_experiment(acidtest, experiment, options: list[str], words: str) -> None:
    ran = acidtest("trace", experiment(), *options)
    assert ran.returncode == 2
    assert words in ran.stderr
    assert len(ran.stderr.strip().splitlines()) <= 2


@alone
def test_a_run_may_be_watched_and_says_so(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "watched.toml"
    file.write_text(
        'name = "watched"\nrepetitions = 1\nengine = "sqlite"\ndurability = "drive"\n[factors]\nobserve = [false, true]\n'
        "[workload.commits]\ncount = 50\n"
    )
    ran = acidtest("run", file, "--out", tmp_path / "out")
    assert ran.returncode == 0, ran.stderr + ran.stdout
    bare, watched = sorted(journal_lines(tmp_path / "out"), key=lambda one: one["calls"] is not None)
    assert bare["calls"] is None
    assert not [warning for warning in bare["warnings"] if warning["code"] == "observed"]
    assert watched["calls"]["per_commit"]["flushes"]["median"] == 1
    assert watched["workload"]["observe"] is True
    assert [warning["about"] for warning in watched["warnings"] if warning["code"] == "observed"] == ["goodput_per_s"]


def test_a_server_of_the_users_own_cannot_be_watched(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'name = "mine"\nrepetitions = 1\nengine = "mine"\ndurability = "drive"\n[workload.commits]\ncount = 5\n'
        '[servers.mine]\nurl = "postgresql://me@127.0.0.1:1/test"\n'
    )
    ran = acidtest("trace", file)
    assert ran.returncode == 2
    assert "observe is for engines" in ran.stderr


@alone
def test_on_a_simulated_disk_a_commit_is_seen_in_every_layer(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "layers.toml"
    file.write_text(
        'name = "layers"\nrepetitions = 1\nengine = "sqlite"\ndurability = "drive"\n'
        '[place]\nkind = "disk"\nfilesystem = "ext4"\ndisk_cache_mb = 16\nsize_mb = 512\n'
        "[workload.commits]\ncount = 40\n"
    )
    ran = acidtest("trace", file, "--json", "--out", tmp_path / "out")
    assert ran.returncode == 0, ran.stderr + ran.stdout
    (cell,) = json.loads(ran.stdout)["cells"]
    lines = cell["calls"]["typical"]["lines"]
    assert {line["layer"] for line in lines} >= {"call", "block", "device"}, lines

    def after(at_us: float, layer: str, what: str) -> float:  # the file system may write for itself meanwhile
        found = [line["at_us"] for line in lines if (line["layer"], line["what"].split()[0]) == (layer, what)]
        return float(min((at for at in found if at > at_us), default=math.inf))

    written = after(after(0, "call", "pwrite64"), "device", "write")
    assert after(written, "device", "flush") <= cell["calls"]["typical"]["lasted_us"], lines


@alone
@pytest.mark.parametrize(("filesystem", "commits"), [("ext4", "jbd2 commit"), ("xfs", "xfs log force")])
def test_the_file_systems_own_commits_are_seen(acidtest, tmp_path: Path, filesystem: str, commits: str) -> None:
    file = tmp_path / "beneath.toml"
    file.write_text(
        f'name = "beneath"\nrepetitions = 1\nengine = "sqlite"\ndurability = "drive"\n'
        f'[place]\nkind = "loop"\nfilesystem = "{filesystem}"\n[workload.commits]\ncount = 40\n'
    )
    ran = acidtest("trace", file, "--json", "--out", tmp_path / "out")
    assert ran.returncode == 0, ran.stderr + ran.stdout
    (cell,) = json.loads(ran.stdout)["cells"]
    seen = {one["what"]: one["count"] for one in cell["calls"]["storage"]}
    # The log grows with each commit, and with it the file: its size has to be made durable too.
    assert seen[commits] >= 40
    assert seen["flush"] >= 40, "a flush of the block layer has another place when it is done than when it is issued"
    assert {line["layer"] for line in cell["calls"]["typical"]["lines"]} == {"call", "file_system", "block"}
    assert cell["calls"]["dropped"] == 0
