"""Statistics of an InnoDB database: what the server says in information_schema, joined with the pages of its files.

The server's own figures of pages and records are samples, or of room that is set aside; the pages are counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from acidtest.engine.base import Ask
from acidtest.engine.reads import COUNTED_MAX, Keys, count_keys
from acidtest.formats.innodb import Tablespace, Tree
from acidtest.journal.models import DatabaseStatistics, IndexStatistics, TableStatistics, Transactions

PRIMARY = "PRIMARY"
INDEXES = (
    "select table_name, index_name, column_name, non_unique, sub_part is not null, cardinality "
    "from information_schema.statistics where table_schema = database() order by table_name, index_name, seq_in_index"
)
TABLES = (
    "select table_name from information_schema.tables where table_schema = database() and engine = 'InnoDB' "
    "order by table_name"
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
HISTORY = re.compile(r"History list length (\d+)")
SAMPLED = [f"{name}: beyond {COUNTED_MAX:,} keys InnoDB's sampled cardinality" for name in ("unique", "duplicates")]


@dataclass
class Index:
    name: str
    columns: list[str] = field(default_factory=list)
    all_differ: bool = False
    prefix: bool = False  # of a column: the keys are not the columns
    cardinality: int | None = None


@dataclass
class Table:
    name: str
    indexes: list[Index]

    @property
    def quoted(self) -> str:
        return _quoted(self.name)

    @property
    def stored_by(self) -> Index | None:
        """The primary key, in whose index InnoDB stores the table; None: by row numbers of its own."""
        return next((index for index in self.indexes if index.name == PRIMARY), None)


@dataclass(frozen=True)
class Found:
    """What the server said while it ran."""

    tables: Sequence[Table]
    records: Mapping[str, int]
    keys: Mapping[tuple[str, str], Keys]  # by table and index
    sampled: bool
    ids: Mapping[tuple[str, str], int]  # of indexes in their files; none where the server does not tell them
    transactions: Transactions | None
    version: str


def tables(ask: Ask) -> list[Table]:
    indexes: dict[str, dict[str, Index]] = {}
    for table, name, column, non_unique, prefix, cardinality in ask(INDEXES):
        index = indexes.setdefault(str(table), {}).setdefault(str(name), Index(str(name)))
        index.columns.append(str(column))
        index.all_differ = non_unique == "0"
        index.prefix |= prefix == "1"
        index.cardinality = int(cardinality) if cardinality else None
    return [Table(str(name), list(indexes.get(str(name), {}).values())) for (name,) in ask(TABLES)]


def count(ask: Ask, tables: Sequence[Table]) -> dict[str, int]:
    """Read every table through the index that it is stored in."""
    if not tables:
        return {}
    questions = [
        f"select {number}, count(*) from {table.quoted} {'force index (primary)' if table.stored_by else ''}"  # noqa: S608
        for number, table in enumerate(tables)
    ]
    return {tables[int(number or 0)].name: int(n or 0) for number, n in ask(" union all ".join(questions))}


def found(ask: Ask, tables: Sequence[Table], records: Mapping[str, int]) -> Found:
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
                repeat = Keys(None, None, None)
            else:
                columns = ", ".join(map(_quoted, index.columns))
                repeat = count_keys(ask, table.quoted, columns, n, all_differ=index.all_differ)
            keys[table.name, index.name] = repeat
    ids = {}
    for (indexes,) in ask(HAS_IDS):
        question = IDS.format(indexes=indexes, tables=str(indexes).replace("indexes", "tables"))
        ids = {(str(table), str(name)): int(id_ or 0) for table, name, id_ in ask(question)}
    version = str(ask("select version()")[0][0])
    return Found(tables, records, keys, sampled, ids, transactions_of(ask), version)


def transactions_of(ask: Ask) -> Transactions | None:
    """Of the monitor, whose numbers are hexadecimal in MySQL 5.5."""
    monitor = str(ask("show engine innodb status")[0][-1])
    counter, purged, history = COUNTER.search(monitor), PURGED.search(monitor), HISTORY.search(monitor)
    if not counter or not purged or not history:
        return None
    base = 16 if ask("select version() like '5.5.%'")[0][0] == "1" else 10
    following = int(counter[1], base)
    oldest_active = min([following, *(int(number, base) for number in ACTIVE.findall(monitor))])
    # What purge has not reached yet; with an empty history there is nothing for it to reach.
    oldest = min(int(purged[1], base), oldest_active) if int(history[1]) else oldest_active
    return Transactions(oldest=oldest, oldest_active=oldest_active, next=following, history=int(history[1]))


def of_innodb(answers: Found, files: Mapping[str, Tablespace], page_bytes: int) -> DatabaseStatistics:
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
                versions=None,
                version_bytes=None,
                versions_max=None,
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
        took_s=0,
        read_bytes=read_bytes,
        tables=table_statistics,
        indexes=indexes,
        transactions=answers.transactions,
    )


def _named(table: Table, file: Tablespace, ids: Mapping[tuple[str, str], int]) -> list[tuple[Index, Tree]]:
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


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
