"""What is unusual inside a database, by its statistics, and what changes there from size to size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from acidtest.analysis.samples import Row
from acidtest.journal.models import SIZE, DatabaseStatistics, IndexStatistics, TableStatistics
from acidtest.words import counted

PAGES_MIN = 100  # of smaller ones the fill says little
TABLE_FILL_MIN_PERCENT = 50.0
INDEX_FILL_MIN_PERCENT = 40.0  # pages that were full and have split are half full: that is as usual
HOLLOW_MIN_PERCENT = 25.0  # of the pages: full by their engine, and not of live records
CHAIN_MIN = 50  # versions of one record
VERSIONS_MIN, VERSIONS_SHARE_MIN = 1000, 0.2  # of a table, and against its records
GAP_MAX = 20_000  # transactions: at this gap Firebird sweeps by itself unless told otherwise
HISTORY_MAX = 100_000  # entries of InnoDB's history list
KEYS_MIN, KEYS_PER_VALUE_MIN = 10_000, 100


@dataclass(frozen=True)
class Unusual:
    """One thing, with its figures."""

    where: str  # "table order_line", "index k_1 of sbtest1"
    text: str
    weight: float  # the larger, the worse, among those of one question


@dataclass(frozen=True)
class StatisticsAt:
    """What a database looks like inside at one size."""

    size: str  # as the experiment has it
    statistics: DatabaseStatistics


@dataclass(frozen=True)
class StatisticsBySize:
    """One database that grows, size by size."""

    name: str
    sizes: tuple[StatisticsAt, ...]


def of_row(row: Row) -> DatabaseStatistics | None:
    """The statistics of a row's database: one of its repetitions carries them."""
    statistics = (r.database_size.statistics for r in row.done if r.database_size)
    return next((statistic for statistic in statistics if statistic), None)


def by_size(rows: Sequence[Row]) -> list[StatisticsBySize]:
    """The databases that rows of several sizes were measured on, sizes as in ``rows``; what has none is left out."""
    databases: dict[str, list[StatisticsAt]] = {}
    for row in rows:
        if statistics := of_row(row):
            others = [level for factor, level in row.levels.items() if factor != SIZE]
            databases.setdefault(", ".join(others), []).append(StatisticsAt(row.levels.get(SIZE, ""), statistics))
    return [StatisticsBySize(name, tuple(sizes)) for name, sizes in databases.items()]


def low_fill(statistics: DatabaseStatistics) -> list[Unusual]:
    """Tables and indexes whose pages are largely empty."""
    parts: list[tuple[TableStatistics | IndexStatistics, float]] = [
        *((table, TABLE_FILL_MIN_PERCENT) for table in statistics.tables),
        *((index, INDEX_FILL_MIN_PERCENT) for index in statistics.indexes),
    ]
    return _worst(
        Unusual(_name(part), f"its pages are {part.fill_percent:.0f} % full ({_mb(part.bytes)})", _empty(part))
        for part, least in parts
        if part.fill_percent is not None and part.fill_percent < least and _is_large(part.bytes, statistics)
    )


def hollow(statistics: DatabaseStatistics) -> list[Unusual]:
    """Tables whose pages are full, but not of live records."""
    return _worst(
        Unusual(
            _name(table),
            f"its pages are {table.fill_percent:.0f} % full, {table.real_fill_percent:.0f} % of live records "
            f"({_mb(table.bytes)})",
            (table.fill_percent - table.real_fill_percent) * table.bytes,
        )
        for table in statistics.tables
        if table.fill_percent is not None
        and table.real_fill_percent is not None
        and table.fill_percent - table.real_fill_percent >= HOLLOW_MIN_PERCENT
        and _is_large(table.bytes, statistics)
    )


def long_chains(statistics: DatabaseStatistics) -> list[Unusual]:
    """Tables with many old versions, in all or of one record."""
    unusual = []
    for table in statistics.tables:
        versions, chain = table.versions or 0, table.versions_max or 0
        many = versions >= VERSIONS_MIN and versions >= VERSIONS_SHARE_MIN * (table.records or 0)
        if many or chain >= CHAIN_MIN:
            of_one = f", up to {chain:,} of one record" if table.versions_max is not None else ""
            text = f"{counted(versions, 'old version')} beside {counted(table.records or 0, 'record')}{of_one}"
            unusual.append(Unusual(_name(table), text, versions))
    return _worst(unusual)


def stuck(statistics: DatabaseStatistics) -> list[Unusual]:
    """A transaction that keeps garbage from being removed, or removal that does not keep up."""
    counters = statistics.transactions
    if counters is None:
        return []
    if counters.history is not None:
        if counters.history <= HISTORY_MAX:
            return []
        text = f"{counters.history:,} committed transactions wait in the history list to be purged"
        return [Unusual("the database", text, counters.history)]
    gap = counters.next - counters.oldest
    if gap <= GAP_MAX:
        return []
    text = f"the oldest transaction is {counters.oldest:,}, the next one {counters.next:,}: {gap:,} lie between them"
    return [Unusual("the database", text, gap)]


def repeated(statistics: DatabaseStatistics) -> list[Unusual]:
    """Indexes that tell few rows apart."""
    return _worst(
        Unusual(
            _name(index),
            f"{counted(index.keys, 'key has', 'keys have')} {counted(index.unique, 'different value')}{_most(index)}",
            index.keys,
        )
        for index in statistics.indexes
        if index.keys is not None
        and index.unique is not None
        and index.keys >= KEYS_MIN
        and index.keys >= KEYS_PER_VALUE_MIN * index.unique
    )


def deeper(by_size: StatisticsBySize) -> list[Unusual]:
    """Indexes that got another level between two sizes: each look-up then reads one page more."""
    return [
        Unusual(_name(index), f"depth {was} at {before.size}, {index.depth} at {after.size}", index.keys or 0)
        for before, after in pairwise(by_size.sizes)
        for index, was in levels_gained(before.statistics, after.statistics)
    ]


def levels_gained(before: DatabaseStatistics, after: DatabaseStatistics) -> list[tuple[IndexStatistics, int]]:
    """The indexes that are deeper after than before, and how deep each was. Names are unique in a table only."""
    depths = {(index.table, index.name): index.depth for index in before.indexes}
    return [
        (index, was)
        for index in after.indexes
        if (was := depths.get((index.table, index.name))) is not None and index.depth is not None and index.depth > was
    ]


def _worst(unusual: Iterable[Unusual]) -> list[Unusual]:
    return sorted(unusual, key=lambda one: -one.weight)


def _is_large(size: int, statistics: DatabaseStatistics) -> bool:
    return size >= PAGES_MIN * statistics.page_bytes


def _empty(part: TableStatistics | IndexStatistics) -> float:
    return (100 - (part.fill_percent or 0)) * part.bytes


def _most(index: IndexStatistics) -> str:
    return f", one of them {counted(index.duplicates_max + 1, 'time')}" if index.duplicates_max else ""


def _name(part: TableStatistics | IndexStatistics) -> str:
    return f"index {part.name} of {part.table}" if isinstance(part, IndexStatistics) else f"table {part.name}"


def _mb(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
