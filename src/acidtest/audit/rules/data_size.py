"""Whether the data are as large as they must be: by the databases themselves, and by what tools are asked to load."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest import settings
from acidtest.audit.amounts import number
from acidtest.audit.bench import Bench, Published, Setting, Side
from acidtest.audit.rules.builds import INVESTIGATION
from acidtest.audit.rules.firebird import databases, means_drive
from acidtest.finding import Evidence, Found, rule
from acidtest.words import counted

SMALLEST_CACHE = 128 << 20  # of PostgreSQL and InnoDB, if nobody sets it
DEVICE_CACHE = 1 << 30  # of a cheap RAID controller: 1 to 2 GB
EXCEEDS = 2  # a database is to be two to three times the cache that it means to exceed
# Bytes with indexes: sysbench's sbtest (id, k, c char(120), pad char(60)); pgbench -i, one branch; YCSB's ten fields of
# 100 bytes; a warehouse of TPC-C, clause 1.2.1, with what the population of clause 4.3 makes of it.
SYSBENCH_ROW = 240
PGBENCH_BRANCH = 15_700_000
YCSB_FIELDS, YCSB_FIELD = 10, 100
WAREHOUSE = 100_000_000
OF_WAREHOUSES = frozenset(("hammerdb",))


@rule(
    "database-too-small",
    severity="doubtful",
    says="The database fits into a cache that it is meant to exceed.",
    remedy="Two to three times the largest cache on the way: the engine's, the device's (1 to 2 GB even in a cheap "
    "controller), and for a test of the drive the memory's.",
    disproved_by="sizes of the caches while it was measured, smaller than the database",
    source=INVESTIGATION,
)
def database_too_small(bench: Bench) -> Iterator[Found]:
    known = [database for side in bench.sides for database in side.databases if database.bytes]
    claims = bench.said("database size")
    sizes = [(side.bytes or 0, side.says("bytes", f"{(side.bytes or 0) / 1e6:,.0f} MB")) for side in known]
    sizes += [(int(claim.value or 0), claim.where.says(claim.text)) for claim in claims]
    if not sizes or not any(means_drive(bench)):
        yield from _held_in_cache(bench)
        return
    largest = max(size for size, _ in sizes)
    caches = list(_caches(bench))
    exceeded = [(size, what, evidence) for size, what, evidence in caches if largest < EXCEEDS * size]
    if exceeded:
        size, what, _ = max(exceeded, key=lambda one: one[0])
        text = f"The largest database has {largest / 1e6:,.0f} MB; {what} has {size / 1e6:,.0f} MB"
        text += " and holds all of it." if largest <= size else ", and it should be at least twice that."
        yield Found(text, (*(evidence for _, evidence in sizes), *(e for _, _, e in exceeded if e.file)))


def _held_in_cache(bench: Bench) -> Iterator[Found]:
    """Data that tools load, all of which the engine's own cache holds: what is measured is no drive."""
    if {"scale", "memory", "caches"} & bench.factors:
        return
    loaded = list(_loaded(bench))
    if not loaded:
        return
    largest = max(size for size, _, _ in loaded)
    set_ = [(amount, asked) for _, amount, asked in _set_caches(bench)]
    cache, asked = min(set_, key=lambda one: one[0], default=(SMALLEST_CACHE, None))
    if largest > cache:
        return
    told = next(text for size, text, _ in loaded if size == largest)
    held = (
        f"{asked.written or asked.name} = {asked.value}"
        if asked
        else "the smallest cache that any engine has by default"
    )
    text = f"{told[:1].upper()}{told[1:]} come to about {largest / 1e6:,.0f} MB, and {held} holds all of that."
    evidence = dict.fromkeys(one.where.says(text) for _, text, one in loaded)
    # That all is in memory may be meant.
    yield Found(text, (*evidence, *([asked.says()] if asked else [])), "guessed", noted=True)


def _set_caches(bench: Bench) -> Iterator[tuple[Side, int, Setting]]:
    """The page cache that each side of MySQL, MariaDB or PostgreSQL is given, in bytes."""
    for side in bench.sides:
        for name in ("innodb_buffer_pool_size", "shared_buffers"):
            asked = next(side.settings(name), None)
            if asked and (amount := settings.size(settings.of(side.engine).alike(name, asked.value))):
                yield side, amount, asked


def _caches(bench: Bench) -> Iterator[tuple[int, str, Evidence]]:
    """What could hold the database, in bytes."""
    for database in databases(bench):
        if database.buffers and database.page_bytes:
            size = database.buffers * database.page_bytes
            for evidence in database.says(f"{counted(database.buffers, 'buffer')} of {database.page_bytes:,} bytes"):
                yield size, f"{database.side.name}'s page cache", evidence
    for side, amount, asked in _set_caches(bench):
        yield amount, f"{side.name}'s page cache", asked.says()
    yield DEVICE_CACHE, "the cache of a cheap controller", Evidence("the cache of a cheap controller: 1 GB")
    # Which of several machines held the database is not known: what holds for the smallest holds for all.
    memory = bench.said("memory")
    if memory:
        claim = min(memory, key=lambda one: one.value or 0)
        yield int(claim.value or 0), "the memory", claim.where.says(claim.text)


REPAIRED = ((2, 1, 5), (2, 5, 2))  # versions from which on files are not opened with FILE_FLAG_RANDOM_ACCESS


def _loaded(bench: Bench) -> Iterator[tuple[int, str, Published]]:
    """The size of each data set that a tool loads or works on, in bytes, with how that is told."""
    for other in bench.others:
        told = _of(other)
        if told is not None and told[0] > 0:
            yield *told, other


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
        text = counted(tables or 1, "table", spec=",.0f")
        return int(rows * (tables or 1) * SYSBENCH_ROW), f"sysbench's {text} of {counted(rows, 'row', spec=',.0f')}"
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
