"""Whether the data are large enough for the clients that work on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from acidtest.audit.bench import Bench, Published
from acidtest.audit.result_sides import product
from acidtest.audit.result_text import and_more, rate
from acidtest.finding import Found, listed, rule
from acidtest.words import counted

TPC_C = frozenset(("hammerdb", "benchbase", "oltpbench", "go-tpc", "tpcc-mysql", "benchmarksql"))

SEVERAL = frozenset(("benchbase", "oltpbench"))  # that run other workloads too, of which a scale counts something else


@rule(
    "scale-below-clients",
    severity="doubtful",
    says="There are fewer branches or warehouses than clients: they wait for each other, and locks are measured.",
    remedy="Load at least as many as there are clients (pgbench -i -s, warehouses), or state that contention is meant.",
    disproved_by="a text that says that contention is what is measured",
    source="PostgreSQL's manual of pgbench, Good Practices: the scale factor is to be at least the number of clients; "
    "TPC-C, clause 4.2: ten terminals belong to a warehouse, with keying and thinking times",
)
def scale_below_clients(bench: Bench) -> Iterator[Found]:
    if {"clients", "scale"} & bench.factors:
        return
    by_tool: dict[str, list[tuple[float, Published, int]]] = defaultdict(list)
    for one in (*bench.measured, *bench.plans):
        rows = _branches(one)
        if rows and one.terminals and one.terminals > rows:
            by_tool[one.tool].append((rows, one, one.terminals))
    for tool, of in by_tool.items():
        ranked = sorted(of, key=lambda one: -one[2] / one[0])
        rows, _, clients = ranked[0]
        noun = (
            counted(rows, "branch", "branches", spec=",g")
            if tool == "pgbench"
            else counted(rows, "warehouse", spec=",g")
        )
        more = and_more(len(of) - 1, "run", before="too few in ")
        evidence = (one.where.says(f"{counted(number, 'client')}, scale {scale:g}") for scale, one, number in ranked)
        yield Found(f"{counted(clients, 'client')} of {tool} on {noun}{more}.", tuple(dict.fromkeys(evidence)))


def _branches(one: Published) -> float | None:
    """How many rows there are that every transaction has to change one of; None of other workloads."""
    if one.tool == "pgbench":
        text = (one.script or one.name).lower()
        return one.scale if "tpc-b" in text else None
    if one.tool in SEVERAL and not one.warehouses:
        text = f"{one.script} {one.name} {one.where.file}".lower().replace("-", "")
        return one.scale if "tpcc" in text else None
    if one.tool in TPC_C or "tpcc" in one.script.lower().replace("-", ""):
        sets = one.parameters.get("tables", "1")  # of sysbench's TPC-C, each with so many warehouses
        held = one.warehouses or one.scale
        return held * int(sets) if held and one.tool == "sysbench" and sets.isdigit() else held
    return None


@rule(
    "in-process-against-server",
    severity="note",
    says="An engine within the program that measures is compared with one that is asked over a connection: each "
    "statement of the other is a round trip.",
    remedy="Name the round trips beside the figures, or measure work of many statements in one call.",
    disproved_by="the same round trip before each statement of both",
    source="SQLite's documentation, Appropriate Uses For SQLite: it does not compete with client/server databases",
)
def in_process_against_server(bench: Bench) -> Iterator[Found]:
    products: dict[str, Published] = {}
    for other in bench.others:
        if not other.planned and (name := product(other)):
            products.setdefault(name, other)
    if "sqlite" in products and len(products) > 1:
        evidence = tuple(product.where.says(f"{rate(product)} of {name}") for name, product in products.items())
        others = listed(name for name in products if name != "sqlite")
        yield Found(f"sqlite runs within the program that measures, and {others} behind a connection.", evidence)
