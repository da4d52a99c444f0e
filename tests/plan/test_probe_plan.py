"""The steps of a probe: every way of writing, each as often as asked, in an order of the seed alone."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from acidtest.journal.probe import DURABLE
from acidtest.journal.protocol import Duration
from acidtest.plan.probe import FLOORS, SHORTEST_S, ProbePlan, plan_probe


def planned(**changes: object) -> ProbePlan:
    given = {
        "seconds": 60.0, "repetitions": 5, "writers": [1, 4], "block_bytes": 4096, "one_file": False,
        "on_device": False, "seed": 1,
    }  # fmt: skip
    return plan_probe(**{**given, **changes})  # type: ignore[arg-type]


@given(
    seconds=st.floats(0.1, 1e4),
    repetitions=st.integers(1, 20),
    writers=st.lists(st.integers(1, 16), min_size=1, max_size=5),
    on_device=st.booleans(),
    one_file=st.booleans(),
    seed=st.integers(0, 1 << 40),
)
def test_every_row_is_run_once_a_repetition(
    seconds: float, repetitions: int, writers: list[int], on_device: bool, one_file: bool, seed: int
) -> None:
    plan = planned(
        seconds=seconds, repetitions=repetitions, writers=writers, on_device=on_device, one_file=one_file, seed=seed
    )
    assert Counter(plan.order) == Counter((row, n + 1) for row in range(len(plan.rows)) for n in range(repetitions))
    assert [n for _, n in plan.order] == sorted(n for _, n in plan.order)  # one repetition after the other
    assert len(set(plan.rows)) == len(plan.rows)
    assert {row.writers for row in plan.rows} == {1, *writers}
    assert {row.pattern for row in plan.rows} == ({"overwrite"} if on_device else {"overwrite", "append"})
    assert {row.method for row in plan.rows if row.writers == 1} == {*FLOORS, *DURABLE}
    assert {row.method for row in plan.rows if row.writers > 1} <= {*DURABLE}
    assert all(row.one_file == (one_file and row.writers > 1) for row in plan.rows)
    lasts = sum(row.extent.seconds for row in plan.rows if isinstance(row.extent, Duration)) * repetitions
    assert lasts <= max(seconds * 1.0001, SHORTEST_S * len(plan.order) * 1.0001)


def test_the_order_is_the_seeds_and_no_repetition_has_the_order_of_another() -> None:
    plan = planned(seed=3)
    assert plan.order == planned(seed=3).order != planned(seed=4).order
    orders = [tuple(row for row, n in plan.order if n == repetition) for repetition in range(1, 6)]
    assert len(set(orders)) == 5
