"""Orders of random products, written by a stored procedure: the benchmark that the Firebird project took apart."""

from __future__ import annotations

from collections.abc import Mapping
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

    CONDITIONS: ClassVar[Mapping[str, str]] = {
        "customer_cardinality": "there are more or fewer customers than were loaded",
        "product_cardinality": "there are more or fewer products than were loaded",
        "inventory_cardinality": "there are more or fewer rows of inventory than were loaded",
        "orders_match_acknowledged": "there are not as many orders as were acknowledged",
        "each_order_has_1_to_6_lines": "an order has no line, or more than six",
        "each_order_has_the_lines_it_counts": "an order has other lines than it counts",
        "each_order_costs_what_its_lines_do": "the amount of an order is not the sum of its lines",
        "each_total_is_net_and_tax": "the total of an order is not its amount and its tax",
        "each_line_has_1_to_4_pieces": "a line has no piece, or more than four",
        "each_inventory_lacks_what_its_lines_took": "the inventory does not lack what the order lines took",
    }

    kind: Literal["orders"] = "orders"
    products: int = Field(default=10_000, ge=1, le=10_000_000, description="This many products have an inventory.")
    orders_per_call: int = Field(
        default=100, ge=1, le=10_000, description="One call, which is one transaction, writes this many orders."
    )
    repeatable: bool = Field(
        default=False,
        description="Products are drawn from a seed, the same in every run, and not by the engine's rand().",
    )

    def message(self) -> OrdersWorkload:
        return OrdersWorkload(products=self.products, orders_per_call=self.orders_per_call, repeatable=self.repeatable)

    def loaded_bytes(self) -> int:
        return self.products * 400

    def warnings(self, engine: str, *, has_procedures: bool) -> list[Warning]:
        if has_procedures:
            return []
        text = f"{engine} has no stored procedures: the client ran the statements of each call one by one."
        return [Warning(code="by-client", about="goodput_per_s", text=text)]
