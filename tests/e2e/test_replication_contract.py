"""What every engine's replica must do, whatever its mode: give back after its promotion what it has shown before. And what
was looked at can be looked at again: the state file of a cut shows the same.

A new mode, or an engine with a replica, joins in one line.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from acidtest.engine.base import Ask
from acidtest.engine.catalogue import describe, replication_of
from acidtest.engine.replication import Seen
from acidtest.plan import Cell
from acidtest.powercut.load import Load
from acidtest.powercut.replay import replay
from acidtest.powercut.replicated import ReplicatedTrial
from blocks import loops_over_files_in, mounts_below
from replicas import EXPERIMENT
from support import command

REPLICAS = {
    "postgresql-15": ("asynchronous", "synchronous"),
    "mariadb-10.11": ("asynchronous", "semi-synchronous"),
    "mysql-9.7": ("asynchronous", "semi-synchronous"),
    "firebird-4.0-server": ("asynchronous", "synchronous"),
}
FAILURES = ("lost-disk", "both-powers", "lost-link", "cut")
# Failures alternate over the modes of each kind of replica, so that all of them come.
USUAL = {
    ("postgresql-15", "synchronous", "cut"),  # asynchronous: test_replication.py
    ("mariadb-10.11", "semi-synchronous", "both-powers"),
    ("mysql-9.7", "semi-synchronous", "lost-disk"),
    ("firebird-4.0-server", "asynchronous", "lost-link"),
}
ALL = [(server, mode, failure) for server, modes in REPLICAS.items() for mode, failure in product(modes, FAILURES)]
SHOWN_S = 60.0
TERMINALS = 2  # of EXPERIMENT


@pytest.mark.parametrize(
    ("server", "mode", "failure"),
    [pytest.param(*case, marks=() if case in USUAL else pytest.mark.long) for case in ALL],
)
def test_what_a_replica_has_shown_it_gives_back_when_it_is_promoted(
    server: str, mode: str, failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    shown: list[int] = []
    waits_for = replication_of(describe(server)).mode(describe(server), mode).waits_for
    loses = waits_for == "nothing" and failure in ("both-powers", "lost-link")
    _wait_until_it_shows(monkeypatch, shown, loses_last=loses and failure == "both-powers")
    if again := loses or failure == "cut":
        # A loss that nobody announces is not to be had of an engine that keeps its word: the state of any cut is kept.
        monkeypatch.setattr("acidtest.powercut.trial.is_unannounced", lambda judgement, by: True)
    file, out = tmp_path / "contract.toml", tmp_path / "out"
    file.write_text(EXPERIMENT.format(engine=server, mode=mode, failure=failure))
    code = command("powercut", file, "--out", out, "--json")
    printed = capsys.readouterr()
    assert code == 0, printed.out + printed.err  # what is lost is announced
    (cut,) = (cut["cut"] for cut in json.loads(printed.out)["cuts"])
    assert shown, "the replica showed nothing of the load"
    fate, verdict = cut["fate"], cut["verdict"]
    if failure == "lost-disk":
        assert fate["acknowledged"] - fate["lost"] >= shown[0] or fate["lost"] == 0
        assert waits_for == "nothing" or verdict == "survived"
    assert cut["replication"]["looked_on"] == ("primary" if failure == "cut" else "replica")
    assert verdict == "survived" or (waits_for != "drive" and failure != "cut")
    assert verdict == "lost" or not loses
    assert not cut["damage"]
    if again:
        shows_the_same(cut)
    assert mounts_below(out) == []
    assert loops_over_files_in(out) == []


def shows_the_same(cut: dict[str, Any]) -> None:
    """What was missing is missing again, and what was announced is announced again."""
    found = replay(Path(cut["state"]))
    assert found.judgement.verdict == cut["verdict"]
    assert found.fate is not None
    assert found.fate.model_dump() == cut["fate"]
    assert ("a commit does not wait for the replica" in found.announced) == (cut["verdict"] == "lost")


def _wait_until_it_shows(monkeypatch: pytest.MonkeyPatch, shown: list[int], *, loses_last: bool) -> None:
    """The failure comes when the replica shows commits of the load, and no earlier; with ``loses_last`` the link then
    carries nothing while more of them are acknowledged."""
    read_back, loaded = ReplicatedTrial.pair.fget, ReplicatedTrial.loaded
    assert read_back is not None
    loads: list[Load] = []

    def pair(trial: ReplicatedTrial) -> Any:
        made = read_back(trial)
        if "seen" not in vars(made):
            own = made.seen

            def seen(ask_primary: Ask, ask_replica: Ask, *, loaded: bool) -> Seen:
                end = time.monotonic() + SHOWN_S
                while loaded and not (rows := _commits(ask_replica)) and time.monotonic() < end:
                    time.sleep(0.1)
                if loaded and rows:
                    shown.append(rows)
                answer: Seen = own(ask_primary, ask_replica, loaded=loaded)
                if loaded and loses_last:
                    trial.link.down()
                    # Nobody has read the log since the load began to be waited for: what it holds by now, and the one
                    # commit of each terminal that is under way, may have reached the replica. Five more cannot.
                    acknowledged = loads[-1].acknowledged
                    acknowledged.drain()
                    loads[-1].await_count(len(acknowledged) + TERMINALS + 5)
                return answer

            monkeypatch.setattr(made, "seen", seen, raising=False)
        return made

    @contextmanager
    def noted(trial: ReplicatedTrial, cell: Cell) -> Iterator[Load]:
        with loaded(trial, cell) as load:
            loads.append(load)
            yield load

    monkeypatch.setattr(ReplicatedTrial, "pair", property(pair))
    monkeypatch.setattr(ReplicatedTrial, "loaded", noted)


def _commits(ask: Ask) -> int:
    return int(str(ask("select sum(seq) from numbered_counters")[0][0]).partition(".")[0])
