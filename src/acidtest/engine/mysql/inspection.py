"""A MySQL or MariaDB database: what information_schema, InnoDB's own tables and its monitor say, joined, of a database
of ours, with the pages of its files.

The server's own figures of pages and records are samples, or of room that is set aside; pages are counted where the
files can be read. By URL nothing is set but in our own session, which may only read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from acidtest.engine.base import Ask
from acidtest.engine.inspection import (
    COUNTED_MAX,
    NOT_COUNTED,
    InspectionResult,
    Keys,
    Scan,
    ServerInspection,
    TolerantSession,
    count_keys,
    number,
)
from acidtest.errors import CellFailed
from acidtest.formats.innodb import Tablespace, Tree
from acidtest.journal.models import DatabaseStatistics, IndexStatistics, Scalar, TableStatistics, Transactions
from acidtest.words import counted

PRIMARY = "PRIMARY"
INDEXES = (
    "select table_name, index_name, column_name, non_unique, sub_part is not null, cardinality "
    "from information_schema.statistics where table_schema = database() and index_type = 'BTREE' "
    "order by table_name, index_name, seq_in_index"
)
TABLES = (
    "select table_name, table_rows, avg_row_length, data_length, index_length, data_free "
    "from information_schema.tables where table_schema = database() and engine = 'InnoDB' order by table_name"
)
# From MySQL 5.6 and MariaDB 10.0 on; MySQL 8.0 and later call them so without SYS.
HAS_IDS = (
    "select lower(table_name) from information_schema.tables where table_schema = 'information_schema' "
    "and lower(table_name) in ('innodb_sys_indexes', 'innodb_indexes')"
)
IDS = (
    "select substring_index(t.name, '/', -1), i.name, i.index_id from information_schema.{indexes} i "
    "join information_schema.{tables} t on t.table_id = i.table_id where t.name like concat(database(), '/%')"
)
COUNTER = re.compile(r"Trx id counter (\w+)")
PURGED = re.compile(r"Purge done for trx's n:o < (\w+)")
ACTIVE = re.compile(r"^---TRANSACTION (\w+), ACTIVE", re.MULTILINE)
HISTORY_LENGTH = re.compile(r"History list length (\d+)")
SAMPLED = [f"{name}: beyond {COUNTED_MAX:,} keys InnoDB's sampled cardinality" for name in ("unique", "duplicates")]
# From MySQL 8.0 on, information_schema tells figures of up to a day ago unless it is told not to keep them. MariaDB
# passes over a comment for MySQL 8 (docs: Comment Syntax), as older servers do.
SETUP = (
    "set session transaction read only",
    "set session lock_wait_timeout = 5 /*!80000 , session information_schema_stats_expiry = 0 */",
)
VARIABLES = (
    "innodb_page_size", "innodb_flush_log_at_trx_commit", "innodb_doublewrite", "innodb_buffer_pool_size",
    "sync_binlog", "log_bin", "innodb_file_per_table",
)  # fmt: skip
STATUS = ("Innodb_buffer_pool_reads", "Innodb_buffer_pool_read_requests", "Innodb_row_lock_waits", "Uptime")
OTHER_ENGINES = (
    "select table_name, engine, data_length + index_length from information_schema.tables "
    "where table_schema = database() and table_type = 'BASE TABLE' and engine <> 'InnoDB' order by 3 desc"
)
# What InnoDB keeps of its own samples, from MySQL 5.6 and MariaDB 10.0 on.
SIZES = (
    "select table_name, index_name, max(case when stat_name = 'size' then stat_value end), "
    "max(case when stat_name = 'n_leaf_pages' then stat_value end) from mysql.innodb_index_stats "
    "where database_name = database() group by table_name, index_name"
)
HISTORY = "select max(count) from information_schema.innodb_metrics where name = 'trx_rseg_history_len'"
OLDEST = (
    "select count(*), max(timestampdiff(second, trx_started, now())), max(trx_rows_modified) "
    "from information_schema.innodb_trx"
)
UNDO = (
    "select count(*), sum(file_size) from information_schema.innodb_tablespaces where space_type = 'Undo'"  # MySQL 8.0
)
FREE_MIN_PERCENT, FREE_MIN_PAGES = 25, 100


@dataclass
class Index:
    name: str
    columns: list[str] = field(default_factory=list)
    all_differ: bool = False
    prefix: bool = False  # of a column: the keys are not the columns
    cardinality: int | None = None


@dataclass
class Indexed:
    """A table with its indexes."""

    name: str
    indexes: list[Index]

    @property
    def stored_by(self) -> Index | None:
        """The primary key, in whose index InnoDB stores the table; None: by row numbers of its own."""
        return next((index for index in self.indexes if index.name == PRIMARY), None)

    @property
    def counted_by(self) -> str:
        """Where ``select count(*)`` reads it: the index that it is stored in."""
        return quoted(self.name) + (" force index (primary)" if self.stored_by else "")


@dataclass(frozen=True)
class ServerAnswers:
    """What the server said while it ran."""

    tables: Sequence[Indexed]
    records: Mapping[str, int]
    keys: Mapping[tuple[str, str], Keys]  # by table and index
    sampled: bool
    ids: Mapping[tuple[str, str], int]  # of indexes in their files; none where the server does not tell them
    transactions: Transactions | None
    version: str


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def indexed_tables(ask: Ask, names: Sequence[str]) -> list[Indexed]:
    """The tables of these names, each with its indexes."""
    indexes: dict[str, dict[str, Index]] = {}
    for table, name, column, non_unique, prefix, cardinality in ask(INDEXES):
        index = indexes.setdefault(str(table), {}).setdefault(str(name), Index(str(name)))
        index.columns.append(str(column))
        index.all_differ = non_unique == "0"
        index.prefix |= prefix == "1"
        index.cardinality = number(cardinality) if cardinality else None
    return [Indexed(name, list(indexes.get(name, {}).values())) for name in names]


# ------------------------------------------------------------------------------------------------ by the pages of files


def tables(ask: Ask) -> list[Indexed]:
    return indexed_tables(ask, [str(row[0]) for row in ask(TABLES)])


def count(ask: Ask, tables: Sequence[Indexed]) -> dict[str, int]:
    """Read every table through the index that it is stored in."""
    if not tables:
        return {}
    questions = [f"select {at}, count(*) from {table.counted_by}" for at, table in enumerate(tables)]  # noqa: S608
    return {tables[number(at)].name: number(records) for at, records in ask(" union all ".join(questions))}


def answers_of(ask: Ask, tables: Sequence[Indexed], records: Mapping[str, int]) -> ServerAnswers:
    """Everything else that takes a running server."""
    keys: dict[tuple[str, str], Keys] = {}
    sampled = False
    for table in tables:
        for index in table.indexes:
            n = records[table.name]
            if n > COUNTED_MAX and not index.all_differ and index.cardinality is not None:
                sampled = True
                repeat = Keys(min(n, index.cardinality), max(0, n - index.cardinality), None)
            elif index.prefix and not index.all_differ:
                repeat = NOT_COUNTED
            else:
                columns = ", ".join(map(quoted, index.columns))
                repeat = count_keys(ask, quoted(table.name), columns, n, all_differ=index.all_differ)
            keys[table.name, index.name] = repeat
    ids = {}
    for (indexes,) in ask(HAS_IDS):
        question = IDS.format(indexes=indexes, tables=str(indexes).replace("indexes", "tables"))
        ids = {(str(table), str(name)): number(id_) for table, name, id_ in ask(question)}
    version = str(ask("select version()")[0][0])
    return ServerAnswers(tables, records, keys, sampled, ids, transactions_of(ask), version)


def transactions_of(ask: Ask) -> Transactions | None:
    """Of the monitor, whose numbers are hexadecimal in MySQL 5.5."""
    monitor = str(ask("show engine innodb status")[0][-1])
    counter, purged, history = COUNTER.search(monitor), PURGED.search(monitor), HISTORY_LENGTH.search(monitor)
    if not counter or not purged or not history:
        return None
    base = 16 if ask("select version() like '5.5.%'")[0][0] == "1" else 10
    following = int(counter[1], base)
    oldest_active = min([following, *(int(number, base) for number in ACTIVE.findall(monitor))])
    # What purge has not reached yet; with an empty history there is nothing for it to reach.
    oldest = min(int(purged[1], base), oldest_active) if int(history[1]) else oldest_active
    return Transactions(oldest=oldest, oldest_active=oldest_active, next=following, history=int(history[1]))


def of_innodb(answers: ServerAnswers, files: Mapping[str, Tablespace], page_bytes: int) -> DatabaseStatistics:
    """The figures; without the times."""
    table_statistics: list[TableStatistics] = []
    indexes: list[IndexStatistics] = []
    read_bytes = 0
    for table in answers.tables:
        file = files[table.name]
        stored, *others = file.trees
        leaves = stored.levels[0]
        room = leaves.pages * page_bytes
        read_bytes += room
        table_statistics.append(
            TableStatistics(
                name=table.name.lower(),
                records=answers.records[table.name],
                record_bytes=leaves.record_bytes / leaves.records if leaves.records else None,
                data_pages=leaves.pages,
                bytes=(stored.pages + file.long_pages) * page_bytes,
                index_bytes=sum(tree.pages for tree in others) * page_bytes,
                fill_percent=100 * leaves.used_bytes / room if room else None,
                real_fill_percent=100 * leaves.record_bytes / room if room else None,
            )
        )
        for index, tree in _named(table, file, answers.ids):
            keys = answers.keys[table.name, index.name]
            of_leaves = tree.levels[0]
            own = tree is stored
            indexes.append(
                IndexStatistics(
                    name=index.name.lower(),
                    table=table.name.lower(),
                    depth=tree.depth,
                    keys=of_leaves.records,
                    key_bytes=of_leaves.record_bytes / of_leaves.records if of_leaves.records and not own else None,
                    duplicates=keys.duplicates,
                    duplicates_max=keys.duplicates_max,
                    unique=keys.unique,
                    bytes=tree.pages * page_bytes,
                    fill_percent=100 * of_leaves.used_bytes / (of_leaves.pages * page_bytes),
                )
            )
    return DatabaseStatistics(
        source=f"information_schema and the pages of its files (InnoDB of {answers.version})",
        estimated=SAMPLED if answers.sampled else [],
        page_bytes=page_bytes,
        bytes=sum(file.pages for file in files.values()) * page_bytes,
        read_bytes=read_bytes,
        tables=table_statistics,
        indexes=indexes,
        transactions=answers.transactions,
    )


def _named(table: Indexed, file: Tablespace, ids: Mapping[tuple[str, str], int]) -> list[tuple[Index, Tree]]:
    """Which tree is which index. A server that does not tell makes them in the order of their numbers, the table's own
    first; where that leaves a choice, the others are not told."""
    trees = {tree.id: tree for tree in file.trees}
    if ids:
        return [
            (index, trees[ids[table.name, index.name]])
            for index in table.indexes
            if ids.get((table.name, index.name)) in trees
        ]
    own, others = table.stored_by, [index for index in table.indexes if index.name != PRIMARY]
    pairs = [(own, file.trees[0])] if own else []
    return [*pairs, (others[0], file.trees[1])] if len(others) == 1 and len(file.trees) == 2 else pairs


# ------------------------------------------------------------------------------------------------ by URL


def inspect(ask: Ask) -> InspectionResult:
    """Raises CellFailed where the server does not answer at all."""
    version = str(ask("select version()")[0][0])
    session = TolerantSession(ask)
    facts = _variables(session)
    page_bytes = number(str(facts.get("innodb_page_size") or 16384))
    rows = ask(TABLES)
    tables = indexed_tables(ask, [str(row[0]) for row in rows])
    if (history := session.row("the history list", HISTORY)) and history[0] is not None:
        facts["history_list"] = number(history[0])
    if oldest := session.row("open transactions", OLDEST):
        facts |= {"open_transactions": number(oldest[0]), "oldest_transaction_s": number(oldest[1])}
    if not version.startswith("5.") and "MariaDB" not in version and (undo := session.row("undo tablespaces", UNDO)):
        facts |= {"undo_tablespaces": number(undo[0]), "undo_bytes": number(undo[1])}
    facts["free_in_tables_bytes"] = sum(number(row[-1]) for row in rows)
    statistics = _statistics(rows, tables, session, page_bytes)
    try:
        statistics.transactions = transactions_of(ask)
    except CellFailed as error:
        session.refused.append(f"InnoDB's monitor could not be asked for: {error.message.rpartition(': ')[2]}")
    if statistics.transactions and statistics.transactions.history is not None:
        facts["history_list"] = statistics.transactions.history
    listed = _listed(rows, tables, session, page_bytes)
    by_size = sorted(zip(tables, statistics.tables, strict=True), key=lambda pair: -pair[1].bytes)
    product = "MariaDB" if "MariaDB" in version else "MySQL"
    return InspectionResult(
        version=f"{product} {version.split('-', maxsplit=1)[0]}",
        facts=facts,
        statistics=statistics,
        notes=[
            "Rows, row lengths and different keys are InnoDB's samples, and sizes are of room that is set aside. Not "
            "looked at: depth of indexes and fill of pages. No table of the server has them; innodb_buffer_page has "
            "the fill of pages that are cached, and slows the server down while it is asked.",
            *session.refused,
        ],
        listed={name: lines for name, lines in listed.items() if lines},
        scans=[
            Scan(table.name, f"select count(*) from {table.counted_by}", figures.bytes)  # noqa: S608
            for table, figures in by_size
        ],
    )


def _listed(
    rows: list[list[str | None]], tables: Sequence[Indexed], session: TolerantSession, page_bytes: int
) -> dict[str, list[str]]:
    free = [(str(name), number(f), number(data) + number(index)) for name, _, _, data, index, f in rows]
    keyless = [(table.name, number(row[1])) for table, row in zip(tables, rows, strict=True) if not table.stored_by]
    return {
        "hollow_files": [
            f"{table}: {bytes_ / 1e6:,.1f} MB of {(bytes_ + used) / 1e6:,.1f} MB"
            for table, bytes_, used in sorted(free, key=lambda file: -file[1])
            if bytes_ >= FREE_MIN_PAGES * page_bytes and 100 * bytes_ >= FREE_MIN_PERCENT * (bytes_ + used)
        ],
        "without_primary_key": [
            f"{table}: about {counted(records, 'row')}"
            for table, records in sorted(keyless, key=lambda table: -table[1])
        ],
        "other_engines": [
            f"{table}: {engine}, {number(bytes_) / 1e6:,.1f} MB"
            for table, engine, bytes_ in session.rows("other engines' tables", OTHER_ENGINES)
        ],
    }


def _variables(session: TolerantSession) -> dict[str, Scalar]:
    facts: dict[str, Scalar] = {}
    for what, names in (("variables", VARIABLES), ("status", STATUS)):
        listed = ", ".join(f"'{name}'" for name in names)
        for name, value in session.rows(what, f"show global {what} where variable_name in ({listed})"):
            facts[str(name).lower()] = int(value) if value and value.isdecimal() else value
    return facts


def _statistics(
    rows: list[list[str | None]], tables: Sequence[Indexed], session: TolerantSession, page_bytes: int
) -> DatabaseStatistics:
    sizes = {
        (str(table), str(index)): (number(size), number(leaves))
        for table, index, size, leaves in session.rows("mysql.innodb_index_stats", SIZES)
    }
    table_statistics, indexes = [], []
    for table, (_, records, mean, data, of_indexes, _) in zip(tables, rows, strict=True):
        count = number(records)
        stored = sizes.get((table.name, PRIMARY)) or sizes.get((table.name, "GEN_CLUST_INDEX"))
        table_statistics.append(
            TableStatistics(
                name=table.name.lower(),
                records=count,
                record_bytes=float(mean) if mean and count else None,
                data_pages=stored[1] if stored else None,
                bytes=number(data),
                index_bytes=number(of_indexes),
            )
        )
        for index in table.indexes:
            unique = count if index.all_differ else index.cardinality and min(count, index.cardinality)
            size = sizes.get((table.name, index.name))
            indexes.append(
                IndexStatistics(
                    name=index.name.lower(),
                    table=table.name.lower(),
                    keys=count,
                    duplicates=None if unique is None else max(0, count - unique),
                    unique=unique,
                    bytes=size[0] * page_bytes if size else 0,
                )
            )
    return DatabaseStatistics(
        source="information_schema, mysql.innodb_index_stats" if sizes else "information_schema",
        estimated=[f"{name}: InnoDB's sample" for name in ("records", "record_bytes", "keys", "unique", "duplicates")],
        page_bytes=page_bytes,
        bytes=sum(table.bytes + table.index_bytes for table in table_statistics),
        tables=table_statistics,
        indexes=indexes,
    )


SERVER_INSPECTION = ServerInspection(inspect, SETUP)
