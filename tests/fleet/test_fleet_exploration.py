"""Power cuts and crash states over workers of a fleet: one list, whatever dies, and what lost comes home."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fleet_at_hand import DEATHS, Death, Died, Hands

from acidtest.files import find_rig
from acidtest.journal import reader
from blocks import loops_over_files_in
from support import ACIDTEST, command

PLANTED = Path(__file__).parents[1] / "powercut" / "planted_rig.py"
EXPERIMENT = """
name = "explored"
repetitions = {cuts}
engine = "sqlite"
durability = "{level}"
[workload.numbered]
terminals = 3
count = 40
[place]
kind = "disk"
filesystem = "ext4"
size_mb = 64
{place}
"""
STATES = 'disk_failure = "crash-states"\ndisk_states = {}'


def written(directory: Path, place: str, *, level: str = "drive", cuts: int = 1) -> Path:
    file = directory / "e.toml"
    file.write_text(EXPERIMENT.format(place=place, level=level, cuts=cuts))
    return file


def lines_of(out: Path) -> list[Any]:
    return list(reader.explored(out / reader.CUTS))


def states_of(out: Path) -> list[tuple[str, str, int]]:
    return [(line.load, image, demanded) for line in lines_of(out) for image, demanded, *_ in line.states]


# ---------------------------------------------------------------------------------- hosts at hand


class AtHand:
    """An experiment over hosts in this process."""

    def __init__(self, directory: Path, hands: Hands, capsys: pytest.CaptureFixture[str], spread: str = "pool") -> None:
        self.out, self.hands = directory / "out", hands
        self._file, self._capsys = directory / "e.toml", capsys
        self._fleet = hands.fleet(directory / "fleet.toml", f'spread = "{spread}"')

    def ended(self) -> tuple[int, dict[str, Any]]:
        code = command("powercut", self._file, "--fleet", self._fleet, "--out", self.out, "--json")
        told, _ = self._capsys.readouterr()
        return code, json.loads(told) if told else {}

    def replayed(self, file: Path) -> tuple[int, dict[str, Any]]:
        code = command("powercut", "--replay", file, "--json")
        told, complaints = self._capsys.readouterr()
        assert told, complaints
        return code, json.loads(told)

    def nothing_left(self) -> None:
        """But for what only ``acidtest clean`` releases, of a host that died."""
        assert command("clean", "--fleet", self._fleet) == 0
        assert not [one for machine in self.hands.machines for one in machine.left()]


@pytest.fixture
def here(
    tmp_path: Path, hands: Hands, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., AtHand]:
    monkeypatch.setenv("ACIDTEST_LEASE", str(tmp_path / "lease"))
    monkeypatch.setenv("COLUMNS", "200")
    # Else a batch has as many as the last one's time allows.
    monkeypatch.setattr("acidtest.fleet.exploration.batch_size", lambda states, seconds: 1)
    return lambda **more: AtHand(tmp_path, hands, capsys, **more)


STATES_SEEN = 6
ASKED = range(5, 13)  # when a load is recorded, states are looked at, the worst is reduced


@pytest.mark.covering
@pytest.mark.parametrize("happens", DEATHS)
@pytest.mark.parametrize("moment", ASKED)
def test_whatever_dies_at_whatever_moment_no_state_is_looked_at_twice(
    tmp_path: Path, here: Callable[..., AtHand], happens: Death, moment: int
) -> None:
    written(tmp_path, STATES.format(STATES_SEEN))
    explored = here()
    explored.hands.happens[moment] = happens
    before: list[tuple[str, str, int]] = []
    for _ in range(3):
        code, results = -1, {}
        with suppress(Died, KeyboardInterrupt):
            code, results = explored.ended()
        assert states_of(explored.out)[: len(before)] == before
        before = states_of(explored.out)
        if code == 0:
            break
    assert code == 0, explored.hands.asked
    assert not explored.hands.happens
    (cut,) = results["cuts"]
    assert len({load for load, _, _ in before}) == 1  # the load is recorded once, whoever goes on
    assert len(set(before)) == len(before) == cut["cut"]["states"]["looked_at"] == STATES_SEEN
    assert not list(explored.out.glob("acidtest-states/*.load"))
    explored.nothing_left()


def test_the_smallest_failing_state_of_a_lying_disk_comes_home_and_fails_again(
    tmp_path: Path, here: Callable[..., AtHand]
) -> None:
    written(tmp_path, STATES.format(20) + '\ndisk_faults = "lie-about-flush"')
    explored = here()
    code, results = explored.ended()
    assert code == 0  # the drive announces it
    assert {line.host for line in lines_of(explored.out)} == {"one", "two"}  # both look at states of one load
    assert len({line.load for line in lines_of(explored.out)}) == 1
    (cut,) = (cut["cut"] for cut in results["cuts"])
    assert cut["verdict"] == "lost"
    file = Path(cut["states"]["shortest"])
    assert file.parent == explored.out / "acidtest-states"
    assert {path.name for path in file.parent.iterdir()} == {file.name, file.with_suffix(".log").name}
    _, shown = explored.replayed(file)
    assert shown["verdict"] == "lost"
    assert shown["announced_by"] == "the drive, which lies about flushes"
    at, *reasons = cut["reasons"]
    assert "the shortest: " in at
    assert (shown["fate"], shown["reasons"]) == (cut["fate"], reasons)
    assert cut["fate"] is None or cut["fate"]["lost"] > 0  # in a database that cannot be read nothing can be counted


def test_what_a_cut_on_a_host_has_left_comes_home_and_fails_again(
    tmp_path: Path, here: Callable[..., AtHand], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loss that nobody announces: of commits that a planted bug says were acknowledged before they were."""
    written(tmp_path, "", cuts=2)
    explored = here(spread="compare")
    with monkeypatch.context() as patch:
        for name, value in {"ACIDTEST_RIG": PLANTED, "REAL_RIG": find_rig(), "PLANTED": "early"}.items():
            patch.setenv(name, str(value))
        code, results = explored.ended()
    assert code == 1
    lost = [cut["cut"] for cut in results["cuts"] if cut["cut"]["verdict"] == "lost"]
    kept = [cut for cut in lost if cut["state"]]
    assert len(results["cuts"]) == 4  # two on each host
    assert len(kept) == 2  # the first of each combination, host included
    files = {path.name for path in explored.out.glob("acidtest-states/*")}
    for cut in kept:
        # The journal names it as it is found here, not as the host named it.
        file = Path(cut["state"])
        assert file.parent == explored.out / "acidtest-states"
        assert {file.name, file.with_suffix(".log").name} <= files
        code, shown = explored.replayed(file)
        assert code == 1
        assert (shown["verdict"], shown["reasons"]) == ("lost", cut["reasons"])
    explored.nothing_left()


