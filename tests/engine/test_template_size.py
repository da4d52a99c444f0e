"""How large a loaded database is taken to be, before there is one."""

from __future__ import annotations

from acidtest.conductor.jobs import template_bytes, workload_of
from acidtest.engine import catalogue
from acidtest.experiment import WorkloadSpec
from acidtest.journal.protocol import TpccWorkload


def test_smaller_warehouses_take_less_room_and_are_asked_of_the_rig() -> None:
    def spec(percent: int) -> WorkloadSpec:
        return WorkloadSpec(kind="tpcc", warehouses=20, warehouse_percent=percent, roaming=True, count=1)

    sqlite = catalogue.find("sqlite")
    empty = template_bytes(WorkloadSpec(kind="commits", row_bytes=20, count=1), sqlite)
    whole, tenth = template_bytes(spec(100), sqlite) - empty, template_bytes(spec(10), sqlite) - empty
    assert (whole, tenth) == (20 * 160_000_000, 2 * 160_000_000)
    asked = TpccWorkload(warehouses=20, percent=10, procedures=False, keying=False, roaming=True)
    assert workload_of(spec(10)) == asked
