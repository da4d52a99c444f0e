"""Whatever dies, at whatever moment: the same command goes on, every cell counts once, and nothing is left."""

from __future__ import annotations

import errno
import re
from collections import deque
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest
from fleet_at_hand import DEATHS, Death, Died, Hands, worker_dies, worker_dies_with_its_answer
from fleet_commands import cells, each_once

from acidtest.cli import fleets, planning
from acidtest.errors import AcidtestError, BadInput
from acidtest.experiment import Experiment
from acidtest.fleet import lab
from acidtest.fleet.conduct import FleetRun, WorkingHost
from acidtest.journal import reader
from factory import journal, recording

CELLS = 6
ASKED = 12  # of the labs, by a run in which nothing happens
EXPERIMENT = """
name = "moments"
repetitions = 3
engine = "sqlite"
durability = "os"
[workload.commits]
count = 5
"""


def run(tmp_path: Path) -> list[str]:
    """What the watcher of one run is told."""
    watcher, file = Mock(), tmp_path / "e.toml"
    file.write_text(EXPERIMENT)
    with fleets.opened(tmp_path / "fleet.toml") as machines:
        planned = planning.planned(file, quick=False, cuts=False, part=machines.part(Experiment.to_run))
        machines.run(planned, file, tmp_path / "out", watcher, retry_failed=False)
    return [line for told in watcher.doubts.call_args_list for line in told.args[0]]


@pytest.mark.covering
@pytest.mark.parametrize("happens", DEATHS)
@pytest.mark.parametrize("moment", range(1, ASKED + 1))
def test_whatever_dies_the_same_command_goes_on(tmp_path: Path, hands: Hands, happens: Death, moment: int) -> None:
    hands.fleet(tmp_path / "fleet.toml")
    hands.happens[moment] = happens
    for _ in range(3):
        with suppress(AcidtestError, Died, KeyboardInterrupt):
            run(tmp_path)
            break
    else:
        pytest.fail(f"it did not come to an end: {hands.asked}")
    assert not hands.happens
    each_once(tmp_path / "out", CELLS)
    if moment > ASKED - len(hands.machines):  # who dies while it is told to end is told again by the same command
        run(tmp_path)
    assert not [one for machine in hands.machines for one in machine.left()]


def test_a_host_that_does_not_come_back_is_given_up_and_the_others_go_on(tmp_path: Path, hands: Hands) -> None:
    hands.fleet(tmp_path / "fleet.toml")
    hands.machines[0].comes_back = False
    hands.happens[5] = worker_dies
    with pytest.raises(AcidtestError) as error:
        run(tmp_path)
    assert error.value.message == "one: was gone for 1 s"
    assert "run the same command again: it goes on" in error.value.remedy
    assert sum(cells(tmp_path / "out").values()) == CELLS // 2
    assert not hands.machines[1].left()
    hands.machines[0].comes_back = True
    assert run(tmp_path) == []
    each_once(tmp_path / "out", CELLS)
    assert not [one for machine in hands.machines for one in machine.left()]


def test_a_host_that_comes_back_is_told_of_once_and_what_it_had_measured_is_taken_from_there(
    tmp_path: Path, hands: Hands
) -> None:
    hands.fleet(tmp_path / "fleet.toml")
    hands.happens[7] = worker_dies_with_its_answer
    told = [line for line in run(tmp_path) if "waiting for the lab that was at work there" not in line]
    assert told == [
        "one: is gone; waiting up to 1 s for it to come back, then what it had in hand is run again",
        "one: 1 cell that it had measured taken from there",
    ]
    each_once(tmp_path / "out", CELLS)


def test_an_engine_that_was_upgraded_since_is_refused(tmp_path: Path, hands: Hands) -> None:
    hands.fleet(tmp_path / "fleet.toml")
    run(tmp_path)
    file = tmp_path / "out" / reader.NAME
    *lines, _ = file.read_text().splitlines()
    file.write_text("\n".join(re.sub('(?<="id":"sqlite","version":")[^"]+', "3.1.0", line) for line in lines) + "\n")
    with pytest.raises(BadInput, match=r"engine sqlite is 3\.\d+\.\d+ .* were measured with 3\.1\.0 "):
        run(tmp_path)


def test_recordings_that_no_journal_has_stay(tmp_path: Path) -> None:
    runs = {}
    for name, acknowledged in (("had", True), ("not-had", False)):
        runs[name] = run = tmp_path / f"{lab.PREFIX}{name}"
        run.mkdir()
        one = recording()
        lines = [journal([one]).header.model_dump_json(), one.model_dump_json(by_alias=True)]
        (run / reader.NAME).write_text("\n".join(lines) + "\n")
        if acknowledged:
            lab.Lab()._acknowledge(run, [one.cell])
    answer = lab.Lab().clean({"directory": str(tmp_path), "dry_run": False})
    assert [run.exists() for run in runs.values()] == [False, True]
    assert answer["kept"] == [f"{runs['not-had']}: 1 recording that no journal has"]


def test_what_a_host_had_in_hand_is_the_next_item_again() -> None:
    second, third = [Mock()], [Mock()]
    worker = WorkingHost(Mock(), Mock(), deque([third]), left=second, began=True)
    worker.give_back()
    worker.give_back()  # it had nothing in hand any more
    assert (list(worker.queue), worker.is_done, worker.admitted, worker.began) == ([second, third], False, False, False)


def test_a_host_is_told_of_no_recording_that_could_not_be_written() -> None:
    worker = WorkingHost(Mock(), Mock(), deque())
    run = Mock(_write=Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
    line = recording().model_dump_json(by_alias=True)
    with pytest.raises(OSError, match="No space left"):
        FleetRun._stepped(run, worker, {"files": {}, "recordings": [line], "cell": "cell"})
    assert worker.unheard == []


@pytest.mark.parametrize("name", ["../beside", "link/beside", "/tmp/beside"])
def test_a_host_writes_nothing_outside_of_the_directory_of_the_run(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "link").symlink_to(tmp_path)
    with pytest.raises(AcidtestError, match="a host sent a file that does not belong into"):
        FleetRun._keep(Mock(_task=Mock(output=Mock(directory=out))), name, b"")


def test_a_pool_spreads_repetitions(tmp_path: Path, hands: Hands) -> None:
    hands.fleet(tmp_path / "fleet.toml", 'spread = "pool"')
    run(tmp_path)
    journal = reader.read(tmp_path / "out" / "journal.jsonl")
    assert len(journal.recordings) == CELLS // 2
    assert "host" not in journal.header.factors
    assert {recording.host for recording in journal.recordings} == {"one", "two"}
