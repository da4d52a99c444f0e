"""The twelve conditions of tpcc on every engine: they hold after a load, and what breaks each is found and named."""

from __future__ import annotations

from pathlib import Path

import pytest
from planted import PERCENT, PLANTED

from acidtest.conductor.rig import converse
from acidtest.engine import Instance, catalogue
from acidtest.journal.protocol import Checked, CheckPhase, Inspection, Job, LoadPhase, Phase, Target
from acidtest.place import Ledger
from acidtest.place.trees import copy_tree
from acidtest.workload.tpcc import TpccWorkload
from families import FAMILIES
from support import DIALECTS


def check(instance: Instance, target: Target, ledger: Ledger, sql: str | None = None, load: bool = False) -> set[str]:
    """Names of the conditions that do not hold, after ``sql``."""
    workload = TpccWorkload(warehouses=1, percent=PERCENT, procedures=False, keying=False)
    inspect = [Inspection(name="planted", sql=sql)] if sql else []
    phases: list[Phase] = [LoadPhase(sessions=2), CheckPhase()] if load else [CheckPhase()]
    job = Job(seed=5, target=target, workload=workload, inspect=inspect, phases=phases)
    events = converse(job, ledger, instance.environment())
    (checked,) = (event for event in events if isinstance(event, Checked))
    assert len([c for c in checked.conditions if c.name.startswith("condition_")]) == 12
    return {c.name for c in checked.conditions if not c.holds}


@pytest.mark.parametrize("id", DIALECTS)
def test_each_planted_violation_is_found_and_named(
    id: str,  # noqa: A002
    engines_installed: None,
    tmp_path: Path,
    ledger: Ledger,
) -> None:
    engine = catalogue.find(id)
    discard = FAMILIES[engine.family].discard
    instance = engine.create(tmp_path, {})
    instance.start(ledger)
    try:
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
    finally:
        instance.release()


def test_every_condition_has_its_violation() -> None:
    assert [planted.condition.split("_")[1] for planted in PLANTED] == [str(n) for n in range(1, 13)]
