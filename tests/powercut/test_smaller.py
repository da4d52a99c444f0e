"""A history that lost is made smaller, and what is left is an experiment that still loses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import workloads
from acidtest.conductor.engines import plan_of
from acidtest.experiment import parse
from acidtest.plan import Cell
from acidtest.powercut.smaller import Found, Loss, as_text, smallest, with_workload
from acidtest.workload import BY_KIND, KINDS, WORKLOADS, WorkloadSpec

MISSING, DISAGREE = Loss(frozenset({"rows"})), Loss(frozenset({"paths", "rows"}))
WRITTEN = """
name = "cuts"
seed = 7
durability = "drive"
[factors]
engine = ["sqlite", "firebird-5.0"]
"place.filesystem" = ["ext4", "xfs"]
drive = [
  { name = "honest", set = { "place.disk_faults" = "" } },
  { name = "tearing", set = { "place.disk_keeps" = "torn" } },
]
[workload.mine]
kind = "history"
terminals = 4
count = 100
[settings.sqlite]
page_size = 8192
[place]
kind = "disk"
"""


def history(**keys: object) -> WorkloadSpec:
    return BY_KIND["history"].model_validate({"terminals": 4, "count": 200, **keys})


def parts(workload: WorkloadSpec) -> set[str]:
    return set(str(workload.parameter("leave_out")).split(", "))


def losing(when: Callable[[WorkloadSpec], Loss | None]) -> tuple[Callable[[WorkloadSpec], Found], list[Found]]:
    """What loses by that rule, and all that was tried."""
    tried: list[Found] = []

    def attempt(workload: WorkloadSpec) -> Found:
        tried.append(Found(workload, when(workload), 8))
        return tried[-1]

    return attempt, tried


def test_all_that_a_loss_does_not_need_is_left_out() -> None:
    needs = {"insert", "open"}
    attempt, _ = losing(lambda one: MISSING if one.terminals > 1 and not needs & parts(one) else None)
    found = smallest(history(), attempt, lambda: True, lambda told: None)
    assert found.loss == MISSING
    assert found.workload.terminals == 2
    assert found.workload.count is not None
    assert found.workload.count <= 10
    assert found.workload.parameter("rows") == 0
    assert not needs & parts(found.workload)
    assert {"update", "move", "delete", "savepoint", "shared", "ddl", "rollback", "blob"} <= parts(found.workload)


def test_another_loss_is_not_the_same_one() -> None:
    attempt, _ = losing(lambda one: MISSING if one.terminals == 4 else Loss(frozenset({"tables"})))
    found = smallest(history(), attempt, lambda: True, lambda told: None)
    assert found.workload.terminals == 4
    assert MISSING.is_like(DISAGREE)


def test_it_ends_in_time_with_the_smallest_so_far() -> None:
    left = iter([True, True, False])
    attempt, tried = losing(lambda one: MISSING)
    found = smallest(history(), attempt, lambda: next(left), lambda told: None)
    assert len(tried) == 3
    assert found is tried[-1]


def test_what_does_not_lose_is_tried_twice() -> None:
    attempt, tried = losing(lambda one: None)
    assert smallest(history(), attempt, lambda: True, lambda told: None).loss is None
    assert [one.workload for one in tried] == [history(), history()]


@pytest.mark.parametrize("spec", WORKLOADS, ids=KINDS)
def test_what_is_smaller_is_a_workload_of_the_same_kind_and_comes_to_an_end(spec: type[WorkloadSpec]) -> None:
    """Of every workload; most have nothing to leave out."""
    one: WorkloadSpec | None = workloads.workload(spec, count=40)
    steps = 0
    while one is not None and steps < 200:
        following = list(one.smaller())
        assert all(other != one and type(other) is spec for other in following)
        one, steps = (following[-1] if following else None), steps + 1
    assert steps < 200


@pytest.mark.parametrize("number", [0, 3])
def test_the_experiment_that_is_written_is_the_one_combination(number: int) -> None:
    whole = parse(WRITTEN, "cuts")
    combinations = {cell.combination: cell for cell in plan_of(whole, cuts=True).cells}
    cell: Cell = list(combinations.values())[number]
    workload = cell.workload.varied({"terminals": 1, "rows": 0, "leave_out": "ddl, blob"})
    alone = plan_of(with_workload(whole, cell, workload, 8), cuts=True)
    assert [one.combination for one in alone.cells] == [cell.combination] * 8
    assert alone.cells[0].workload == workload
    assert alone.cells[0].place == cell.place
    assert alone.cells[0].settings == cell.settings
    assert alone.cells[0].durability == "drive"
    text = as_text(whole, cell, workload, 8, ["What it is."])
    assert text.startswith("# What it is.\n")
    # The cuts are those of the seed.
    assert {one.repetition: one.seed for one in alone.cells}[cell.repetition] == cell.seed
