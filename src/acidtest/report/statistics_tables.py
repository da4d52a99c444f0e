"""What the tables and indexes of a database look like inside, as tables of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from acidtest.analysis import database
from acidtest.analysis.database import Unusual
from acidtest.journal.models import DatabaseStatistics, IndexStatistics, TableStatistics
from acidtest.report.growth_tables import COUNT, shown
from acidtest.report.table import Cell, Column, Table, figure

LENGTH, PERCENT = "{:,.2f}".format, "{:.0f}".format


def _mb(value: int) -> str:
    return f"{value / 1e6:,.2f}"


TABLES = (
    Column("table", figure("name", str), right=False),
    Column("records", figure("records", COUNT)),
    Column("record bytes", figure("record_bytes", LENGTH)),
    Column("versions", figure("versions", COUNT)),
    Column("version bytes", figure("version_bytes", LENGTH)),
    Column("versions of one", figure("versions_max", COUNT)),
    Column("data pages", figure("data_pages", COUNT)),
    Column("slots", figure("slots", COUNT)),
    Column("MB", figure("bytes", _mb)),
    Column("indexes MB", figure("index_bytes", _mb)),
    Column("fill %", figure("fill_percent", PERCENT)),
    Column("real fill %", figure("real_fill_percent", PERCENT)),
)
INDEXES = (
    Column("index", figure("name", str), right=False),
    Column("table", figure("table", str), right=False),
    Column("depth", figure("depth", COUNT)),
    Column("keys", figure("keys", COUNT)),
    Column("key bytes", figure("key_bytes", LENGTH)),
    Column("most of one value", figure("duplicates_max", COUNT)),
    Column("duplicates", figure("duplicates", COUNT)),
    Column("unique", figure("unique", COUNT)),
    Column("MB", figure("bytes", _mb)),
    Column("fill %", figure("fill_percent", PERCENT)),
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
        of = f"index {row.name} of {row.table}" if isinstance(row, IndexStatistics) else f"table {row.name}"
        return any(unusual.where == of for unusual in self.unusual)


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
