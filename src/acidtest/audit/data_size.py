"""How large the data are that tools are asked to load, by what is known of their rows."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.audit.amounts import number
from acidtest.audit.bench import Bench, Published
from acidtest.words import counted

# Bytes with indexes: sysbench's sbtest (id, k, c char(120), pad char(60)); pgbench -i, one branch; YCSB's ten fields of
# 100 bytes; a warehouse of TPC-C, clause 1.2.1, with what the population of clause 4.3 makes of it.
SYSBENCH_ROW = 240
PGBENCH_BRANCH = 15_700_000
YCSB_FIELDS, YCSB_FIELD = 10, 100
WAREHOUSE = 100_000_000
OF_WAREHOUSES = frozenset(("hammerdb",))


def known(bench: Bench) -> Iterator[tuple[int, str, Published]]:
    """The size of each data set that a tool loads or works on, in bytes, with how that is told."""
    for one in bench.others:
        told = _of(one)
        if told is not None and told[0] > 0:
            yield *told, one


def _of(one: Published) -> tuple[int, str] | None:
    if (
        one.tool == "pgbench"
        and one.scale
        and (not one.script or "tpc-b" in one.script.lower() or one.script in PGBENCHS)
    ):
        return int(one.scale * PGBENCH_BRANCH), f"the branches of pgbench's scale {one.scale:g}"
    if one.tool == "sysbench" and one.script.startswith(("oltp", "select_random", "bulk")):
        rows, tables = _number(one, "rowsatable"), _number(one, "tables", "oltptablescount")
        if rows is None or (tables is None and any(_plain(name) in TABLES for name in one.parameters)):
            return None  # that is in a variable which nobody fills in
        told = counted(tables or 1, "table", spec=",.0f")
        return int(rows * (tables or 1) * SYSBENCH_ROW), f"sysbench's {told} of {counted(rows, 'row', spec=',.0f')}"
    if one.tool == "ycsb" and (records := one.scale or _number(one, "recordcount")):
        field = (_number(one, "fieldcount") or YCSB_FIELDS) * (_number(one, "fieldlength") or YCSB_FIELD)
        return int(records * field), f"{counted(records, 'record', spec=',.0f')} of YCSB"
    if one.tool in OF_WAREHOUSES and (one.warehouses or one.scale) and "tpch" not in one.script.lower():
        held = one.warehouses or int(one.scale or 0)
        return held * WAREHOUSE, f"TPC-C's data of {counted(held, 'warehouse')}"
    return None


PGBENCHS = frozenset(("initialize", "select only", "simple update", "select-only", "simple-update", "tpcb-like"))
TABLES = frozenset(("tables", "oltptablescount"))


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def _number(one: Published, *names: str) -> float | None:
    return next((number(value) for name, value in one.parameters.items() if _plain(name) in names), None)