def test_hosts_that_are_compared_explore_each_its_own_load(tmp_path: Path, here: Callable[..., AtHand]) -> None:
    written(tmp_path, STATES.format(5))
    explored = here(spread="compare")
    code, results = explored.ended()
    assert code == 0
    assert [cut["cut"]["states"]["looked_at"] for cut in results["cuts"]] == [5, 5]
    hosts = {line.cell: line.host for line in lines_of(explored.out)}
    assert set(hosts.values()) == {"one", "two"}
    assert all(re.search(rf"\b{host}\b", cell) for cell, host in hosts.items())
    assert len({line.load for line in lines_of(explored.out)}) == 2


# ---------------------------------------------------------------------------------- processes of their own


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the test's own: what a killed run has left is in its ledger."""
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ACIDTEST_LEASE", str(tmp_path / "lease"))


class Explored:
    """An experiment on this machine alone, in processes of its own."""

    def __init__(self, directory: Path, place: str) -> None:
        self.out, self.said = directory / "out", directory / "said"
        self._command = [ACIDTEST, "powercut", written(directory, place), "--out", self.out, "--json"]

    def killed_after_a_batch(self) -> None:
        with self.said.open("ab") as said:
            process = subprocess.Popen(self._command, stdout=said, stderr=said)
        end = time.monotonic() + 300
        while not lines_of(self.out):
            assert process.poll() is None, self.said.read_text()
            assert time.monotonic() < end
            time.sleep(0.02)
        process.kill()
        process.wait()

    def ended(self) -> tuple[int, dict[str, Any]]:
        ran = subprocess.run(self._command, capture_output=True, encoding="utf-8", check=False)
        assert ran.stdout, ran.stderr
        return ran.returncode, json.loads(ran.stdout)


@pytest.mark.usefixtures("home")
def test_on_one_machine_it_goes_on_as_well_and_what_was_covered_is_told(tmp_path: Path) -> None:
    explored = Explored(tmp_path, STATES.format(30))
    explored.killed_after_a_batch()
    before = states_of(explored.out)
    assert before
    code, results = explored.ended()
    assert code == 0
    looked_at = states_of(explored.out)
    assert looked_at[: len(before)] == before
    states = results["cuts"][0]["cut"]["states"]
    assert len(set(looked_at)) == len(looked_at) == states["looked_at"] == 30
    lines = lines_of(explored.out)
    assert states["images"] == len({image for line in lines for image, *_ in line.states})
    assert states["outcomes"] == len({outcome.found for line in lines for outcome in line.outcomes})
    assert states["images"] <= 10 ** states["legal_log10"] + 0.5
    assert any("crash states without a loss" in one["why"] for one in results["not_checked"])
    assert loops_over_files_in(tmp_path) == []


@pytest.mark.long
@pytest.mark.usefixtures("home")
def test_a_budget_of_time(tmp_path: Path) -> None:
    explored = Explored(tmp_path, 'disk_failure = "crash-states"\ndisk_states_s = 4')
    code, results = explored.ended()
    assert code == 0
    lines = lines_of(explored.out)
    assert lines[-2].elapsed_s < 4 <= lines[-1].elapsed_s  # no batch began after its end
    assert results["cuts"][0]["cut"]["states"]["looked_at"] == sum(len(line.states) for line in lines)
