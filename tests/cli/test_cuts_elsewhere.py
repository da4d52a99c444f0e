"""What other commands say of power cuts: their plan, a comparison, and the question that init asks."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

from typer.testing import CliRunner

import factory
from acidtest.cli import app, init_answers
from acidtest.cli.run import _outcome_text
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
    assert note in planned(tmp_path, "tpcb")
    assert "uncounted" not in planned(tmp_path, "numbered")


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
