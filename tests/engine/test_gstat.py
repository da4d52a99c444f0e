"""What gstat prints, and what it means, against the published figures of a database of 1.7 TB."""

from __future__ import annotations

import pytest

from acidtest.engine.firebird.inspection import of_gstat
from acidtest.formats import gstat

PAGE = 16384
# Table: records, record length, version length, versions, longest chain, data pages, then what IBAnalyst made of them:
# size in MB, average fill, real fill. Of the growth study (docs/STATISTICS.md).
STUDY = {
    "ORDER_LINE": (6300024797, 60.09, 11.00, 409, 1, 38880344, 607505.38, 76, 76),
    "STOCK": (2100000000, 298.88, 12.02, 294, 2, 43783806, 684121.97, 93, 93),
    "ORDERS": (630004141, 29.00, 9.00, 40, 1, 2692324, 42067.56, 66, 66),
    "HISTORY": (630000434, 48.77, 0.00, 0, 0, 3446455, 53850.86, 73, 74),
    "CUSTOMER": (630000000, 577.52, 25.38, 69, 2, 24226054, 378532.09, 95, 94),
    "NEW_ORDER": (188999981, 13.00, 13.00, 40, 1, 623764, 9746.31, 56, 56),
    "DISTRICT": (210000, 103.92, 9.00, 47, 6, 1860, 29.06, 83, 83),
    "ITEM": (100000, 82.73, 0.00, 0, 0, 756, 11.81, 81, 81),
    "WAREHOUSE": (21000, 97.90, 9.00, 153, 16, 179, 2.80, 83, 83),
}
HEADER = f"""
Database "/db/big.fdb"
Gstat execution time Sun Mar  1 10:00:00 2026

Database header page information:
\tPage size\t\t{PAGE}
\tODS version\t\t12.0
\tOldest transaction\t7
\tOldest active\t\t8
\tNext transaction\t50000

Analyzing database pages ...
"""


def block(name: str, records: int, length: float, of_version: float, versions: int, chain: int, pages: int, fill: int):
    return f"""{name} (130)
    Primary pointer page: 203, Index root page: 204
    Average record length: {length:.2f}, total records: {records}
    Average version length: {of_version:.2f}, total versions: {versions}, max versions: {chain}
    Pointer pages: 2, data page slots: {pages + 1}
    Data pages: {pages}, average fill: {fill}%
    Fill distribution:
\t 0 - 19% = 3
\t80 - 99% = 2357
"""


BLOBS = "    Blobs: 12, total length: 98304, blob pages: 6\n        Level 0: 0, Level 1: 12, Level 2: 0\n"
INDEX = """
    Index STOCK_PK (0)
\tRoot page: 13074, depth: 4, leaf buckets: 1011815, nodes: 2100000000
\tAverage node length: 7.85, total dup: 5, max dup: 3
\tAverage key length: 3.01, compression ratio: 4.63
\tAverage prefix length: 12.94, average data length: 1.01
\tClustering factor: 2877, ratio: 0.10
\tFill distribution:
\t     0 - 19% = 0
\t    80 - 99% = 20

"""


@pytest.mark.parametrize("name", STUDY)
def test_size_and_real_fill_are_those_of_the_study(name: str) -> None:
    *figures, size_mb, fill, real = STUDY[name]
    told = of_gstat(gstat.parse((HEADER + block(name, *figures, fill)).splitlines()), "gstat")
    (table,) = told.tables
    assert table.name == name.lower()
    assert table.bytes / 1024**2 == pytest.approx(size_mb, abs=0.01)
    assert (table.fill_percent, table.slots) == (fill, (table.data_pages or 0) + 1)
    assert table.real_fill_percent == pytest.approx(real, abs=1)
    assert (table.versions, table.versions_max) == (figures[3], figures[4])
    assert table.version_bytes == (figures[2] or None)


def test_blobs_and_indexes_count_into_a_table() -> None:
    *figures, _, fill, _ = STUDY["STOCK"]
    lines = (HEADER + block("STOCK", *figures, fill) + BLOBS + INDEX).splitlines()
    told = of_gstat(gstat.parse(lines), "gstat")
    (table,), (index,) = told.tables, told.indexes
    assert table.bytes == ((table.data_pages or 0) + 6) * PAGE
    assert table.index_bytes == index.bytes == 1011815 * PAGE
    assert (index.name, index.table, index.depth, index.keys) == ("stock_pk", "stock", 4, 2100000000)
    assert (index.duplicates, index.duplicates_max, index.unique) == (5, 3, 2100000000 - 5)
    assert index.key_bytes == 1.01
    assert index.fill_percent == pytest.approx(99.4, abs=0.1)
    assert told.transactions
    assert (told.transactions.oldest, told.transactions.oldest_active, told.transactions.next) == (7, 8, 50000)
    assert told.page_bytes == PAGE


def test_an_index_that_is_switched_off_is_passed_over() -> None:
    *figures, _, fill, _ = STUDY["STOCK"]
    lines = (HEADER + block("STOCK", *figures, fill) + "\n    Index OFF (1)\n" + INDEX).splitlines()
    assert [index.name for index in of_gstat(gstat.parse(lines), "gstat").indexes] == ["stock_pk"]


def test_an_empty_table_has_no_means() -> None:
    told = of_gstat(gstat.parse((HEADER + block("T", 0, 0, 0, 0, 0, 0, 0)).splitlines()), "gstat")
    (table,) = told.tables
    assert (table.records, table.record_bytes, table.fill_percent, table.real_fill_percent) == (0, None, None, None)


@pytest.mark.parametrize(
    "line", ["    Expected data on page 7046", "    Expected b-tree bucket on page 14177 from 14480"]
)
def test_what_gstat_did_not_find_is_told(line: str) -> None:
    *figures, _, fill, _ = STUDY["ITEM"]
    lines = (HEADER + block("ITEM", *figures, fill)).splitlines()
    assert gstat.parse(lines).damaged == ""
    assert gstat.parse([*lines[:-4], line, *lines[-4:]]).damaged == line.strip()
