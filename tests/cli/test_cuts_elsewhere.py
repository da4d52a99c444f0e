"""What other commands say of power cuts: their plan, a comparison, and the question that init asks."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

import factory
from acidtest.cli import app, init_answers
from acidtest.cli.progress import _outcome_text
from acidtest.errors import BadInput
from acidtest.report import export

TEXT = """
name = "t"
repetitions = 1
engine = "sqlite"
durability = "drive"
[workload.{workload}]
count = 5
[place]
kind = "disk"
filesystem = "ext4"
{more}
"""


def planned(directory: Path, workload: str, more: str = "") -> str:
    (directory / "t.toml").write_text(TEXT.format(workload=workload, more=more))
    done = CliRunner().invoke(app, ["plan", str(directory / "t.toml")], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_plan_says_that_commits_are_not_counted(tmp_path: Path) -> None:
    note = "acidtest powercut leaves the commits of it uncounted: workload tpcb does not number transactions"
    for cuts in ('disk_keeps = "torn"', '[factors]\n"place.disk_failure" = ["cut", "failed-flush"]'):
        assert note in planned(tmp_path, "tpcb", cuts)
    assert "uncounted" not in planned(tmp_path, "numbered", 'disk_keeps = "torn"')


def test_the_plan_of_what_is_only_run_says_nothing_of_cuts(tmp_path: Path) -> None:
    assert "powercut" not in planned(tmp_path, "tpcb", 'disk = "rotating"\ndisk_faults = "lie-about-flush"')


@pytest.mark.parametrize("command", ["run", "trace", "search"])
def test_a_program_is_refused_with_what_to_do(command: str, tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(
        'name = "p"\n[program]\nname = "kv"\nload = "a"\ncheck = "b"\n[place]\nkind = "disk"\ndisk_keeps = "torn"\nfilesystem = "ext4"\n'
    )
    limit = ["--limit", "p99 < 1 s"] if command == "search" else []
    done = CliRunner().invoke(app, [command, str(file), "--out", str(tmp_path / "out"), *limit])
    assert isinstance(done.exception, BadInput)
    assert done.exception.message.startswith(f"{file}: [program] is for power cuts, and ")
    assert "\n" not in done.exception.message, "nothing that only follows from it"
    for way in (f"acidtest powercut {file} --out DIR", "acidtest disk create NAME", "acidtest disk status NAME"):
        assert way in done.exception.remedy


def test_the_plan_of_crash_states_has_their_time(tmp_path: Path) -> None:
    assert "about 10 min" in planned(tmp_path, "numbered", 'disk_failure = "crash-states"\ndisk_states_s = 600')


def test_power_cuts_are_not_compared(tmp_path: Path) -> None:
    (tmp_path / "cuts.jsonl").write_text("{}\n")
    done = CliRunner().invoke(app, ["compare", str(tmp_path), str(tmp_path)])
    assert done.exit_code != 0
    said = getattr(done.exception, "message", "")
    assert said == f"{tmp_path}: holds power cuts, which are not compared with those of another directory"


def test_progress_and_exports_do_not_call_it_survived_where_no_commit_was_looked_for() -> None:
    held = factory.recording(cut=factory.cut(fate=None))
    assert _outcome_text(held).startswith("conditions held in ")
    assert _outcome_text(factory.recording(cut=factory.cut())).startswith("survived, 0 of 50 commits lost")
    table = export.table(factory.journal([held]))
    assert table.column("verdict").to_pylist() == ["conditions held"]


def test_init_names_the_way_to_a_program_of_ones_own() -> None:
    asker = Mock()
    init_answers._ask_question(asker)
    said = {choice.word: choice.about for choice in asker.ask.call_args.kwargs["choices"]}
    assert "acidtest help docs/YOUR-PROGRAM.md" in said["power-cut"]
