"""How many crash states are looked at side by side, and what that must not change."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import Mock

import pytest

from acidtest.engine.catalogue import describe
from acidtest.errors import CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.powercut.checkers import Judgement
from acidtest.powercut.coverage import Asked
from acidtest.powercut.crash_states import State
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.exploration import EACH, Explorer, InspectedState, OneDisk, at_once, shrunk

MANY = 1_000_000


def disks(engine: str, size_mb: int = 1, **place: Any) -> int:
    spec = PlaceSpec(kind="disk", filesystem="ext4", disk_failure="crash-states", disk_cache_mb=1, **place)
    return at_once(Mock(place=spec), describe(engine), size_mb, Path("/"))


def test_three_for_each_processor() -> None:
    assert disks("sqlite", disk_states=MANY) == min(24, EACH * len(os.sched_getaffinity(0)))


def test_no_more_than_one_for_ten_states() -> None:
    assert [disks("sqlite", disk_states=states) for states in (1, 9, 19, 20)] == [1, 1, 1, 2]


@pytest.mark.parametrize("medium", ["memory", "file"])
def test_one_where_there_is_no_room_for_more(medium: str) -> None:
    assert disks("sqlite", size_mb=1 << 30, disk_states=MANY, disk_medium=medium) == 1


def test_one_of_a_server() -> None:
    assert disks("postgresql-18", disk_states=MANY) == 1


def inspecting(name: str, seen: list[tuple[str, int]], fails: bool = False, after: Event | None = None) -> Any:
    """A disk; one that is to begin ``after`` something, or that ``fails`` then."""

    def inspect(state: State) -> Any:
        seen.append((name, state.to))
        if after is not None and fails:
            after.set()
        elif after is not None:
            after.wait()
        if fails:
            raise CellFailed(f"{name} is gone")
        return Mock(
            verdict="lost",
            state=state,
            outcome=Mock(verdict="lost", unannounced=True, damaged=False, found=f"found {state.to}", checks={}),
            judgement=Mock(reasons=[f"state {state.to}"]),
        )

    return Mock(thread=ThreadPoolExecutor(1), inspect=inspect)


def asked(states: int) -> list[Asked]:
    return [Asked(State(0, to), f"{to:032x}", to) for to in range(states)]


def test_states_come_back_in_the_order_in_which_they_were_asked_whoever_has_looked() -> None:
    seen: list[tuple[str, int]] = []
    explorer = Explorer([inspecting(name, seen) for name in "abc"], Mock(id="cell"), Mock(sha256="load"))
    inspected = explorer.inspected([one.state for one in asked(50)])
    assert [one.state.to for one in inspected] == list(range(50))
    assert sorted(to for _, to in seen) == list(range(50))


@pytest.mark.parametrize(
    ("state", "mounted", "missing"),
    [
        (State(0, 9, without=(4,)), [{"log": 3}, {"log": 3, "new": 5}], {"new": 5}),
        (State(0, 9), [{"log": 3}], {}),  # nothing was left out, and nothing else is mounted
        (State(0, 9, without=(4,)), [None], None),
    ],
)
def test_files_of_a_state_are_compared_with_those_of_its_moment(
    state: State, mounted: list[dict[str, int] | None], missing: dict[str, int] | None
) -> None:
    trial = Mock()
    trial.place.file_sizes.side_effect = mounted
    disk = OneDisk.__new__(OneDisk)
    disk.trial, disk._of = trial, Mock(load=Mock(log=Path("log"), files_at=Mock(return_value=None)))
    evidence = CutEvidence(file_sizes=trial.place.file_sizes())
    files = disk.files_left(Mock(state=state, evidence=evidence))
    assert (files.missing if files else None) == missing
    assert [call.args[0].without for call in trial.place.begin.call_args_list] == [[]] * (len(mounted) - 1)


def seen(state: State, damage: list[str]) -> InspectedState:
    return InspectedState(state, CutEvidence(), Judgement("lost", ["a reason"], {}, damage), unannounced=False)


def test_a_damaged_state_is_told_beside_a_shorter_one_that_only_lacks_commits() -> None:
    """Of each its damage is what it lacks more than one write."""

    def inspect(state: State) -> InspectedState:
        return seen(state, ["torn"] * (len(state.without) > 1))

    disk = Mock(thread=ThreadPoolExecutor(1), inspect=inspect, files_left=Mock(return_value=None))
    states = [State(0, 9, (1, 2, 3)), State(0, 9, (1,)), State(0, 9, (1, 2))]
    line = Explorer([disk], Mock(id="cell"), Mock(sha256="load")).look(
        [Asked(one, f"{n:032x}", n) for n, one in enumerate(states)]
    )
    assert line.worst is not None
    assert line.worst_damaged is not None
    assert (line.worst.without, line.worst_damaged.without) == ([1], [1, 2])


@pytest.mark.parametrize(("damage", "left"), [(["torn"], (1,)), ([], ())])
def test_a_damaged_state_is_not_reduced_to_one_that_only_lacks_commits(
    damage: list[str], left: tuple[int, ...]
) -> None:
    def inspect(state: State) -> InspectedState:
        return seen(state, damage if 1 in state.without else [])

    assert shrunk(inspect(State(0, 9, (1, 2))), inspect).state.without == left


def test_where_one_disk_is_gone_nothing_is_told() -> None:
    seen: list[tuple[str, int]] = []
    gone = Event()
    both = [inspecting("a", seen, after=gone), inspecting("b", seen, fails=True, after=gone)]
    with pytest.raises(CellFailed, match="b is gone"):
        Explorer(both, Mock(id="cell"), Mock(sha256="load")).look(asked(50))
    count = len(seen)
    for disk in both:
        disk.thread.shutdown(wait=True)
    assert len(seen) == count  # nobody goes on
