"""The tables of one workload of a run: rates and latencies, kinds of transactions, counts, sizes, operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from acidtest.analysis.parts import COUNTED
from acidtest.analysis.sizes import differ
from acidtest.analysis.summary import median
from acidtest.report import growth_tables
from acidtest.report.line import Line, Load
from acidtest.report.numbers import interval, mib, number, percent, share
from acidtest.report.results import Results
from acidtest.report.results import Table as Measured
from acidtest.report.shapes import KindRow, kind_columns
from acidtest.report.table import COUNT, NOTHING, Cell, Column, Table, figure, known, short

CALLED = {"reads": "Reads of the whole table", "operations": "Operations"}


def measured(results: Results, of: Measured) -> Table:
    """Every row with its rate and its latency. Warnings stand as small numbers beside the figure that they concern."""
    based = bool(results.base)

    def marks(line: Line, *, latency: bool) -> dict[int, str]:
        notes = {n: results.note(n) for n in line.notes}
        return {n: note.text for n, note in notes.items() if (note.about == "latency") is latency}

    def rate(line: Line) -> Cell:
        return Cell(number(line.goodput.median), marks=marks(line, latency=False))

    def rate_on_page(line: Line) -> Cell:
        return replace(rate(line), tone="strong") if line.row.done else Cell("no result", "bad")

    def factor(name: str) -> list[Column]:
        terminal = Column(
            short(name), lambda line: line.levels[name], right=False, typed=name == "engine", only="terminal"
        )
        return [terminal, replace(terminal, head=name, typed=True, only="page")]

    def latency(place: int, name: str, drop: int = 0) -> Column:
        def cell(line: Line) -> Cell:
            one = line.percentiles[place]
            beside = marks(line, latency=True) if name == "p99" and line.row.done else {}
            return Cell(number(one.value_ms), why=one.reason or "", marks=beside)

        return Column(f"{name} ms", cell, drop=drop, only="" if drop else "page")

    lines = of.lines
    bounded = any(line.goodput.interval for line in lines)
    factors = [column for name in of.factors for column in factor(name)]
    columns = factors or [Column("row", lambda _: "all", right=False, only="terminal")]
    columns += [
        Column("runs", lambda line: str(len(line.row.done)), only="page"),
        Column(f"{of.counted}/s", rate, only="terminal"),
        Column(f"{of.counted}/s", rate_on_page, only="page"),
        Column("95 %", figure("goodput", interval), drop=5, only="" if bounded else "page"),
    ]
    if any(line.new_order_per_min is not None for line in lines):
        columns.append(Column("new-order/min", figure("new_order_per_min"), drop=3))
    if of.counted == "reads":
        columns.append(Column("MB/s", figure("reads.mb_per_s")))
        columns.append(Column("s a read", figure("reads.seconds"), drop=3))
    operated = known(OPERATIONS, lines)
    columns += operated
    if based:
        columns += [
            Column("base=100", lambda line: Cell(percent(line.relative), "strong")),
            Column("95 %", lambda line: NOTHING if line.is_base else interval(line.relative, 100), only="page"),
            Column("against the base", _verdict, right=False, only="page"),
        ]
    sized: list[Column] = []
    if not operated:  # of operations there are few, and each stands there in seconds
        if any(line.seconds is not None for line in lines):
            columns.append(Column("run s", figure("seconds"), drop=7, only="terminal"))
        names = [percentile.name for percentile in lines[0].percentiles]
        dropped = {0: 4, 2: 2, len(names) - 1: 6}
        columns += [latency(place, name, dropped.get(place, 0)) for place, name in enumerate(names)]
        sized = _size_columns(lines, database=of.growth is None)
        columns += sized
    if based:
        columns.append(Column("against the base", _verdict, right=False, drop=1, only="terminal"))
    base = f"; base (= 100): {', '.join(results.base.values())}" if based else ""
    return Table(
        columns,
        lines,
        "results",
        caption=f"{CALLED.get(of.counted, 'Committed transactions')} a second{base}",
        page_explained=OPERATIONS_EXPLAINED if operated else SIZES_EXPLAINED if sized else "",
    )


def growing(results: Results, of: Measured) -> Table:
    """The same of databases that grow, with each one's size and load."""
    at = {id(size.row): size for size in of.growth.sizes} if of.growth else {}
    table = measured(results, of)
    here = next(n for n, column in enumerate(table.columns) if column.head == f"{of.counted}/s")

    def beside(column: Column) -> Column:
        return replace(column, cell=lambda line: column.cell(at[id(line.row)]))

    measured_too = map(beside, growth_tables.in_terminal(list(at.values())))
    return replace(table, columns=[*table.columns[:here], *measured_too, *table.columns[here:]])


