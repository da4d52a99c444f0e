"""Orders of random products, written by a stored procedure: the benchmark that the Firebird project took apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from acidtest.journal.models import Warning
from acidtest.journal.protocol import WorkloadMessage
from acidtest.keys import Fixed, Form, Unset
from acidtest.workload.base import WorkloadSpec
from acidtest.workload.shape import TerminalClass

LINES_MAX = 6


class OrdersWorkload(WorkloadMessage):
    name: Literal["orders"] = "orders"
    products: int
    orders_per_call: int
    repeatable: bool
    lines: int = LINES_MAX


class OrdersClass(TerminalClass):
    """Terminals that call the procedure alike."""

    orders_per_call: Annotated[int | None, Unset("the workload's")] = Field(
        default=None, ge=1, le=10_000, description="One call of a terminal of the class writes this many orders."
    )
    lines: Annotated[int | None, Unset("the workload's")] = Field(
        default=None, ge=1, le=LINES_MAX, description="An order of the class has 1 to this many lines."
    )


class Orders(WorkloadSpec):
    """One call, which writes many orders, is one transaction."""

    MESSAGE = OrdersWorkload
    LOAD_S = 2.0
    NOT_LOADED = frozenset({"orders_per_call", "lines"})
    ALWAYS_WRITES = True

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
    lines: int = Field(
        default=LINES_MAX,
        ge=1,
        le=LINES_MAX,
        exclude_if=lambda lines: lines == LINES_MAX,  # version 0.1 had no other
        description="An order has 1 to this many lines, each of a random product.",
    )
    classes: Annotated[
        Sequence[OrdersClass],
        Form('[[workload.orders.classes]] name = "caller", orders_per_call = 100'),
        Unset("all terminals are alike"),
        Fixed("make it two workloads, each a table with classes"),
    ] = Field(
        default=(),
        exclude_if=lambda classes: not classes,
        description="The terminals are of these classes, at work at the same time, each with results of its own.",
    )
    repeatable: bool = Field(
        default=False,
        description="Products are drawn from a seed, the same in every run, and not by the engine's rand().",
    )

    def loaded_bytes(self) -> int:
        return self.products * 400

    def warnings(self, engine: str, *, has_procedures: bool) -> list[Warning]:
        if has_procedures:
            return []
        text = f"{engine} has no stored procedures: the client ran the statements of each call one by one."
        return [Warning(code="by-client", about="goodput_per_s", text=text)]
