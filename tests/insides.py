"""Statistics of databases, made up."""

from __future__ import annotations

from typing import Any

from acidtest.journal.models import DatabaseSize, DatabaseStatistics, IndexStatistics, TableStatistics, Transactions


def table(name: str = "t", **changes: Any) -> TableStatistics:
    """A sound table of 1,000 pages."""
    fields: dict[str, Any] = {
        "name": name, "records": 100_000, "record_bytes": 60.0, "versions": 0, "version_bytes": None,
        "versions_max": 0, "data_pages": 1000, "bytes": 8_192_000, "index_bytes": 0, "fill_percent": 80.0,
        "real_fill_percent": 79.0,
    }  # fmt: skip
    return TableStatistics(**(fields | changes))


def index(name: str = "pk_t", **changes: Any) -> IndexStatistics:
    """A sound unique index of 100 pages."""
    fields: dict[str, Any] = {
        "name": name, "table": "t", "depth": 2, "keys": 100_000, "key_bytes": 1.0, "duplicates": 0, "duplicates_max": 0,
        "unique": 100_000, "bytes": 819_200, "fill_percent": 70.0,
    }  # fmt: skip
    return IndexStatistics(**(fields | changes))


def statistics(*parts: TableStatistics | IndexStatistics, **changes: Any) -> DatabaseStatistics:
    """Of a sound table and index, unless others are given."""
    parts = parts or (table(), index())
    fields: dict[str, Any] = {
        "source": "gstat -a -r (5.0.4)", "page_bytes": 8192, "bytes": 10_000_000, "took_s": 1.0,
        "tables": [part for part in parts if isinstance(part, TableStatistics)],
        "indexes": [part for part in parts if isinstance(part, IndexStatistics)],
        "transactions": Transactions(oldest=100, oldest_active=101, next=200),
    }  # fmt: skip
    return DatabaseStatistics(**(fields | changes))


def database_size(inside: DatabaseStatistics | None, asked: str = "1 GB") -> DatabaseSize:
    return DatabaseSize(asked=asked, asked_bytes=10**9, warehouses=10, bytes=10**9, statistics=inside)
