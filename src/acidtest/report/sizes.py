"""Sizes: of databases and logs as columns, of memory and of what was loaded as tables."""

from __future__ import annotations

from collections.abc import Sequence

from acidtest.analysis.sizes import differ
from acidtest.report.line import Line, Load
from acidtest.report.numbers import mib, number, share
from acidtest.report.table import Column, Table

EXPLAINED = (
    "MB are 10^6 bytes, medians of the repetitions. The database is its tables and indexes: when the measurement began "
    "→ at its largest, where it grew. The log is the engine's write-ahead or redo log at its largest."
)
MEMORY = (
    Column("row", lambda line: line.label, right=False),
    Column("Memory limit MiB", lambda line: mib(line.memory.limit_bytes), only="terminal"),
    Column("limit MiB", lambda line: mib(line.memory.limit_bytes), only="page"),
    Column("database MiB", lambda line: mib(line.memory.database_bytes)),
    Column("× limit", lambda line: number(line.memory.times_limit)),
    Column("peak MiB", lambda line: mib(line.memory.peak_bytes), drop=4),
    Column("start", lambda line: line.memory.start, right=False, only="page"),
    Column("access hint", lambda line: line.memory.access, right=False, only="page"),
    Column("cached at start", lambda line: share(line.memory.resident_at_start), drop=3),
    Column("at end", lambda line: share(line.memory.resident_at_end), drop=2),
    Column("pages read again", lambda line: number(line.memory.refaults), drop=1),
    Column(
        "waited for memory s",
        lambda line: number(line.memory.stalled_s) + (" (machine)" if line.memory.stalled_of == "machine" else ""),
        only="page",
    ),
    Column("for a device s", lambda line: number(line.memory.io_stalled_s), only="page"),
    Column("swapped out ≤ MiB", lambda line: mib(line.memory.swapped_bytes), only="page"),
    Column("left on the machine ≥ MiB", lambda line: mib(line.memory.machine_available_bytes), only="page"),
    Column("engine's cache MiB", lambda line: mib(line.memory.cache_bytes), only="page"),
    Column("in both caches ≤ MiB", lambda line: mib(line.memory.twice_bytes_max), drop=5),
    Column("fetched a read, bytes", lambda line: number(line.memory.fetched_per_read), only="page"),
)
MEMORY_EXPLAINED = (
    "Medians of the repetitions. “Cached” is the part of the database's files in the operating system's file cache, "
    "“pages read again” those that were pushed out and needed again during the measurement. “In both caches” is an "
    "upper bound of what engine and file cache held twice at the end: the smaller of the engine's cache and what the "
    "file cache held of the database. “Waited” is the time in which some process waited for memory, or for a device, "
    "on the whole machine where the kernel has no figure for the group. “Swapped out” is the most of the engine's "
    "memory at any time, “left on the machine” the least memory that the whole machine had available: the rest of it "
    "starves where that nears nothing."
)
LOADS = (
    Column("database of", lambda one: one.label, right=False),
    Column("rows", lambda one: f"{one.loaded.rows:,}"),
    Column("MB", lambda one: number(one.loaded.bytes / 1e6)),
    Column("s", lambda one: number(one.loaded.seconds)),
    Column("rows/s", lambda one: number(one.loaded.rows_per_s)),
    Column("MB/s", lambda one: number(one.loaded.mb_per_s)),
    Column("sessions", lambda one: str(one.loaded.sessions)),
)


def memory(lines: Sequence[Line]) -> Table:
    """Of the rows of which it is known. Limits and sizes are MiB."""
    held = [line for line in lines if line.memory]
    return Table(MEMORY, held, "memory", page_title="Memory", page_explained=MEMORY_EXPLAINED)


def loads(of: Sequence[Load]) -> Table:
    """How databases were loaded."""
    return Table(LOADS, of)


def _mb(size: float | None) -> str:
    return number(size / 1e6) if size is not None else "–"


def _database(line: Line) -> str:
    one = line.sizes
    if one is None:
        return "–"
    return _mb(one.database_bytes) + (f" → {_mb(one.database_bytes_max)}" if one.database_grew else "")


def columns(lines: Sequence[Line], *, database: bool = True) -> list[Column]:
    """Of what differs between rows, or grew while it was measured."""
    seen = [line.sizes for line in lines if line.sizes]
    logs = [one.log_bytes_max for one in seen if one.log_bytes_max is not None]
    shown = []
    if database and (differ([one.database_bytes for one in seen]) or any(one.database_grew for one in seen)):
        shown.append(Column("database MB", _database, drop=4))
    if differ(logs) or any(one.log_grew for one in seen):
        shown.append(Column("log MB", lambda line: _mb(line.sizes.log_bytes_max if line.sizes else None), drop=4))
    return shown
