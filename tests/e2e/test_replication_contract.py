"""What every engine's replica must do, whatever its mode: give back after its promotion what it has shown before.

A new mode, or an engine with a replica, joins in one line.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from acidtest.engine.base import Ask
from acidtest.engine.catalogue import describe, replication_of
from acidtest.engine.replication import Seen
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
ALL = [(engine, mode) for engine, modes in REPLICAS.items() for mode in modes]
SHOWN_S = 60.0


@pytest.mark.parametrize(("engine", "mode"), ALL)
@pytest.mark.parametrize("failure", ["lost-disk", "both-powers"])
def test_what_a_replica_has_shown_it_gives_back_when_it_is_promoted(
    engine: str, mode: str, failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    shown: list[int] = []
    _wait_until_it_shows(monkeypatch, shown)
    file, out = tmp_path / "contract.toml", tmp_path / "out"
    file.write_text(EXPERIMENT.format(engine=engine, mode=mode, failure=failure))
    code = command("powercut", file, "--out", out, "--json")
    told = json.loads(capsys.readouterr().out)
    (cut,) = told["cuts"]
    assert code == 0, cut  # what is lost is announced
    assert shown, "the replica showed nothing of the load"
    fate = cut["cut"]["fate"]
    waits_for = replication_of(describe(engine)).mode(describe(engine), mode).waits_for
    if failure == "lost-disk":
        assert fate["acknowledged"] - fate["lost"] >= shown[0] or fate["lost"] == 0
        assert waits_for == "nothing" or cut["cut"]["verdict"] == "survived"
    assert cut["cut"]["replication"]["looked_on"] == "replica"
    assert waits_for != "drive" or cut["cut"]["verdict"] == "survived"
    assert not cut["cut"]["damage"]
    assert mounts_below(out) == []
    assert loops_over_files_in(out) == []


def _wait_until_it_shows(monkeypatch: pytest.MonkeyPatch, shown: list[int]) -> None:
    """The failure comes when the replica shows commits of the load, and no earlier."""
    read_back = ReplicatedTrial.pair.fget
    assert read_back is not None

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
                return answer

            monkeypatch.setattr(made, "seen", seen, raising=False)
        return made

    monkeypatch.setattr(ReplicatedTrial, "pair", property(pair))


def _commits(ask: Ask) -> int:
    return int(str(ask("select sum(seq) from numbered_counters")[0][0]).partition(".")[0])
