"""Backup, restore, nbackup and sweep as an administrator asks for them, embedded and on a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import journal_lines

HEAD = 'name = "maintenance"\nrepetitions = 1\ndurability = "os"\n'
LEVELS = """
operation = [
    { name = "backup", set = { operation = "backup", flush = false } },
    { name = "restore", set = { operation = "restore", page_size = 4096 } },
    { name = "level 1", set = { operation = "incremental_backup", level = 1 } },
    { name = "sweep", set = { operation = "sweep" } },
]
"""


@pytest.mark.one_of_a_family
@pytest.mark.parametrize("engine", ["firebird-5.0", "firebird-4.0-server"])
def test_every_operation_is_timed_verified_and_shown(acidtest, tmp_path: Path, engine: str) -> None:
    """Also where the results have a long path, of which a server's services take no more than a part."""
    file, out = tmp_path / "maintenance.toml", tmp_path / "out"
    file.write_text(f'{HEAD}engine = "{engine}"\n[factors]{LEVELS}[workload.maintenance]\nscale = 1\n')
    ran = acidtest("run", file, "--out", out, code=0)
    found = {line["levels"]["operation"]: line for line in journal_lines(out)}
    assert {one["status"] for one in found.values()} == {"done"}, found
    assert all(c["holds"] for one in found.values() for c in one["checks_after"]["conditions"])
    backup, restore, level_1, sweep = (found[name]["maintenance"] for name in ("backup", "restore", "level 1", "sweep"))
    assert backup["operations"][0]["flush_s"] is None
    assert [warning["code"] for warning in found["backup"]["warnings"]].count("not-flushed") == 1
    assert restore["operations"][0]["database_bytes"] % 4096 == 0
    assert level_1["operations"][0]["backup_bytes"] < level_1["operations"][0]["database_bytes"]
    assert sweep["before"]["versions"] > sweep["after"]["versions"] == 0
    assert "operations/s" in ran.stdout
    assert "s each" in ran.stdout
    assert "Validation" not in ran.stdout  # its own checks are no news of the engine's log
    page = (out / "report.html").read_text()
    assert "flush s" in page
    rows = json.loads(acidtest("report", out, "--json").stdout)["rows"]
    shown = {row["levels"]["operation"]: row["operations"] for row in rows}
    assert shown["sweep"]["after"]["versions"] == 0
    assert shown["restore"]["seconds"] > 0
    assert not list(out.rglob("*.fbk"))  # what was made is gone with its cell


def test_what_cannot_be_done_is_refused_before_anything_is_made(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "maintenance.toml"
    table = "[workload.maintenance]\ncompress = true\n"
    file.write_text(f'{HEAD}[factors]\nengine = ["firebird-3.0", "postgresql-17"]\n{table}')
    ran = acidtest("run", file, "--out", tmp_path / "out", code=2)
    assert "firebird-3.0: gbak compresses from 4.0 on" in ran.stderr
    assert "postgresql-17: has no services that back up, restore and sweep" in ran.stderr
    assert not (tmp_path / "out").exists()


def test_an_administrators_work_cannot_be_watched(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "maintenance.toml"
    file.write_text(f'{HEAD}engine = "firebird-5.0"\n[workload.maintenance]\n')
    ran = acidtest("trace", file, code=2)
    assert "workload.maintenance cannot be watched" in ran.stderr