def _verdict(line: Line) -> Cell:
    if not line.row.done:
        return Cell("no result", "bad")
    text = "base" if line.is_base else line.verdict
    reason = line.against_base.reason if line.against_base else ""
    return Cell(text, text if text in ("faster", "slower") else "" if text == "no difference shown" else "soft", reason)


def kinds(lines: Sequence[Line]) -> Table:
    rows = [KindRow(line, kind) for line in lines for kind in line.kinds]
    limited = any(row.kind.limit_ms is not None for row in rows)

    def label(row: KindRow) -> str:
        return row.line.label if row.kind is row.line.kinds[0] else ""

    columns = [
        Column("row", label, right=False, only="terminal"),
        Column("row", figure("line.label", str), right=False, only="page"),
        *kind_columns(),
    ]
    if limited:
        columns += [
            Column("limit ms", lambda row: f"{row.kind.limit_ms:,.0f}" if row.kind.limit_ms else NOTHING),
            Column("kept", _kept, right=False, only="terminal"),
            Column("limit kept", _kept, right=False, only="page"),
        ]
    beside = " The 90th percentile stands beside the time in which nine of ten must be answered."
    return Table(
        columns,
        rows,
        "kinds",
        page_title="Kinds of transactions",
        page_explained=f"Counts are of all repetitions.{beside if limited else ''}",
    )


def _kept(row: KindRow) -> Cell:
    kept = row.kind.limit_kept
    return Cell({True: "yes", False: "no", None: NOTHING}[kept], "bad" if kept is False else "")


def counts(lines: Sequence[Line]) -> Table:
    """What was counted, and what the generator took for itself."""

    def count(name: str, *, terminal: bool) -> Column:
        return Column(name.replace("_", " "), lambda line: f"{line.counts[name]:,}", only="" if terminal else "page")

    def arrived(head: str, name: str) -> Column:
        return Column(head, lambda line: f"{line.arrivals[name]:,}" if line.arrivals else NOTHING, only="page")

    columns = [
        Column("row", figure("label", str), right=False),
        Column("run s", lambda line: number(median(line.row.seconds)), only="page"),
        Column("attempts/s", figure("throughput_per_s"), only="page"),
        *(count(name, terminal=name not in ("committed", "rolled_back")) for name in COUNTED),
        Column(
            "refused or failed as",
            lambda line: (
                ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in line.classes.items()) or NOTHING
            ),
            right=False,
        ),
        arrived("arrivals", "scheduled"),
        arrived("late", "late"),
        arrived("unfinished", "unfinished"),
        Column("threads", figure("threads", str), only="page"),
        Column("generator µs", figure("generator_us"), only="page"),
        Column("session µs", figure("session_us"), only="page"),
    ]
    explained = (
        "Counts are of all repetitions. Run, attempts, generator and session are medians: the length of a run, the "
        "attempts that ended in a second whether committed or not, the processor time that the load generator itself "
        "takes for one transaction, and that of the calls to the engine (embedded: the engine's work)."
    )
    return Table(columns, lines, page_explained=explained)


SIZES_EXPLAINED = (
    "MB are 10^6 bytes, medians of the repetitions. The database is its tables and indexes: when the measurement began "
    "→ at its largest, where it grew. The log is the engine's write-ahead or redo log at its largest."
)
MEMORY = (
    Column("row", figure("label", str), right=False),
    Column("Memory limit MiB", figure("memory.limit_bytes", mib), only="terminal"),
    Column("limit MiB", figure("memory.limit_bytes", mib), only="page"),
    Column("database MiB", figure("memory.database_bytes", mib)),
    Column("× limit", figure("memory.times_limit")),
    Column("peak MiB", figure("memory.peak_bytes", mib), drop=4),
    Column("start", figure("memory.start", str), right=False, only="page"),
    Column("access hint", figure("memory.access", str), right=False, only="page"),
    Column("cached at start", figure("memory.resident_at_start", share), drop=3),
    Column("at end", figure("memory.resident_at_end", share), drop=2),
    Column("pages read again", figure("memory.refaults"), drop=1),
    Column(
        "waited for memory s",
        lambda line: number(line.memory.stalled_s) + (" (machine)" if line.memory.stalled_of == "machine" else ""),
        only="page",
    ),
    Column("for a device s", figure("memory.io_stalled_s"), only="page"),
    Column("swapped out ≤ MiB", figure("memory.swapped_bytes", mib), only="page"),
    Column("left on the machine ≥ MiB", figure("memory.machine_available_bytes", mib), only="page"),
    Column("engine's cache MiB", figure("memory.cache_bytes", mib), only="page"),
    Column("in both caches ≤ MiB", figure("memory.twice_bytes_max", mib), drop=5),
    Column("fetched a read, bytes", figure("memory.fetched_per_read"), only="page"),
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
    Column("database of", figure("label", str), right=False),
    Column("rows", lambda one: f"{one.loaded.rows:,}"),
    Column("MB", lambda one: number(one.loaded.bytes / 1e6)),
    Column("s", figure("loaded.seconds")),
    Column("rows/s", figure("loaded.rows_per_s")),
    Column("MB/s", figure("loaded.mb_per_s")),
    Column("sessions", figure("loaded.sessions", str)),
)


