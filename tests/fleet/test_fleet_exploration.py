"""Power cuts and crash states over workers of a fleet on this machine: one list, whatever dies, and what lost comes home."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acidtest.files import find_rig
from acidtest.journal import reader
from blocks import loops_over_files_in
from support import ACIDTEST, processes_with

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


class Explored:
    """An experiment over two workers here, with an ACIDTEST_HOME and a lease of its own."""

    def __init__(
        self, directory: Path, place: str, *, level: str = "drive", cuts: int = 1, spread: str = "pool"
    ) -> None:
        self.directory, self.out, self.home = directory, directory / "out", directory / "home"
        self.home.mkdir()
        (self.home / "engines").symlink_to((Path(os.environ["ACIDTEST_HOME"]) / "engines").resolve())
        self.file, self.fleet = directory / "e.toml", directory / "fleet.toml"
        self.file.write_text(EXPERIMENT.format(place=place, level=level, cuts=cuts))
        self.fleet.write_text(f'local = 2\nspread = "{spread}"\n')
        self.environment = os.environ | {
            "ACIDTEST_HOME": str(self.home), "ACIDTEST_LEASE": str(directory / "lease"), "COLUMNS": "200",
        }  # fmt: skip

    def command(self, *, alone: bool = False) -> list[str]:
        fleet = [] if alone else ["--fleet", str(self.fleet)]
        return [str(ACIDTEST), "powercut", str(self.file), *fleet, "--out", str(self.out), "--json"]

    def begun(self, *, alone: bool = False) -> subprocess.Popen[bytes]:
        with (self.directory / "said").open("ab") as said:
            return subprocess.Popen(self.command(alone=alone), env=self.environment, stdout=said, stderr=said)

    def ended(self, *, alone: bool = False, **more: str) -> tuple[int, dict[str, Any]]:
        ran = subprocess.run(
            self.command(alone=alone), env=self.environment | more, capture_output=True, encoding="utf-8", check=False
        )
        assert ran.stdout, ran.stderr
        return ran.returncode, json.loads(ran.stdout)

    def lines(self) -> list[Any]:
        return list(reader.explored(self.out / reader.CUTS))

    def await_lines(self, count: int, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + 300
        while len(self.lines()) < count:
            assert process.poll() is None, (self.directory / "said").read_text()
            assert time.monotonic() < end
            time.sleep(0.02)

    def await_nothing_running(self) -> None:
        """What a killed client has left ends by itself, but for what only ``acidtest clean`` releases."""
        end = time.monotonic() + 120
        while left := [one for one in processes_with(f"ACIDTEST_HOME={self.home}").values() if "-rig disk" not in one]:
            assert time.monotonic() < end, left
            time.sleep(0.1)

    def states(self) -> list[tuple[str, str, int]]:
        return [(line.load, image, demanded) for line in self.lines() for image, demanded, *_ in line.states]


def kill_client(explored: Explored, client: subprocess.Popen[bytes]) -> None:
    client.kill()


def stop_client(explored: Explored, client: subprocess.Popen[bytes]) -> None:
    client.send_signal(signal.SIGINT)


def kill_lab(explored: Explored, client: subprocess.Popen[bytes]) -> None:
    running = processes_with(f"ACIDTEST_HOME={explored.home}")
    os.kill(next(pid for pid, command in running.items() if "acidtest.fleet.lab" in command), signal.SIGKILL)


def kill_worker(explored: Explored, client: subprocess.Popen[bytes]) -> None:
    running = processes_with(f"ACIDTEST_HOME={explored.home}")
    os.kill(next(pid for pid, command in running.items() if "spawn_main" in command), signal.SIGKILL)


@pytest.mark.parametrize("happens", [kill_client, stop_client, kill_lab, kill_worker])
def test_whatever_dies_no_state_is_looked_at_twice(
    tmp_path: Path, happens: Callable[[Explored, subprocess.Popen[bytes]], None]
) -> None:
    explored = Explored(tmp_path, STATES.format(90))
    client = explored.begun()
    explored.await_lines(1, client)  # the first batch is one state; a quick machine looks at all others in the next
    happens(explored, client)
    client.wait(400)
    before = explored.states()
    assert len(before) < 90 or happens in (kill_lab, kill_worker)
    explored.await_nothing_running()
    runs = 0
    while (ran := explored.ended())[0] != 0:
        assert (runs := runs + 1) < 3
    (cut,) = ran[1]["cuts"]
    states = explored.states()
    assert states[: len(before)] == before
    assert len({load for load, _, _ in states}) == 1  # the load is recorded once, whoever goes on
    assert len(set(states)) == len(states) == cut["cut"]["states"]["looked_at"] == 90
    assert not list(explored.out.glob("acidtest-states/*.load"))
    explored.await_nothing_running()
    clean = [ACIDTEST, "clean", "--fleet", explored.fleet]  # a host that died has had no time for it
    subprocess.run(clean, env=explored.environment, capture_output=True, check=True)
    assert not list(explored.home.glob("fleet/*"))


def test_all_hosts_look_at_states_of_one_load(tmp_path: Path) -> None:
    explored = Explored(tmp_path, STATES.format(1_000_000))
    client = explored.begun()
    end = time.monotonic() + 400
    while {line.host for line in explored.lines()} != {"local-1", "local-2"}:
        assert client.poll() is None, (explored.directory / "said").read_text()
        assert time.monotonic() < end
        time.sleep(0.1)
    client.send_signal(signal.SIGINT)
    assert client.wait(400) == 128 + signal.SIGINT
    states = explored.states()
    assert len(set(states)) == len(states)
    assert len({load for load, _, _ in states}) == 1
    explored.await_nothing_running()


def test_on_one_machine_it_goes_on_as_well(tmp_path: Path) -> None:
    explored = Explored(tmp_path, STATES.format(80))
    lab = explored.begun(alone=True)
    explored.await_lines(1, lab)
    lab.kill()
    lab.wait()
    before = explored.states()
    assert 1 <= len(before) < 80
    code, results = explored.ended(alone=True)
    assert code == 0
    states = explored.states()
    assert states[: len(before)] == before
    assert len(set(states)) == len(states) == results["cuts"][0]["cut"]["states"]["looked_at"] == 80
    assert loops_over_files_in(tmp_path) == []


def test_a_budget_of_time_and_what_was_covered(tmp_path: Path) -> None:
    explored = Explored(tmp_path, 'disk_failure = "crash-states"\ndisk_states_s = 4')
    code, results = explored.ended(alone=True)
    assert code == 0
    states = results["cuts"][0]["cut"]["states"]
    lines = explored.lines()
    assert lines[-2].elapsed_s < 4 <= lines[-1].elapsed_s  # no batch began after its end
    assert states["looked_at"] == sum(len(line.states) for line in lines)
    assert states["images"] == len({image for line in lines for image, *_ in line.states})
    assert states["outcomes"] == len({one.found for line in lines for one in line.outcomes})
    assert states["images"] <= 10 ** states["legal_log10"] + 0.5
    assert any("crash states without a loss" in one["why"] for one in results["not_checked"])


def test_the_smallest_failing_state_of_a_lying_disk_comes_home_and_fails_again(tmp_path: Path) -> None:
    explored = Explored(tmp_path, STATES.format(40) + '\ndisk_faults = "lie-about-flush"')
    code, results = explored.ended()
    assert code == 0  # the drive announces it
    (cut,) = (one["cut"] for one in results["cuts"])
    assert cut["verdict"] == "lost"
    file = Path(cut["states"]["shortest"])
    assert file.parent == explored.out / "acidtest-states"
    assert {one.name for one in file.parent.iterdir()} == {file.name, file.with_suffix(".log").name}
    again = subprocess.run(
        [ACIDTEST, "powercut", "--replay", file, "--json"], env=explored.environment, capture_output=True, check=True
    )
    shown = json.loads(again.stdout)
    assert shown["verdict"] == "lost"
    assert shown["announced_by"] == "the drive, which lies about flushes"
    assert shown["fate"]["lost"] == cut["fate"]["lost"] > 0


def test_what_a_cut_on_a_host_has_left_comes_home_and_fails_again(tmp_path: Path) -> None:
    """A loss that nobody announces: of commits that a planted bug says were acknowledged before they were."""
    planted = {"ACIDTEST_RIG": str(PLANTED), "REAL_RIG": str(find_rig()), "PLANTED": "early"}
    explored = Explored(tmp_path, "", cuts=2, spread="compare")
    code, results = explored.ended(**planted)
    assert code == 1
    lost = [one["cut"] for one in results["cuts"] if one["cut"]["verdict"] == "lost"]
    kept = [cut for cut in lost if cut["state"]]
    assert len(results["cuts"]) == 4  # two on each worker
    assert len(kept) == 2  # the first of each combination, host included
    files = {name for path in explored.out.glob("acidtest-states/*") for name in [path.name]}
    for cut in kept:
        # The journal names it as it is found here, not as the host named it.
        file = Path(cut["state"])
        assert file.parent == explored.out / "acidtest-states"
        assert {file.name, file.with_suffix(".log").name} <= files
        again = subprocess.run(
            [ACIDTEST, "powercut", "--replay", file, "--json"],
            env=explored.environment,
            capture_output=True,
            check=False,
        )
        assert again.returncode == 1, again.stderr
        shown = json.loads(again.stdout)
        assert (shown["verdict"], shown["reasons"]) == ("lost", cut["reasons"])
    assert not list(explored.home.glob("fleet/*"))


def test_hosts_that_are_compared_explore_each_its_own_load(tmp_path: Path) -> None:
    explored = Explored(tmp_path, STATES.format(15), spread="compare")
    code, results = explored.ended()
    assert code == 0
    assert [one["cut"]["states"]["looked_at"] for one in results["cuts"]] == [15, 15]
    hosts = {line.cell: line.host for line in explored.lines()}
    assert all(re.search(rf"\b{host}\b", cell) for cell, host in hosts.items())
    assert len({line.load for line in explored.lines()}) == 2
