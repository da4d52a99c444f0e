"""Orders of random products, written by a stored procedure: the benchmark that the Firebird project took apart."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from acidtest.journal.models import Warning
from acidtest.journal.protocol import WorkloadMessage
from acidtest.workload.base import WorkloadSpec


class OrdersWorkload(WorkloadMessage):
    name: Literal["orders"] = "orders"
    products: int
    orders_per_call: int
    repeatable: bool


class Orders(WorkloadSpec):
    """One call, which writes many orders, is one transaction."""

    LOAD_S: ClassVar[float] = 2.0
    ALWAYS_WRITES: ClassVar[bool] = True

    kind: Literal["orders"] = "orders"
    products: int = Field(default=10_000, ge=1, le=10_000_000, description="products with an inventory")
    orders_per_call: int = Field(default=100, ge=1, le=10_000, description="written by one transaction")
    repeatable: bool = Field(default=False, description="the same products in every run")

    def message(self) -> OrdersWorkload:
        return OrdersWorkload(products=self.products, orders_per_call=self.orders_per_call, repeatable=self.repeatable)

    def loaded_bytes(self) -> int:
        return self.products * 400

    def warnings(self, engine: str, *, has_procedures: bool) -> list[Warning]:
        if has_procedures:
            return []
        text = f"{engine} has no stored procedures: the client ran the statements of each call one by one."
        return [Warning(code="by-client", about="goodput_per_s", text=text)]

    def conditions(self) -> tuple[str, ...]:
        return (
            "customer_cardinality",
            "product_cardinality",
            "inventory_cardinality",
            "orders_match_acknowledged",
            "each_order_has_1_to_6_lines",
            "each_order_has_the_lines_it_counts",
            "each_order_costs_what_its_lines_do",
            "each_total_is_net_and_tax",
            "each_line_has_1_to_4_pieces",
            "each_inventory_lacks_what_its_lines_took",
        )
