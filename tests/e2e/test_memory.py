"""Memory limits, cold and warm starts and access hints in whole runs on real engines."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, TextIO

import pytest

from acidtest.files import state_directory
from support import ACIDTEST, journal_lines

MIB = 1 << 20
OF_POSTGRESQL = "[settings.postgresql]\nshared_buffers_mb = 8\n"
OF_FIREBIRD = "[settings.firebird]\npage_buffers = 512\n"
TPCB = "[workload.tpcb]\nscale = 2\nduration_s = 1.5\n"


def by_levels(out: Path, *factors: str) -> dict[tuple[str, ...], dict[str, Any]]:
    return {tuple(r["levels"][factor] for factor in factors): r for r in journal_lines(out)}


class Lab:
    """A run with a state directory of its own, whose ledgers stay open here: they can be read when they are removed."""

    def __init__(self, file: Path, out: Path) -> None:
        home = file.parent / "home"
        home.mkdir()
        (home / "engines").symlink_to(state_directory() / "engines")
        self.environment = {"ACIDTEST_HOME": str(home)}
        self.process = subprocess.Popen(
            [ACIDTEST, "run", file, "--out", out],
            env={**os.environ, "COLUMNS": "120", **self.environment},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self._ledgers: dict[Path, TextIO] = {}
        self._opening = threading.Thread(target=self._open, args=[home / "ledger"])
        self._opening.start()

    def _open(self, ledgers: Path) -> None:
        while self.process.poll() is None:
            for path in ledgers.glob("*.jsonl"):
                if path not in self._ledgers:
                    with contextlib.suppress(FileNotFoundError):  # removed just now
                        self._ledgers[path] = path.open()
            time.sleep(0.02)

    def ended(self) -> str:
        """What it printed."""
        printed = self.process.communicate(timeout=800)[0]
        self._opening.join()
        return printed

    def groups(self) -> list[Path]:
        """The control groups that it wrote into its ledgers so far."""
        found = []
        for ledger in list(self._ledgers.values()):
            ledger.seek(0)
            entries = [json.loads(line) for line in ledger.readlines() if line.endswith("\n")]
            found += [Path(entry["path"]) for entry in entries if entry.get("kind") == "cgroup"]
        return found

    def left(self) -> list[Path]:
        """Those of them that are still there. There were some."""
        assert self.groups()
        return [group for group in self.groups() if group.exists()]


@pytest.mark.parametrize(
    ("engines", "small_caches"),
    [
        (["sqlite", "postgresql-15"], OF_POSTGRESQL),
        pytest.param(["firebird-5.0"], OF_FIREBIRD, marks=pytest.mark.long),
    ],
    ids=["sqlite postgresql", "firebird"],
)
def test_a_memory_limit_is_a_factor_on_embedded_engines_and_servers(
    acidtest, tmp_path: Path, engines: list[str], small_caches: str
) -> None:
    file = tmp_path / "memory.toml"
    file.write_text(
        'name = "memory"\nrepetitions = 1\ndurability = "os"\n[factors]\n'
        f'engine = {json.dumps(engines)}\n"place.memory_mb" = [64, 300]\n'
        + small_caches
        + "[workload.tpcb]\nscale = 7\nduration_s = 4\nthink_ms = 5\n"  # sampling PostgreSQL's many files waits up to 2 s for its share
    )
    lab = Lab(file, tmp_path / "out")
    printed = lab.ended()
    assert lab.process.returncode == 0, printed
    assert "Memory limit" in printed
    found = by_levels(tmp_path / "out", "engine", "place.memory_mb")
    assert len(found) == 2 * len(engines)
    for (engine, limit), recording in found.items():
        memory = recording["memory"]
        assert recording["status"] == "done", recording["reason"]
        assert memory["limit_bytes"] == int(limit) * MIB
        # Charges that must not fail pass the limit by some pages.
        assert memory["peak_bytes"] < int(limit) * MIB + MIB // 2
        assert (memory["start"], memory["resident_bytes_at_start"], memory["killed"]) == ("cold", 0, 0)
        assert recording["checks_before"]["conditions"]
        assert all(c["holds"] for c in recording["checks_after"]["conditions"])
        assert memory["cache_bytes"]
        last = memory["samples"][-1]
        assert last["usage_bytes"] < int(limit) * MIB + MIB // 2
        assert 0 < last["resident_bytes"] <= last["file_bytes"] + MIB
        assert last["read_calls"] > 0, engine
        assert last["at_s"] <= recording["result"]["measured_s"] + 0.001
        in_force = {s["name"]: s["in_force"] for s in recording["settings"]}
        assert in_force["place.memory_mb"] == limit
    for engine in engines:
        small, large = found[engine, "64"], found[engine, "300"]
        assert 64 * MIB < small["database_bytes"] < 300 * MIB, engine
        assert small["memory"]["samples"][-1]["resident_bytes"] < 64 * MIB
        assert small["memory"]["peak_bytes"] < large["memory"]["peak_bytes"]
    assert lab.left() == []


def test_a_limit_that_kills_the_engine_makes_the_cell_invalid(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "killed.toml"
    file.write_text(
        'name = "killed"\nrepetitions = 1\ndurability = "os"\nengine = "postgresql-15"\n[place]\nmemory_mb = 16\n'
        "[settings.postgresql]\nshared_buffers_mb = 256\n" + TPCB
    )
    lab = Lab(file, tmp_path / "out")
    printed = lab.ended()
    assert lab.process.returncode == 1, printed
    (recording,) = journal_lines(tmp_path / "out")
    assert recording["status"] == "invalid"
    assert "place.memory_mb = 16: the kernel killed" in recording["reason"]
    assert lab.left() == []


def test_a_killed_run_leaves_no_group_and_nothing_in_one(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(
        'name = "long"\nrepetitions = 1\ndurability = "os"\nengine = "postgresql-15"\n[place]\nmemory_mb = 256\n'
        "[workload.tpcb]\nduration_s = 300\n"
    )
    lab = Lab(file, tmp_path / "out")
    pids: list[str] = []
    end = time.monotonic() + 120
    while len(pids) < 3 and time.monotonic() < end:  # the server and some of its processes
        time.sleep(0.1)
        for group in lab.groups():
            with contextlib.suppress(FileNotFoundError):  # written down before it is made
                pids = (group / "cgroup.procs").read_text().split()
    lab.process.kill()
    lab.process.wait()
    assert len(pids) >= 3
    cleaned = acidtest("clean", environment=lab.environment)
    assert lab.left() == []
    assert f"removed control group {lab.groups()[-1]}" in cleaned.stdout
    assert not [pid for pid in pids if Path(f"/proc/{pid}/exe").exists()]  # a zombie has none
    assert list((tmp_path / "out").iterdir()) == [tmp_path / "out" / "journal.jsonl"]


@pytest.mark.parametrize(
    "starts",
    [
        ["as-left", "cold", "warm"],
        pytest.param(["cold-machine"], marks=pytest.mark.alone),
    ],  # which empties others' caches
    ids=["of its files", "of the machine"],
)
def test_a_cold_start_and_a_warm_one_are_what_they_say(acidtest, tmp_path: Path, starts: list[str]) -> None:
    file = tmp_path / "start.toml"
    file.write_text(
        'name = "start"\nrepetitions = 1\ndurability = "os"\n[factors]\nengine = ["sqlite", "postgresql-15"]\n'
        f'"place.start" = {json.dumps(starts)}\n' + TPCB
    )
    acidtest("run", file, "--out", tmp_path / "out", code=0)
    found = by_levels(tmp_path / "out", "engine", "place.start")
    assert {start for _, start in found} == set(starts)
    for (_, start), recording in found.items():
        memory = recording["memory"]
        assert recording["status"] == "done", recording["reason"]
        if start == "as-left":
            assert memory is None
            continue
        assert memory["start"] == start
        share = memory["resident_bytes_at_start"] / recording["database_bytes"]
        assert share > 0.99 if start == "warm" else share < 0.01
        assert memory["limit_bytes"] is None
        assert memory["samples"]


def test_a_hint_reaches_the_open_files_of_every_kind_of_engine(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "access.toml"
    file.write_text(
        'name = "access"\nrepetitions = 1\ndurability = "os"\n[factors]\n'
        'engine = ["sqlite", "firebird-3.0-server", "firebird-5.0", "postgresql-15", "mariadb-10.11"]\n'
        '"place.access" = ["normal", "random"]\n[place]\nstart = "cold"\n'
        '[[exclude]]\nengine = ["firebird-5.0", "mariadb-10.11"]\n"place.access" = "random"\n'
        '[[exclude]]\nengine = ["firebird-3.0-server", "postgresql-15"]\n"place.access" = "normal"\n'
        + OF_POSTGRESQL
        + OF_FIREBIRD
        + "[workload.tpcb]\nduration_s = 2\nthink_ms = 20\n"
    )
    acidtest("run", file, "--out", tmp_path / "out", code=0)
    found = by_levels(tmp_path / "out", "engine", "place.access")
    assert len(found) == 6
    for (engine, access), recording in found.items():
        assert recording["status"] == "done", recording["reason"]
        assert recording["memory"]["access"] == access
        assert recording["memory"]["hinted_descriptors"] > 0, engine


def test_the_memory_of_a_server_by_url_cannot_be_asked_for(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "url.toml"
    file.write_text(
        'name = "url"\nengine = "theirs"\ndurability = "os"\n[place]\nmemory_mb = 64\n'
        '[servers.theirs]\nurl = "postgresql://me@127.0.0.1:1/db"\n' + TPCB
    )
    ran = acidtest("run", file, "--out", tmp_path / "out", code=2)
    assert "place.memory_mb: a server by URL" in ran.stderr
    file.write_text(
        file.read_text()
        .replace('engine = "theirs"', '[factors]\nengine = ["theirs", "sqlite"]\n')
        .replace('durability = "os"\n', "")
        .replace("[factors]", 'durability = "os"\n[factors]')
    )
    beside = acidtest("run", file, "--out", tmp_path / "out", code=2)
    assert "theirs: place.memory_mb is for engines that acidtest starts" in beside.stderr


def test_swap_that_the_machine_lacks_is_refused_before_anything_is_made(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "swap.toml"
    file.write_text(
        'name = "swap"\nengine = "sqlite"\ndurability = "os"\n[place]\nmemory_mb = 64\n[factors]\n'
        '"place.swap_mb" = [0, 16777216]\n[workload.tpcb]\nduration_s = 1\n'
    )
    ran = acidtest("run", file, "--out", tmp_path / "out", code=4)
    assert ran.stderr.startswith("acidtest: place.swap_mb = 16777216: this machine has ")
    assert len(ran.stderr.strip().splitlines()) == 2
    assert not (tmp_path / "out").exists()
    assert acidtest("plan", file).returncode == 0  # another machine may have it


def test_swap_without_a_limit_is_refused(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "swap.toml"
    file.write_text(
        'name = "swap"\nengine = "sqlite"\ndurability = "os"\n[place]\nswap_mb = 16\n[workload.tpcb]\nduration_s = 1\n'
    )
    ran = acidtest("plan", file, code=2)
    assert "place.swap_mb" in ran.stderr
    assert "memory_mb" in ran.stderr
