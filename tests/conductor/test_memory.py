"""A limit of memory is in force only if the engine's processes were seen inside it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from acidtest.conductor.memory import CellMemory
from acidtest.experiment import PlaceSpec
from acidtest.place import Ledger
from acidtest.place.filecache import Residency

LIMITED = PlaceSpec(memory_mb=64)


class Nothing:
    """Stands for a database of these files, or none, and an engine that has no cache."""

    def __init__(self, *files: Path) -> None:
        self._files = list(files)

    def database_files(self) -> list[Path]:
        return self._files

    def cache_bytes(self, settings: Any, sessions: int) -> None:
        return None


@pytest.fixture
def memory(ledger: Ledger) -> Iterator[CellMemory]:
    with CellMemory(LIMITED, ledger) as memory:
        memory._instance, memory._at_start = Nothing(), Residency(0, 0, 0, "mincore")  # type: ignore[assignment]
        yield memory


def start(launcher: Any, tmp_path: Path, says: str, *more: str) -> tuple[str, subprocess.Popen[bytes]]:
    log = tmp_path / says
    with log.open("wb") as output:
        command = ["sh", "-c", "; ".join([*more, f"echo {says}", "exec sleep 1000"])]
        started = launcher.start_process(command, environment=os.environ, stderr=output, stdout=output)
    while says not in log.read_text():
        pass
    return started


def in_force(memory: CellMemory) -> tuple[str | None, bool | None]:
    (limit,) = [setting for setting in memory.settings() if setting.name == "place.memory_mb"]
    return limit.in_force, limit.agrees


def test_an_engine_inside_is_limited(memory: CellMemory, tmp_path: Path) -> None:
    started = start(memory.launched, tmp_path, "started")
    memory.look()
    memory.launched.end_process(*started)
    assert in_force(memory) == ("64", True)


def test_a_group_that_nobody_was_seen_in_limits_nothing(memory: CellMemory, tmp_path: Path) -> None:
    memory.look()
    assert in_force(memory) == ("no limit: no process of the engine was seen in the control group", False)


def test_an_engine_that_was_started_past_the_group_is_not_limited(
    memory: CellMemory, ledger: Ledger, tmp_path: Path
) -> None:
    started = start(ledger, tmp_path, "started")  # as a guest's QEMU, or a server by URL
    memory.look()
    ledger.end_process(*started)
    assert in_force(memory)[1] is False


def test_one_process_outside_is_enough_to_say_so(memory: CellMemory, tmp_path: Path) -> None:
    assert memory._cgroup
    leave = f"echo $$ > {memory._cgroup.path.parent}/cgroup.procs"
    started = [start(memory.launched, tmp_path, "inside"), start(memory.launched, tmp_path, "outside", leave)]
    memory.look()
    for one in started:
        memory.launched.end_process(*one)
    words = "no limit for 1 of the engine's processes, seen outside of the group"
    assert in_force(memory) == (words, False)


def test_swap_that_was_asked_for_is_read_back(ledger: Ledger) -> None:
    with CellMemory(PlaceSpec(memory_mb=64, swap_mb=16), ledger) as memory:
        (found,) = [setting for setting in memory.settings() if setting.name == "place.swap_mb"]
        assert (found.asked, found.in_force, found.agrees) == ("16", "16", True)
        memory._swap_bytes = 0
        (wrong,) = [setting for setting in memory.settings() if setting.name == "place.swap_mb"]
        assert (wrong.in_force, wrong.agrees) == ("0", False)


@pytest.mark.parametrize("start", ["cold", "cold-machine"])
@pytest.mark.parametrize(("resident", "agrees"), [(0, True), (90, False), (100, False)])
def test_a_cold_start_counts_only_if_the_database_is_out_of_the_file_cache(
    start: str, resident: int, agrees: bool, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidtest.conductor.memory.filecache.drop", Mock())
    monkeypatch.setattr("acidtest.conductor.memory.filecache.drop_machine", Mock())
    at_start = Residency(100, resident, None, "mincore")
    monkeypatch.setattr("acidtest.conductor.memory.filecache.residency", Mock(return_value=at_start))
    with CellMemory(PlaceSpec(start=start), ledger) as memory:  # type: ignore[arg-type]
        memory.begin(Nothing(tmp_path))  # type: ignore[arg-type]
        (found,) = memory.settings()
    assert (found.name, found.asked, found.agrees) == ("place.start", start, agrees)
