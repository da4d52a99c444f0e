"""Whole runs on builds of the user's own: two levels of engine that differ in nothing but their files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from builds import brought, installed, sqlite_library
from support import journal_lines


def table(name: str, family: str, path: Path) -> str:
    return f'[engines.{name}]\nfamily = "{family}"\npath = "{path}"\n'


def test_two_libraries_of_sqlite_in_one_experiment(acidtest, tmp_path: Path) -> None:
    plain, other = sqlite_library(), sqlite_library("-DSQLITE_DEFAULT_CACHE_SIZE=-7777")
    file, out = tmp_path / "two.toml", tmp_path / "out"
    file.write_text(
        'name = "two"\nrepetitions = 2\ndurability = "drive"\nbase = { engine = "built-in" }\n'
        "[workload.tpcb]\ncount = 40\nterminals = 2\n"
        '[factors]\nengine = [{ name = "built-in", value = "sqlite" }, "master", { name = "patched", value = "patch" }]\n'
        "[settings.sqlite]\npage_size = 8192\n"
        f"{table('master', 'sqlite', plain)}{table('patch', 'sqlite', other)}"
    )
    acidtest("run", file, "--out", out, code=0)
    recordings = {r["levels"]["engine"]: r for r in journal_lines(out)}
    assert {r["status"] for r in recordings.values()} == {"done"}
    assert "build" not in recordings["built-in"]["engine"]
    builds = {level: r["engine"]["build"] for level, r in recordings.items() if level != "built-in"}
    assert builds["master"]["sha256"] != builds["patched"]["sha256"]
    assert builds["patched"]["file"] == recordings["patched"]["engine"]["source"] == str(other)
    assert "DEFAULT_CACHE_SIZE=-7777" in builds["patched"]["options"]
    # What the session itself answers shows that this library drove the load.
    cache = {
        level: next(s["in_force"] for s in r["settings"] if s["name"] == "cache_size_kb")
        for level, r in recordings.items()
    }
    assert cache == {"built-in": "2000", "master": "2000", "patched": "7777"}
    page = (out / "report.html").read_text()
    assert builds["patched"]["sha256"] in page
    acidtest("compare", out, out, code=0)

    # Another file under the same name, while cells are left, is another level and is refused.
    copied = tmp_path / "libsqlite3.so"
    shutil.copy(plain, copied)
    file.write_text(file.read_text().replace(str(plain), str(copied)))
    again = tmp_path / "again"
    assert acidtest("run", file, "--out", again).returncode == 0
    journal = again / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text(
        "".join(line for line in lines if '"cell":"tpcb/master/drive#2"' not in line.replace('": ', '":'))
    )
    assert len(journal_lines(again)) == 5
    shutil.copy(other, copied)
    refused = acidtest("run", file, "--out", again, code=2)
    assert f"engine master is {copied}" in refused.stderr.replace("\n", " ")
    assert "run the experiment into another directory" in refused.stderr
    shutil.copy(plain, copied)
    assert acidtest("run", file, "--out", again).returncode == 0
    assert len(journal_lines(again)) == 6


def test_two_installations_of_postgresql_in_one_experiment(acidtest, tmp_path: Path) -> None:
    paths = {"old": installed("postgresql-15")(), "new": brought("postgresql-17")()}
    file, out = tmp_path / "two.toml", tmp_path / "out"
    file.write_text(
        'name = "two"\nrepetitions = 1\n[workload.tpcb]\ncount = 40\nterminals = 2\n'
        '[factors]\nengine = ["old", "new"]\ndurability = ["os", "drive"]\n[settings.postgresql]\nshared_buffers_mb = 64\n'
        + "".join(table(name, "postgresql", path) for name, path in paths.items())
    )
    acidtest("run", file, "--out", out, code=0)
    recordings = {(r["levels"]["engine"], r["durability"]): r for r in journal_lines(out)}
    assert len(recordings) == 4
    for (name, _), recording in recordings.items():
        facts = recording["engine"]
        assert recording["status"] == "done", recording["reason"]
        assert facts["version"].startswith({"old": "15.", "new": "17."}[name])
        assert facts["build"]["series"] == {"old": "postgresql-15", "new": "postgresql-17"}[name]
        in_force = {s["name"]: s["in_force"] for s in recording["settings"]}
        assert in_force["shared_buffers_mb"] == "64"
        assert in_force["fsync"] == {"os": "false", "drive": "true"}[recording["durability"]]


@pytest.mark.long
def test_a_power_cut_under_builds(acidtest, tmp_path: Path) -> None:
    file, out = tmp_path / "cut.toml", tmp_path / "out"
    file.write_text(
        'name = "cut"\nrepetitions = 1\ndurability = "drive"\n[workload.numbered]\ncount = 40\n'
        '[factors]\nengine = ["patch", "mine"]\n[place]\nkind = "disk"\nfilesystem = "ext4"\n'
        f"{table('patch', 'sqlite', sqlite_library())}{table('mine', 'postgresql', brought('postgresql-17')())}"
    )
    acidtest("powercut", file, "--out", out, code=0)
    recordings = [json.loads(line) for line in (out / "cuts.jsonl").read_text().splitlines()[1:]]
    assert {recording["levels"]["engine"] for recording in recordings} == {"patch", "mine"}
    for recording in recordings:
        assert recording["cut"]["verdict"] == "survived", recording["cut"]
        assert recording["engine"]["build"]["sha256"]


def test_what_is_wrong_with_a_build_is_said_before_anything_is_made(acidtest, tmp_path: Path) -> None:
    cut_off = tmp_path / "libsqlite3.so"
    cut_off.write_bytes(sqlite_library().read_bytes()[:-5000])
    file, out = tmp_path / "bad.toml", tmp_path / "out"
    file.write_text(
        'name = "bad"\ndurability = "drive"\n[workload.commits]\ncount = 5\n[factors]\nengine = ["cut-off", "gone"]\n'
        f"{table('cut-off', 'sqlite', cut_off)}{table('gone', 'postgresql', tmp_path / 'gone')}"
    )
    for command in (("plan", file), ("run", file, "--out", out)):
        refused = acidtest(*command, code=2)
        assert (
            f"{file}: engines.cut-off.path: {cut_off} is damaged: 5,000 bytes at its end are missing" in refused.stderr
        )
        assert f"{file}: engines.gone.path: {tmp_path}/gone: there is no such path" in refused.stderr
        assert "build or unpack it again" in refused.stderr
    assert not out.exists()
    named = tmp_path / "named.toml"
    named.write_text(
        'name = "t"\nengine = "sqlite"\ndurability = "drive"\n[workload.commits]\ncount = 5\n'
        + table("sqlite", "sqlite", sqlite_library())
    )
    refused = acidtest("plan", named, code=2)
    assert "engines.sqlite: acidtest has an engine of this name" in refused.stderr
    unused = tmp_path / "unused.toml"
    unused.write_text(named.read_text().replace("[engines.sqlite]", "[engines.mine]"))
    refused = acidtest("plan", unused, code=2)
    assert "engines.mine: no level of engine names it" in refused.stderr


def test_a_build_is_added_used_by_its_name_and_removed(acidtest, tmp_path: Path) -> None:
    library = tmp_path / "libsqlite3.so"
    shutil.copy(sqlite_library(), library)
    home = {"ACIDTEST_HOME": str(tmp_path / "home")}
    added = acidtest("engines", "add", "patched", library, environment=home, code=0)
    assert added.stdout.startswith("added patched: SQLite 3.")
    listed = json.loads(acidtest("engines", "--json", environment=home).stdout)
    (one,) = [offer for offer in listed if offer["id"] == "patched"]
    assert (one["path"], one["architecture"], one["doubts"]) == (str(library), "x86-64", "")
    file = tmp_path / "kept.toml"
    file.write_text(
        'name = "kept"\nengine = "patched"\nrepetitions = 1\ndurability = "drive"\n[workload.commits]\ncount = 5\n'
    )
    shutil.copy(sqlite_library("-DSQLITE_DEFAULT_CACHE_SIZE=-7777"), library)
    ran = acidtest("run", file, "--out", tmp_path / "out", environment=home, code=0)
    assert f"patched: {library} is another one" in ran.stdout + ran.stderr
    (recording,) = journal_lines(tmp_path / "out")
    assert recording["levels"]["engine"] == "patched"
    assert [w["code"] for w in recording["warnings"]] == ["build"]
    assert "which is another one" not in acidtest("report", tmp_path / "out").stderr
    removed = acidtest("engines", "remove", "patched", environment=home)
    assert removed.stdout == "patched is kept no longer; its files stay\n"
    assert library.exists()
    gone = acidtest("plan", file, environment=home, code=2)
    assert 'engine "patched" is not known' in gone.stderr
