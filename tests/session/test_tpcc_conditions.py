"""The twelve conditions of tpcc on every engine: they hold after a load, and what breaks each is found and named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from violations import PERCENT, PLANTED

from acidtest.engine import Engine, Instance
from acidtest.engine.postgres.instance import PostgresTarget
from acidtest.journal.protocol import (
    Answered,
    AskPhase,
    Checked,
    CheckPhase,
    Inspection,
    LoadPhase,
    Phase,
    Result,
    Target,
)
from acidtest.place import Ledger
from acidtest.place.trees import copy_tree
from acidtest.workload.tpcc import TpccWorkload
from families import FAMILIES
from rig_jobs import of, run, talk
from support import DIALECTS


def check(instance: Instance, target: Target, ledger: Ledger, sql: str | None = None, load: bool = False) -> set[str]:
    """Names of the conditions that do not hold, after ``sql``."""
    workload = TpccWorkload(warehouses=1, percent=PERCENT, procedures=False, keying=False)
    inspect = [Inspection(name="planted", sql=sql)] if sql else []
    phases: list[Phase] = [LoadPhase(sessions=2), CheckPhase()] if load else [CheckPhase()]
    events = talk(instance, ledger, *phases, seed=5, target=target, workload=workload, inspect=inspect)
    (checked,) = of(Checked, events)
    assert len([c for c in checked.conditions if c.name.startswith("condition_")]) == 12
    return {c.name for c in checked.conditions if not c.holds}


@pytest.mark.one_of_a_family
@pytest.mark.parametrize("engine", DIALECTS, indirect=True)
def test_each_planted_violation_is_found_and_named(
    engine: Engine, instance: Instance, tmp_path: Path, ledger: Ledger
) -> None:
    discard = FAMILIES[engine.family].discard
    target = instance.target()
    assert check(instance, target, ledger, load=True) == set()
    for planted in PLANTED:
        if discard:
            setup = [*target.setup, discard]
            found = check(instance, target.model_copy(update={"setup": setup}), ledger, planted.sql)
        else:
            (database,) = instance.database_files()
            copy = tmp_path / "copy.fdb"
            copy_tree(database, copy)
            found = check(instance, target.model_copy(update={"database": str(copy)}), ledger, planted.sql)
            copy.unlink()
        assert planted.condition in found, (planted, found)
        assert found <= {planted.condition, *planted.also}, (planted, found)
    assert check(instance, target, ledger) == set()


def test_every_condition_has_its_violation() -> None:
    assert [planted.condition.split("_")[1] for planted in PLANTED] == [str(n) for n in range(1, 13)]


# What new orders and payments have written, but for the moment of it.
WRITTEN = [
    "select count(*), sum(ol_amount), sum(hashtext(ol_dist_info)), sum(ol_i_id * ol_number), sum(ol_quantity) from order_line",
    "select sum(s_quantity), sum(s_ytd), sum(s_order_cnt), sum(s_remote_cnt) from stock",
    "select sum(d_next_o_id), sum(d_ytd) from district",
    "select count(*), sum(h_amount), sum(hashtext(h_data)) from history",
    "select count(*), sum(o_c_id), sum(o_all_local), sum(o_ol_cnt) from orders",
    "select sum(c_ytd_payment), sum(c_payment_cnt), sum(hashtext(c_data)) from customer",
]


@pytest.mark.parametrize("engine", ["postgresql-15"], indirect=True)
def test_statements_that_travel_together_do_what_they_do_one_by_one(
    anew: Callable[[], Instance], ledger: Ledger
) -> None:
    done = []
    for pipeline in (False, True):
        instance = anew()
        target = instance.target()
        assert isinstance(target, PostgresTarget)
        events = talk(
            instance, ledger, LoadPhase(sessions=2), run(1, 900, retries=0), CheckPhase(), AskPhase(questions=WRITTEN),
            seed=5, target=target.model_copy(update={"pipeline": pipeline}),
            workload=TpccWorkload(warehouses=2, percent=PERCENT, procedures=False, keying=False),
        )  # fmt: skip
        (checked,), (result,) = of(Checked, events), of(Result, events)
        assert [condition.name for condition in checked.conditions if not condition.holds] == []
        assert result.counts.rolled_back > 0
        kinds = [(kind.name, kind.committed, kind.rolled_back) for kind in result.kinds if kind.name != "delivery"]
        done.append((kinds, [event.rows for event in of(Answered, events)]))
    assert done[0] == done[1]
