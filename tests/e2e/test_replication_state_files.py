"""State files of servers with a replica: the disk of the one that was looked at shows the same when it is looked at
again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acidtest.plan import Cell
from acidtest.powercut.load import Load
from acidtest.powercut.moment import Moment
from acidtest.powercut.replay import replay
from acidtest.powercut.replicated import ReplicatedTrial
from blocks import loops_over_files_in, mounts_below
from replicas import EXPERIMENT
from support import command

CASES = [
    ("postgresql-15", "synchronous", "cut"),
    ("postgresql-15", "asynchronous", "lost-link"),
    ("postgresql-15", "asynchronous", "both-powers"),
    ("mariadb-10.11", "asynchronous", "lost-link"),
    ("mariadb-10.11", "asynchronous", "both-powers"),
    ("mysql-9.7", "asynchronous", "both-powers"),
    ("firebird-4.0-server", "asynchronous", "lost-link"),
]


@pytest.mark.parametrize(("engine", "mode", "failure"), CASES)
def test_what_was_missing_is_missing_again(
    engine: str, mode: str, failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    # A loss that nobody announces is not to be had of an engine that keeps its word: one that was announced is taken.
    monkeypatch.setattr("acidtest.powercut.trial.is_unannounced", lambda judgement, by: True)
    if failure == "both-powers":
        _lose_what_comes_last(monkeypatch)
    file, out = tmp_path / "kept.toml", tmp_path / "out"
    file.write_text(EXPERIMENT.format(engine=engine, mode=mode, failure=failure))
    assert command("powercut", file, "--out", out, "--json") == 0
    (cut,) = json.loads(capsys.readouterr().out)["cuts"]
    verdict = "survived" if failure == "cut" else "lost"
    assert cut["cut"]["verdict"] == verdict
    assert cut["cut"]["state"], cut["warnings"]
    again = replay(Path(cut["cut"]["state"]))
    assert again.judgement.verdict == verdict
    assert again.fate is not None
    assert again.fate.model_dump() == cut["cut"]["fate"]
    assert ("a commit does not wait for the replica" in again.announced) == (verdict == "lost")
    assert mounts_below(out) == []
    assert loops_over_files_in(out) == []


def _lose_what_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits are acknowledged after the link carries nothing any more, and before the failure."""
    loaded = ReplicatedTrial.loaded

    @contextmanager
    def cut_off(trial: ReplicatedTrial, cell: Cell) -> Iterator[Load]:
        with loaded(trial, cell) as load:
            until = load.until

            def until_cut_off(moment: Moment) -> None:
                until(moment)
                trial.link.down()
                load.await_count(len(load.acknowledged) + 5)

            load.until = until_cut_off  # type: ignore[method-assign]
            yield load

    monkeypatch.setattr(ReplicatedTrial, "loaded", cut_off)
