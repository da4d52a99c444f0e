"""TPC-C-like: order entry in warehouses. Never to be compared with published TPC results, and never called tpmC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from acidtest.journal.protocol import WorkloadMessage
from acidtest.keys import PERCENT
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

    UNIT_OF_SIZE = "warehouses"
    LOAD_S = 8.0
    # Terminals that stay at home never see most of what was added.
    GROWN_DEFAULTS: ClassVar[Mapping[str, Any]] = {"roaming": True}
    TRANSACTION_KINDS = ("new_order", "payment", "order_status", "delivery", "stock_level")
    WRITING_KINDS = ("new_order", "payment")  # a delivery may find nothing to deliver

    CONDITIONS: ClassVar[Mapping[str, str]] = {
        "warehouse_cardinality": "there are more or fewer warehouses than were loaded",
        "district_cardinality": "there are more or fewer districts than were loaded",
        "customer_cardinality": "there are more or fewer customers than were loaded",
        "item_cardinality": "there are more or fewer items than were loaded",
        "stock_cardinality": "there are more or fewer rows of stock than were loaded",
        "new_orders_match_acknowledged": "there are not as many new orders as were acknowledged",
        "payments_match_acknowledged": "there are not as many payments as were acknowledged",
        "condition_1_warehouse_ytd": "what a warehouse was paid is not the sum of its districts (TPC-C's condition 1)",
        "condition_2_next_order": "the next number of an order does not follow the last one (TPC-C's condition 2)",
        "condition_3_new_orders_without_gaps": "the numbers of new orders have gaps (TPC-C's condition 3)",
        "condition_4_district_lines": "a district has other order lines than its orders count (TPC-C's condition 4)",
        "condition_5_carrier_or_new_order": "an order has a carrier and is still new, or neither (TPC-C's condition 5)",
        "condition_6_order_lines": "an order has other lines than it counts (TPC-C's condition 6)",
        "condition_7_delivery_dates": "an order and its lines are not delivered alike (TPC-C's condition 7)",
        "condition_8_warehouse_history": "what a warehouse was paid is not in the history (TPC-C's condition 8)",
        "condition_9_district_history": "what a district was paid is not in the history (TPC-C's condition 9)",
        "condition_10_customer_balance": "a customer's balance is not orders less payments (TPC-C's condition 10)",
        "condition_11_orders_delivered": "orders that are not new were not all delivered (TPC-C's condition 11)",
        "condition_12_customer_payments": "a customer's balance and payments are not the orders (TPC-C's condition 12)",
        "deliveries_seldom_skipped": "too many deliveries found no order to deliver",
    }

    kind: Literal["tpcc"] = "tpcc"
    warehouses: int = Field(default=1, ge=1, le=100_000, description="There are this many warehouses.")
    warehouse_percent: Annotated[int, PERCENT] = Field(
        default=100, ge=1, le=100, description="A warehouse has this share of the rows that TPC-C gives it."
    )
    procedures: bool = Field(default=False, description="Each transaction is one call of a stored procedure.")
    keying: bool = Field(default=False, description="Terminals key and think as long as clause 5.2.5 of TPC-C says.")
    roaming: bool = Field(default=False, description="Terminals go to another warehouse for each transaction.")

    def message(self) -> TpccWorkload:
        return TpccWorkload(
            warehouses=self.warehouses,
            percent=self.warehouse_percent,
            procedures=self.procedures,
            keying=self.keying,
            roaming=self.roaming,
        )

    def mixed_kinds(self) -> tuple[str, ...]:
        return self.TRANSACTION_KINDS

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