def memory(lines: Sequence[Line]) -> Table:
    """Of the rows of which it is known. Limits and sizes are MiB."""
    held = [line for line in lines if line.memory]
    return Table(MEMORY, held, "memory", page_title="Memory", page_explained=MEMORY_EXPLAINED)


def loads(of: Sequence[Load]) -> Table:
    return Table(LOADS, of)


def _mb(size: float) -> str:
    return number(size / 1e6)


def _database(line: Line) -> str:
    start, most = (figure(f"sizes.{name}", _mb)(line) for name in ("database_bytes", "database_bytes_max"))
    return f"{start} → {most}" if line.sizes and line.sizes.database_grew else start


def _size_columns(lines: Sequence[Line], *, database: bool = True) -> list[Column]:
    """Of what differs between rows, or grew while it was measured."""
    seen = [line.sizes for line in lines if line.sizes]
    logs = [one.log_bytes_max for one in seen if one.log_bytes_max is not None]
    shown = []
    if database and (differ([one.database_bytes for one in seen]) or any(one.database_grew for one in seen)):
        shown.append(Column("database MB", _database, drop=4))
    if differ(logs) or any(one.log_grew for one in seen):
        shown.append(Column("log MB", figure("sizes.log_bytes_max", _mb), drop=4))
    return shown


ANSWERS_MAX = 6
OPERATIONS_EXPLAINED = (
    "Seconds are of one operation, the median of the repetitions, until what it has written is on the drive; “flush s” "
    "is the part after the engine's own answer, and a dash there means that nobody waited for it. MB (10^6 bytes) a "
    "second are of the database, not of the backup's file. Whatever was backed up was restored and looked into "
    "afterwards, outside of these times; “oldest” is the number of the oldest transaction of interest. A cell in "
    "which a condition failed has no figure."
)


def _garbage(name: str) -> Callable[[Line], str]:
    def cell(line: Line) -> str:
        before, after = (figure(f"operations.{when}.{name}", COUNT)(line) for when in ("before", "after"))
        return NOTHING if NOTHING in (before, after) else f"{before} → {after}"

    return cell


OPERATIONS = (
    Column("s each", figure("operations.seconds")),
    Column("flush s", figure("operations.flush_s"), drop=3),
    Column("database MB", figure("operations.database_mb"), drop=5),
    Column("MB/s", figure("operations.mb_per_s"), drop=1),
    Column("backup MB", figure("operations.backup_mb"), drop=2),
    Column("workers seen", figure("operations.workers", str), drop=4),
    Column("old versions", _garbage("versions"), drop=3),
    Column("oldest", _garbage("oldest"), drop=6),
)


def operations_took(measured: Iterable[Line]) -> list[str]:
    """How long operations took: one sentence each, or one of the quickest and the longest where there are many."""
    done = sorted(((line, line.operations) for line in measured if line.operations), key=lambda one: one[1].seconds)
    if len(done) > ANSWERS_MAX:
        (quickest, least), (longest, most) = done[0], done[-1]
        took = f"from {number(least.seconds)} s ({quickest.label}) to {number(most.seconds)} s ({longest.label})"
        return [f"An operation took {took}."]
    said = []
    for line, one in done:
        flushed = "" if one.flush_s is not None else ", without a flush"
        speed = f"{number(one.mb_per_s)} MB of database a second"
        said.append(f"{line.label}: {number(one.seconds)} s, {speed}{flushed}.")
    return said
