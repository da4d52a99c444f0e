"""TPC-C-like: order entry in warehouses. Never to be compared with published TPC results, and never called tpmC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from acidtest.journal.protocol import WorkloadMessage
from acidtest.workload.base import GrowingWorkload

# Measured with pages of 4 kB on SQLite and the engines' own elsewhere: a hundredth of a whole warehouse, its indexes
# included, and what is there without any. A load measures both anew.
WAREHOUSE_BYTES = {"sqlite": 774_000, "firebird": 1_030_000, "postgresql": 1_090_000, "mysql": 915_000}
FIXED_BYTES = {"sqlite": 66_000, "firebird": 180_000, "postgresql": 220_000, "mysql": 300_000}
# Of a family that was never measured: the largest seen.
WAREHOUSE_BYTES_MAX, FIXED_BYTES_MAX = max(WAREHOUSE_BYTES.values()), max(FIXED_BYTES.values())


class TpccWorkload(WorkloadMessage):
    name: Literal["tpcc"] = "tpcc"
    warehouses: int
    percent: int = 100  # rows of a warehouse, of the specification's
    procedures: bool
    keying: bool
    roaming: bool = False  # another warehouse for each transaction


class Tpcc(GrowingWorkload):
    """After TPC Benchmark C, revision 5.11."""

    UNIT_OF_SIZE: ClassVar[str] = "warehouses"
    LOAD_S: ClassVar[float] = 8.0
    # Terminals that stay at home never see most of what was added.
    GROWN_DEFAULTS: ClassVar[Mapping[str, Any]] = {"roaming": True}
    WRITING_KINDS: ClassVar[tuple[str, ...]] = ("new_order", "payment")  # a delivery may find nothing to deliver

    kind: Literal["tpcc"] = "tpcc"
    warehouses: int = Field(default=1, ge=1, le=100_000, description="the scale")
    warehouse_percent: int = Field(default=100, ge=1, le=100, description="rows of a warehouse; 100: as TPC-C")
    procedures: bool = Field(default=False, description="one stored procedure a transaction")
    keying: bool = Field(default=False, description="keying and think times of clause 5.2.5")
    roaming: bool = Field(default=False, description="terminals go to another warehouse for each transaction")

    def message(self) -> TpccWorkload:
        return TpccWorkload(
            warehouses=self.warehouses,
            percent=self.warehouse_percent,
            procedures=self.procedures,
            keying=self.keying,
            roaming=self.roaming,
        )

    def loaded_bytes(self) -> int:
        return self.warehouses * self.warehouse_percent * 1_600_000

    def load_s(self) -> float:
        return super().load_s() * self.warehouse_percent / 100

    def needs_procedures(self) -> bool:
        return self.procedures

    def unit_bytes(self, family: str) -> int:
        return self.warehouse_percent * WAREHOUSE_BYTES.get(family, WAREHOUSE_BYTES_MAX)

    def fixed_bytes(self, family: str) -> int:
        return self.warehouse_percent * FIXED_BYTES.get(family, FIXED_BYTES_MAX)

    def shape(self) -> str:
        return str(self.warehouse_percent)

    def conditions(self) -> tuple[str, ...]:
        return (
            "warehouse_cardinality",
            "district_cardinality",
            "customer_cardinality",
            "item_cardinality",
            "stock_cardinality",
            "new_orders_match_acknowledged",
            "payments_match_acknowledged",
            "condition_1_warehouse_ytd",
            "condition_2_next_order",
            "condition_3_new_orders_without_gaps",
            "condition_4_district_lines",
            "condition_5_carrier_or_new_order",
            "condition_6_order_lines",
            "condition_7_delivery_dates",
            "condition_8_warehouse_history",
            "condition_9_district_history",
            "condition_10_customer_balance",
            "condition_11_orders_delivered",
            "condition_12_customer_payments",
            "deliveries_seldom_skipped",
        )
