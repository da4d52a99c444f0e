"""A database that warehouses are added to, on every engine: it is as if all had been loaded at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from acidtest import families
from acidtest.conductor.rig import converse
from acidtest.engine import Instance
from acidtest.errors import CellFailed
from acidtest.journal.protocol import (
    Answered,
    AskPhase,
    Checked,
    CheckPhase,
    ClosedLoop,
    Count,
    Event,
    Job,
    LoadPhase,
    Phase,
    RunPhase,
)
from acidtest.place import Ledger
from acidtest.workload.tpcc import TpccWorkload
from support import DIALECTS

TABLES = ("item", "warehouse", "stock", "district", "customer", "history", "orders", "order_line", "new_order")
ALL = [AskPhase(questions=[f"select * from {table}" for table in TABLES])]
RUN = RunPhase(terminals=2, pacing=ClosedLoop(think_ms=0), warmup_s=0, extent=Count(transactions=150), retries=10)


def talk(instance: Instance, ledger: Ledger, warehouses: int, phases: list[Phase], percent: int = 1) -> list[Event]:
    family = families.of_word(instance.target().engine)
    workload = TpccWorkload(
        warehouses=warehouses,
        percent=percent,
        procedures=family is not None and family.has_procedures,
        keying=False,
        roaming=True,
    )
    job = Job(seed=5, target=instance.target(), workload=workload, inspect=[], phases=phases)
    events = list(converse(job, ledger, instance.environment()))
    broken = [c for e in events if isinstance(e, Checked) for c in e.conditions if not c.holds]
    assert not broken
    return events


def rows(instance: Instance, ledger: Ledger, phases: list[Phase], warehouses: int = 4) -> dict[str, list[list[str]]]:
    """Of every table, after ``phases``."""
    answers = [e for e in talk(instance, ledger, warehouses, [*phases, *ALL]) if isinstance(e, Answered)]
    return {e.question: sorted([cell or "" for cell in row] for row in e.rows) for e in answers}


@pytest.mark.one_of_a_family
@pytest.mark.parametrize("engine", DIALECTS, indirect=True)
def test_warehouses_added_to_a_database_are_those_of_a_load_at_once(
    anew: Callable[[], Instance], ledger: Ledger
) -> None:
    grown = anew()
    with pytest.raises(CellFailed, match="loading the database: the database does not hold 2 warehouses: "):
        talk(grown, ledger, 4, [LoadPhase(from_units=2)])
    talk(grown, ledger, 2, [LoadPhase(sessions=2), CheckPhase()])
    for from_units, percent in ((1, 1), (3, 1), (2, 2)):
        with pytest.raises(CellFailed, match="loading the database: the database holds "):
            talk(grown, ledger, 4, [LoadPhase(from_units=from_units)], percent)
    found = rows(grown, ledger, [LoadPhase(sessions=2, from_units=2), CheckPhase()])
    talk(grown, ledger, 4, [RUN, CheckPhase()])
    at_work = CheckPhase(at_least=[0] * 5)
    talk(grown, ledger, 5, [LoadPhase(from_units=4), at_work, RUN, at_work])
    wanted = rows(anew(), ledger, [LoadPhase(sessions=2), CheckPhase()])
    assert [len(table) for table in found.values()] == [
        1_000,
        4,
        4_000,
        40,
        *[1_200] * 3,
        len(wanted[ALL[0].questions[7]]),
        360,
    ]
    for question in ALL[0].questions:
        assert found[question] == wanted[question], question
