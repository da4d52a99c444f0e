"""A history that lost is made smaller, and what is left is an experiment that still loses."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import workloads
from acidtest.conductor.engines import plan_of
from acidtest.experiment import parse
from acidtest.plan import Cell
from acidtest.powercut.minimize import CUTS, LOSSES, MOST, Found, Loss, as_text, cuts_to_see, smallest, with_workload
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


def losing(when: Callable[[WorkloadSpec], Loss | None]) -> tuple[Callable[[WorkloadSpec, int], Found], list[Found]]:
    """What loses by that rule in each cut, and all that was tried."""
    tried: list[Found] = []

    def attempt(workload: WorkloadSpec, cuts: int) -> Found:
        loss = when(workload)
        tried.append(Found(workload, (loss,) * cuts if loss else (), cuts))
        return tried[-1]

    return attempt, tried


def losing_at_times(
    rate: float, lot: random.Random, least: int = 1, each: list[int] | None = None
) -> Callable[[WorkloadSpec, int], Found]:
    """Each history of ``least`` terminals or more loses in this share of its cuts; ``each`` has how many cuts each had."""
    lost: dict[str, list[bool]] = {}

    def attempt(workload: WorkloadSpec, cuts: int) -> Found:
        made = lost.setdefault(workload.model_dump_json(), [])
        made += [workload.terminals >= least and lot.random() < rate for _ in range(cuts - len(made))]
        if each is not None:
            each[:] = [len(one) for one in lost.values()]
        return Found(workload, (MISSING,) * sum(made), len(made))

    return attempt


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
    assert found == tried[-1]


def test_what_does_not_lose_is_cut_until_the_time_is_over() -> None:
    left = iter([True, True, False])
    attempt, tried = losing(lambda one: None)
    assert smallest(history(), attempt, lambda: next(left), lambda told: None).loss is None
    assert [(one.workload, one.cuts) for one in tried] == [(history(), many * CUTS) for many in (1, 2, 3)]
    attempt, tried = losing(lambda one: None)
    smallest(history(), attempt, lambda: True, lambda told: None)
    assert tried[-1].cuts == MOST


@pytest.mark.parametrize("rate", [0.5, 0.2, 0.1, 0.05])
def test_a_history_that_loses_as_often_is_given_up_in_less_than_one_of_twenty(rate: float) -> None:
    """Only the terminals can be made fewer: two lose as often as one."""
    lot, missed, histories = random.Random(11), 0, 1000
    left_out = "move, delete, savepoint, open, shared, ddl, rollback, blob"
    two = history(terminals=2, count=10, rows=0, leave_out=f"update, {left_out}")
    assert [one.terminals for one in two.smaller()] == [1]
    for _ in range(histories):
        found = smallest(two, losing_at_times(rate, lot), lambda: True, lambda told: None)
        missed += found.loss is not None and found.workload.terminals == 2
    assert missed / histories <= 0.05


def test_what_loses_often_takes_few_cuts_and_what_never_loses_no_more_than_the_limit() -> None:
    assert cuts_to_see(8, 8) < CUTS < cuts_to_see(LOSSES, 20) < cuts_to_see(LOSSES, 60) < cuts_to_see(1, 60) == MOST
    each: list[int] = []
    smallest(history(terminals=2), losing_at_times(0.02, random.Random(3), 2, each), lambda: True, lambda told: None)
    assert max(each) == MOST


def test_losses_of_another_kind_do_not_count() -> None:
    """A history loses in two ways: what is left out must not end the one that came first."""
    other = Loss(frozenset({"tables"}))

    def attempt(workload: WorkloadSpec, cuts: int) -> Found:
        losses = (MISSING, other, MISSING) if "insert" not in parts(workload) else (other,)
        return Found(workload, losses * (cuts // 4), cuts)

    found = smallest(history(), attempt, lambda: True, lambda told: None)
    assert set(found.losses) == {MISSING}
    assert "insert" not in parts(found.workload)


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
    assert [cell.combination for cell in alone.cells] == [cell.combination] * 8
    assert alone.cells[0].workload == workload
    assert alone.cells[0].place == cell.place
    assert alone.cells[0].settings == cell.settings
    assert alone.cells[0].durability == "drive"
    text = as_text(whole, cell, workload, 8, ["What it is."])
    assert text.startswith("# What it is.\n")
    # The cuts are those of the seed.
    assert {cell.repetition: cell.seed for cell in alone.cells}[cell.repetition] == cell.seed
