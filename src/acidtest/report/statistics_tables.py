"""What the tables and indexes of a database look like inside, as tables of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from acidtest.analysis import database
from acidtest.analysis.database import Unusual
from acidtest.journal.models import DatabaseStatistics, IndexStatistics, TableStatistics
from acidtest.report.growth_tables import attribute, count, shown
from acidtest.report.table import NOTHING, Cell, Column, Table


def _length(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.2f}"


def _mb(value: int) -> str:
    return f"{value / 1e6:,.2f}"


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.0f}"


def _of(field: str, head: str, text: Callable[[Any], str], right: bool = True) -> Column:
    return Column(head, attribute(field, text), right)


TABLES = (
    _of("name", "table", str, right=False),
    _of("records", "records", count),
    _of("record_bytes", "record bytes", _length),
    _of("versions", "versions", count),
    _of("version_bytes", "version bytes", _length),
    _of("versions_max", "versions of one", count),
    _of("data_pages", "data pages", count),
    _of("slots", "slots", count),
    _of("bytes", "MB", _mb),
    _of("index_bytes", "indexes MB", _mb),
    _of("fill_percent", "fill %", _percent),
    _of("real_fill_percent", "real fill %", _percent),
)
INDEXES = (
    _of("name", "index", str, right=False),
    _of("table", "table", str, right=False),
    _of("depth", "depth", count),
    _of("keys", "keys", count),
    _of("key_bytes", "key bytes", _length),
    _of("duplicates_max", "most of one value", count),
    _of("duplicates", "duplicates", count),
    _of("unique", "unique", count),
    _of("bytes", "MB", _mb),
    _of("fill_percent", "fill %", _percent),
)


@dataclass(frozen=True)
class StatisticsTables:
    """The statistics of one size as tables; the largest tables and indexes first."""

    statistics: DatabaseStatistics
    tables: tuple[TableStatistics, ...]
    table_columns: tuple[Column, ...]
    indexes: tuple[IndexStatistics, ...]
    index_columns: tuple[Column, ...]
    unusual: tuple[Unusual, ...]
    estimated: Mapping[str, str]  # field -> how the engine comes by it

    @property
    def read_mb_per_s(self) -> list[tuple[str, float, float]]:
        """How the file cache was, seconds, and MB/s of a read of the whole database."""
        read = self.statistics
        timed = (("cold", read.read_s_cold), ("warm", read.read_s_warm))
        return [(how, s, (read.read_bytes or 0) / s / 1e6) for how, s in timed if s and read.read_bytes]

    @property
    def on_page(self) -> tuple[Table, Table]:
        """Of tables and of indexes; what is unusual is marked."""
        return self._marked(self.table_columns, self.tables), self._marked(self.index_columns, self.indexes)

    def _marked(self, columns: Sequence[Column], rows: Sequence[Any]) -> Table:
        name, *others = columns
        first = replace(name, cell=lambda row: Cell(row.name, "unknown" if self.stands_out(row) else ""))
        return Table([first, *others], rows, "statistics")

    def stands_out(self, row: TableStatistics | IndexStatistics) -> bool:
        """Whether something of it is unusual."""
        of = f"index {row.name} of {row.table}" if isinstance(row, IndexStatistics) else f"table {row.name}"
        return any(one.where == of for one in self.unusual)


UNUSUAL = (database.low_fill, database.hollow, database.long_chains, database.stuck, database.repeated)


def tables_of(statistics: DatabaseStatistics) -> StatisticsTables:
    """Without the columns of which this engine tells nothing."""
    tables = sorted(statistics.tables, key=lambda table: -table.bytes)
    whole = sum(table.bytes + table.index_bytes for table in tables) or 1
    part = Column("total %", lambda table: f"{100 * (table.bytes + table.index_bytes) / whole:.0f}")
    indexes = sorted(statistics.indexes, key=lambda index: -index.bytes)
    estimated = {field.strip(): how.strip() for field, _, how in (one.partition(":") for one in statistics.estimated)}
    return StatisticsTables(
        statistics,
        tuple(tables),
        (*shown(TABLES, tables), part),
        tuple(indexes),
        tuple(shown(INDEXES, indexes)),
        tuple(one for ask in UNUSUAL for one in ask(statistics)),
        estimated,
    )
