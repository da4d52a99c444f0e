"""Why the numbers of a cell must not be used: what is amiss, and which of several reasons comes first."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from acidtest.conductor.recording import CellOutcome
from acidtest.conductor.validity import doubts, why_invalid
from acidtest.journal.models import SettingInForce
from acidtest.journal.protocol import Checked, Condition
from acidtest.workload.scan import Scan
from acidtest.workload.tpcb import Tpcb
from factory import result

WORKLOAD = Tpcb(kind="tpcb", count=10)


def setting(name: str = "synchronous", asked: str = "full", in_force: str = "full") -> SettingInForce:
    return SettingInForce(name=name, asked=asked, in_force=in_force, agrees=asked == in_force, source="PRAGMA")


def checked(broken: str = "", left_out: str = "") -> Checked:
    names = [name for name in WORKLOAD.conditions() if name != left_out]
    conditions = [Condition(name=name, holds=name != broken, detail=f"of {name}") for name in names]
    return Checked(seconds=0.1, conditions=conditions)


def outcome(**changes: Any) -> CellOutcome:
    sound: dict[str, Any] = {
        "settings": [setting()],
        "checks_before": checked(),
        "checks_after": checked(),
        "result": result(),
    }
    return CellOutcome(**(sound | changes))


FIRST = WORKLOAD.conditions()[0]
BROKEN = f"there are more or fewer branches than were loaded: of {FIRST} ({FIRST})"
WRONG = setting(in_force="off")
EMPTY = result().model_copy(update={"counts": result().counts.model_copy(update={"committed": 0})})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"settings": []}, "the engine did not answer which settings are in force"),
        ({"settings": [WRONG]}, "synchronous: asked for full, in force is off (PRAGMA)"),
        ({"settings": [], "place_settings": [WRONG]}, "synchronous: asked for full, in force is off (PRAGMA)"),
        ({"settings": [WRONG], "memory_settings": [WRONG]}, "synchronous: asked for full, in force is off (PRAGMA) (and 1 more)"),
        ({"checks_before": checked(broken=FIRST)}, f"consistency before the run: {BROKEN}"),
        ({"checks_after": checked(broken=FIRST)}, f"consistency after the run: {BROKEN}"),
        ({"checks_after": checked(left_out=FIRST)}, f"consistency after the run: {FIRST} was not checked"),
        ({"checks_before": None}, "the rig ended without a result or a consistency check"),
        ({"checks_after": None}, "the rig ended without a result or a consistency check"),
        ({"checks_after": None, "needs_checks": False}, None),
        ({"result": None}, "the rig ended without a result or a consistency check"),
        ({"result": EMPTY}, "no transaction was committed"),
        ({"settings": [WRONG], "wrong": "statistics of the database: damaged"}, "statistics of the database: damaged"),
        ({"settings": [WRONG], "checks_after": checked(broken=FIRST)}, "synchronous: asked for full, in force is off (PRAGMA)"),
    ],
)  # fmt: skip
def test_the_reason_is_the_first_that_applies(changes: dict[str, Any], reason: str | None) -> None:
    assert why_invalid(outcome(**changes), WORKLOAD) == reason


def test_a_check_after_the_load_is_that_of_the_workload_it_was_loaded_for() -> None:
    natural, indexed = (Scan(kind="scan", size_mb=1, count=1, read=read) for read in ("natural", "indexed"))

    def of(spec: Scan) -> Checked:
        return Checked(seconds=0.1, conditions=[Condition(name=n, holds=True, detail="") for n in spec.conditions()])

    found = outcome(checks_before=of(natural), checks_after=of(indexed))
    assert why_invalid(found, indexed) == "consistency before the run: plan_is_indexed was not checked"
    found.checked_for = natural
    assert why_invalid(found, indexed) is None
    assert why_invalid(found, natural) == "consistency after the run: plan_is_natural was not checked"


def test_settings_that_nothing_shows_are_told() -> None:
    cell, engine = Mock(workload=WORKLOAD), Mock(id="firebird-3.0", notes=list, has_procedures=True, private=True)
    unseen = [
        setting(name).model_copy(update={"in_force": None, "agrees": None}) for name in ("temp_cache", "gc_policy")
    ]
    told = doubts(cell, engine, outcome(settings=[setting(), *unseen]))
    (warning,) = [one for one in told if one.code == "not-verifiable"]
    assert warning.text.endswith("this version cannot be asked: temp_cache, gc_policy.")
    assert doubts(cell, engine, outcome()) == [one for one in told if one is not warning]
