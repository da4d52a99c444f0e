"""A database that warehouses are added to, on every engine: it is as if all had been loaded at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from acidtest import families
from acidtest.engine import Instance
from acidtest.errors import CellFailed
from acidtest.journal.protocol import Answered, AskPhase, Checked, CheckPhase, Event, LoadPhase, Phase
from acidtest.place import Ledger
from acidtest.workload.tpcc import TpccWorkload
from rig_jobs import of, run, talk
from support import DIALECTS

TABLES = ("item", "warehouse", "stock", "district", "customer", "history", "orders", "order_line", "new_order")
ALL = [AskPhase(questions=[f"select * from {table}" for table in TABLES])]
RUN = run(2, 150)


def done(instance: Instance, ledger: Ledger, warehouses: int, phases: list[Phase], percent: int = 1) -> list[Event]:
    family = families.of_word(instance.target().engine)
    workload = TpccWorkload(
        warehouses=warehouses,
        percent=percent,
        procedures=family is not None and family.has_procedures,
        keying=False,
        roaming=True,
    )
    events = talk(instance, ledger, *phases, workload=workload, seed=5)
    broken = [condition for checked in of(Checked, events) for condition in checked.conditions if not condition.holds]
    assert not broken
    return events


def rows(instance: Instance, ledger: Ledger, phases: list[Phase], warehouses: int = 4) -> dict[str, list[list[str]]]:
    """Of every table, after ``phases``."""
    answers = of(Answered, done(instance, ledger, warehouses, [*phases, *ALL]))
    return {e.question: sorted([cell or "" for cell in row] for row in e.rows) for e in answers}


@pytest.mark.one_of_a_family
@pytest.mark.parametrize("engine", DIALECTS, indirect=True)
def test_warehouses_added_to_a_database_are_those_of_a_load_at_once(
    anew: Callable[[], Instance], ledger: Ledger
) -> None:
    grown = anew()
    with pytest.raises(CellFailed, match="loading the database: the database does not hold 2 warehouses: "):
        done(grown, ledger, 4, [LoadPhase(from_units=2)])
    done(grown, ledger, 2, [LoadPhase(sessions=2), CheckPhase()])
    for from_units, percent in ((1, 1), (3, 1), (2, 2)):
        with pytest.raises(CellFailed, match="loading the database: the database holds "):
            done(grown, ledger, 4, [LoadPhase(from_units=from_units)], percent)
    found = rows(grown, ledger, [LoadPhase(sessions=2, from_units=2), CheckPhase()])
    done(grown, ledger, 4, [RUN, CheckPhase()])
    at_work = CheckPhase(at_least=[0] * 5)
    done(grown, ledger, 5, [LoadPhase(from_units=4), at_work, RUN, at_work])
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
