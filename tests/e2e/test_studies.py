"""make studies STUDY=…: experiments are run as a user runs them, and what they recorded is kept."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
from studies.study import Experiment

from studies import measuring, recordings

TINY = """
name = "tiny"
title = "Commits"
question = "How many?"
engine = "sqlite"
durability = "drive"
repetitions = 2
[workload.commits]
count = 20
terminals = 1
[waive]
too-few-repetitions = "a test"
"""


def test_an_experiment_is_run_kept_and_not_run_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "KEPT", tmp_path / "kept")
    (tmp_path / "tiny.toml").write_text(TINY)
    experiments = {"tiny": Experiment(file=str(tmp_path / "tiny.toml"))}
    out = tmp_path / "out"
    assert measuring.measure("a-study", experiments, out) == 0
    first = recordings.kept("a-study", "tiny")
    assert first is not None
    assert [recording.status for recording in first.recordings] == ["done", "done"]
    assert all(recording.place.path.startswith("OUT/") for recording in first.recordings)
    before = (out / "tiny" / "journal.jsonl").read_bytes()
    assert measuring.measure("a-study", experiments, out) == 0
    assert (out / "tiny" / "journal.jsonl").read_bytes() == before


def test_an_experiment_that_cannot_begin_ends_it_and_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "KEPT", tmp_path / "kept")
    experiments = {"none": Experiment(file=str(tmp_path / "not-there.toml"))}
    assert measuring.measure("a-study", experiments, tmp_path / "out") == 2
    assert recordings.kept("a-study", "none") is None


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["measure", "linux-files"], 'study "linux-files" is not known (did you mean "linux-file-systems"?)'),
        (["measure", "innodb-commit", "--only", "commits"], 'innodb-commit: experiment "commits" is not known'),
        (["keep", "innodb-commit", "commit-study", "/nowhere"], "/nowhere"),
    ],
    ids=["study", "experiment", "directory"],
)
def test_what_is_not_there_is_told_in_a_line_or_two(
    asked: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["studies", *asked])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("studies", run_name="__main__")
    assert ended.value.code == 2
    assert said in "".join(capsys.readouterr())
