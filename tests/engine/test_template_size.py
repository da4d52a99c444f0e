"""How large a loaded database is taken to be, before there is one."""

from __future__ import annotations

from acidtest.conductor.template import template_bytes
from acidtest.engine import catalogue
from acidtest.workload.commits import Commits
from acidtest.workload.tpcc import Tpcc, TpccWorkload


def test_smaller_warehouses_take_less_room_and_are_asked_of_the_rig() -> None:
    def spec(percent: int) -> Tpcc:
        return Tpcc(warehouses=20, warehouse_percent=percent, roaming=True, count=1)

    sqlite = catalogue.find("sqlite")
    empty = template_bytes(Commits(row_bytes=20, count=1), sqlite)
    whole, tenth = template_bytes(spec(100), sqlite) - empty, template_bytes(spec(10), sqlite) - empty
    assert (whole, tenth) == (20 * 160_000_000, 2 * 160_000_000)
    asked = TpccWorkload(warehouses=20, percent=10, procedures=False, keying=False, roaming=True)
    assert spec(10).message() == asked
