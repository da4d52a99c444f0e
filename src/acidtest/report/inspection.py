"""``acidtest inspect`` in a terminal and as JSON: what is unusual first, then figures, tables and indexes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.console import Console
from rich.text import Text

from acidtest.analysis.health import Sign, signs
from acidtest.journal.inspected import Inspected, Reading
from acidtest.report.growth_tables import shown
from acidtest.report.statistics_tables import tables_of
from acidtest.report.table import NOTHING, Cell, Column, Table, print_table
from acidtest.words import counted, harmless

ROWS_MAX = 20  # tables and indexes that are shown, the largest; --json has all
EVIDENCE_MAX = 4
GAP = 2
WHOLE = "--json has all"
# Which columns a narrow terminal leaves out first.
DROPPED = {
    "version bytes": 12, "slots": 11, "data pages": 10, "record bytes": 9, "key bytes": 9, "duplicates": 8,
    "most of one value": 7, "versions of one": 6, "total %": 5, "unique": 4, "indexes MB": 3, "real fill %": 2,
}  # fmt: skip


def _mb(value: Any) -> str:
    return f"{value / 1e6:,.1f} MB"


def _on(value: Any) -> str:
    return "on" if value is True else "off" if value is False else str(value)


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _yes(value: Any) -> str:
    return "yes" if value else "no"


@dataclass(frozen=True)
class Label:
    """How a fact is called and written. What is nothing unusual to be without (``quiet``) is left out when it is 0."""

    words: str
    text: Callable[[Any], str] = _count
    quiet: bool = False


LABELS: Mapping[str, Label] = {
    "file_bytes": Label("file", _mb),
    "database_bytes": Label("database", _mb),
    "page_bytes": Label("page size, bytes"),
    "innodb_page_size": Label("page size, bytes"),
    "pages": Label("pages"),
    "free_pages": Label("free pages"),
    "page_buffers": Label("page buffers", lambda value: _count(value) if value else "by the configuration"),
    "forced_writes": Label("forced writes", _on),
    "reserves_space": Label("room kept for versions", _yes),
    "sql_dialect": Label("SQL dialect"),
    "read_only": Label("read only", _yes, quiet=True),
    "encrypted": Label("encrypted", _yes, quiet=True),
    "is_shut_down": Label("shut down", _yes, quiet=True),
    "backup_locked": Label("locked by nbackup", _yes, quiet=True),
    "sweep_interval": Label("sweep interval"),
    "oldest_transaction": Label("oldest transaction (OIT)"),
    "oldest_active": Label("oldest active (OAT)"),
    "oldest_snapshot": Label("oldest snapshot (OST)"),
    "next_transaction": Label("next transaction"),
    "in_limbo": Label("in limbo", quiet=True),
    "rolled_back": Label("rolled back, not swept", quiet=True),
    "fragments": Label("parts of records on other pages", quiet=True),
    "deleted_records": Label("deleted, not collected", quiet=True),
    "blob_bytes": Label("blobs", _mb, quiet=True),
    "auto_vacuum": Label("auto_vacuum"),
    "journal": Label("journal"),
    "wal_bytes": Label("write-ahead log", _mb, quiet=True),
    "encoding": Label("encoding"),
    "leaves_apart": Label("leaf pages out of order", quiet=True),
    "transaction_age": Label("age of the oldest transaction number"),
    "multixact_age": Label("age of the oldest multixact"),
    "held_age": Label("old versions held for, transactions", quiet=True),
    "held_by": Label("held by", quiet=True),
    "autovacuum": Label("autovacuum"),
    "fsync": Label("fsync"),
    "full_page_writes": Label("full_page_writes"),
    "synchronous_commit": Label("synchronous_commit"),
    "data_checksums": Label("data checksums"),
    "buffer_hits": Label("page requests met by the cache"),
    "buffer_reads": Label("pages read into the cache"),
    "deadlocks": Label("deadlocks", quiet=True),
    "temp_bytes": Label("temporary files", _mb, quiet=True),
    "inactive_slots": Label("replication slots not in use", quiet=True),
    "history_list": Label("history list"),
    "open_transactions": Label("open transactions"),
    "oldest_transaction_s": Label("oldest of them, seconds", quiet=True),
    "undo_tablespaces": Label("undo tablespaces"),
    "undo_bytes": Label("undo", _mb),
    "free_in_tables_bytes": Label("free in the tables' files", _mb),
    "innodb_buffer_pool_size": Label("buffer pool", _mb),
    "innodb_buffer_pool_read_requests": Label("page requests"),
    "innodb_buffer_pool_reads": Label("pages read into the pool"),
    "innodb_flush_log_at_trx_commit": Label("innodb_flush_log_at_trx_commit"),
    "innodb_doublewrite": Label("innodb_doublewrite"),
}


def as_json(inspected: Inspected) -> dict[str, Any]:
    shown = inspected.model_dump(mode="json")
    for index in (shown["statistics"] or {}).get("indexes", []):
        index["bytes"] = index["bytes"] or None  # of one whose size nobody told: none takes no room
    return shown | {"unusual": [asdict(sign) for sign in signs(inspected)]}


def print_inspection(inspected: Inspected, console: Console) -> None:
    console.print(Text(f"{harmless(inspected.where)}: {inspected.version}", style="bold"), soft_wrap=True)
    console.print()
    _print_signs(signs(inspected), console)
    _print_facts(inspected, console)
    _print_gaps(inspected, console)
    if inspected.statistics is not None:
        tables = tables_of(inspected.statistics)
        _print_parts("table", tables.tables, tables.table_columns, console)
        sized = [
            column for column in tables.index_columns if column.head != "MB" or any(row.bytes for row in tables.indexes)
        ]
        _print_parts("index", tables.indexes, sized, console)
        _say(f"By {inspected.statistics.source}, in {inspected.statistics.took_s:.1f} s.", console)
    elif inspected.statistics_said:
        _say(f"There are no statistics of tables and indexes: {inspected.statistics_said}.", console)
    for line in inspected.notes:
        _say(line, console)
    console.print()
    _print_reading(inspected, console)


def _print_signs(found: Sequence[Sign], console: Console) -> None:
    if not found:
        console.print("Nothing unusual was found.\n")
        return
    console.print(Text(f"{counted(len(found), 'thing is', 'things are')} unusual", style="bold"))
    for sign in found:
        mark, style = ("!!", "bold red") if sign.severity == "severe" else ("! ", "yellow")
        width = console.width
        lines = textwrap.wrap(harmless(sign.says), width=max(20, width - 3)) or [""]
        console.print(Text(f"{mark} ", style=style) + Text(lines[0]))
        rest = lines[1:]
        for one in sign.evidence[1:EVIDENCE_MAX]:
            rest += textwrap.wrap(
                harmless(one), width=max(20, width - 3), initial_indent="  ", subsequent_indent="    "
            )
        for line in (*rest, sign.do):  # in what to do a command is not broken
            console.print(Text(f"   {line}"), soft_wrap=True)
        about = f"Threshold: {sign.threshold}. Source: {sign.source}"
        for line in textwrap.wrap(about, width=max(20, width - 3), break_long_words=False, break_on_hyphens=False):
            console.print(Text(f"   {line}", style="dim"), soft_wrap=True)
    console.print()


def _print_facts(inspected: Inspected, console: Console) -> None:
    """In as many columns as fit, read downwards."""
    pairs = []
    for name, label in LABELS.items():
        value = inspected.facts.get(name)
        if value is None or (label.quiet and not value):
            continue
        pairs.append((label.words, harmless(label.text(value))))
    if not pairs:
        return
    words, values = (max(len(pair[side]) for pair in pairs) for side in (0, 1))
    each = words + values + GAP
    columns = max(1, min(3, (console.width + 2 * GAP) // (each + 2 * GAP)))
    rows = -(-len(pairs) // columns)
    for row in range(rows):
        cells = [f"{head:<{words}}  {value:>{values}}" for head, value in pairs[row::rows]]
        console.print(Text((" " * 2 * GAP).join(cells)), soft_wrap=True)
    console.print()


def _print_gaps(inspected: Inspected, console: Console) -> None:
    counters = inspected.statistics.transactions if inspected.statistics else None
    if counters is None or counters.history is not None:
        return
    console.print(
        f"Gaps: next − OIT = {counters.next - counters.oldest:,}, next − OAT = "
        f"{counters.next - counters.oldest_active:,}.\n"
    )


def _print_parts(what: str, rows: Sequence[Any], columns: Sequence[Column], console: Console) -> None:
    if not rows:
        return
    fitting = [replace(column, drop=DROPPED.get(column.head, 0)) for column in columns]
    fitting = [replace(one, cell=_harmless(one.cell)) if not one.right else one for one in fitting]
    print_table(Table(fitting, rows[:ROWS_MAX]), console, WHOLE)
    if len(rows) > ROWS_MAX:
        plural = "indexes" if what == "index" else f"{what}s"
        _say(f"The {ROWS_MAX} largest of {len(rows):,} {plural}; {WHOLE}.", console)
    console.print()


def _harmless(cell: Callable[[Any], Cell | str]) -> Callable[[Any], str]:
    """A name of other people: neither markup nor control codes."""
    return lambda row: harmless(str(cell(row)))


def _print_reading(inspected: Inspected, console: Console) -> None:
    reading = inspected.reading
    if reading is None:
        _say(f"It was not read whole to time that: {inspected.reading_said}.", console)
        return
    rows = list(zip(reading.names, reading.passes, strict=True))
    columns = [
        Column("read", lambda row: row[0], right=False),
        Column("MB/s", lambda row: f"{row[1].mb_per_s:,.0f}" if row[1].mb_per_s else "–"),
        Column("MB", lambda row: _megabytes(row[1].bytes)),
        Column("s", lambda row: f"{row[1].seconds:,.3g}"),
        Column("MB in the file cache before", lambda row: _megabytes(row[1].cached_bytes_before)),
        Column("MB from storage", lambda row: _megabytes(row[1].storage_bytes)),
    ]
    print_table(Table(shown(columns, rows), rows), console, WHOLE)
    if reading.is_cut:
        _say(f"Of {_mb(reading.all_bytes)}: the limit of time was reached.", console)
    _say(_means(reading), console)


def _megabytes(value: int | None) -> str:
    return NOTHING if value is None else f"{value / 1e6:,.1f}"


def _means(reading: Reading) -> str:
    """What the two figures are of."""
    cold, warm = reading.passes
    if reading.names == ("first", "second"):
        return (
            f"By {reading.how}: through the server and its cache. The first is not of the storage alone: what was in a "
            "cache already was read from there."
        )
    if cold.storage_bytes is not None and cold.storage_bytes < 0.5 * cold.bytes:
        return (
            "Less than half of the cold reading came from this machine's storage: another cache, of a host or a "
            "server, gave it. Its speed is not that of a drive."
        )
    if cold.mb_per_s and warm.mb_per_s and warm.mb_per_s < 1.2 * cold.mb_per_s:
        return "Warm is no faster than cold: the file cache gained nothing, or the file does not fit into it."
    return f"By {reading.how}: cold is what the storage gives to one reader, warm what memory does."


def _say(line: str, console: Console) -> None:
    console.print(Text(harmless(line)), style="dim")
