"""Statistics of a Firebird database, out of what gstat prints."""

from __future__ import annotations

from acidtest.formats import gstat
from acidtest.journal.models import DatabaseStatistics, IndexStatistics, TableStatistics, Transactions

# What a data page holds of each record beside its bytes: the record's header (RHD_SIZE) and its entry in the page's
# directory (data_page::dpg_repeat); see src/jrd/ods.h of Firebird's source.
RECORD_HEADER_BYTES, DIRECTORY_ENTRY_BYTES = 13, 4
# What blobs take of the data pages: gstat does not tell it, the rig's reading of pages does.
BLOB_ROOM = "room of blobs"


def of_gstat(output: gstat.Output, source: str) -> DatabaseStatistics:
    """The figures; without size and times of the database, which gstat does not print. Raises KeyError for one that
    is missing."""
    page_bytes = int(output.header["Page size"])
    # One that is switched off, or a table that is nobody's yet, has a name only.
    indexes = [_index(part, page_bytes) for part in output.indexes if part.figures]
    tables = [_table(part, page_bytes, indexes) for part in output.tables if part.figures]
    counters = [int(output.header[name]) for name in ("Oldest transaction", "Oldest active", "Next transaction")]
    return DatabaseStatistics(
        source=source,
        page_bytes=page_bytes,
        bytes=0,
        took_s=0,
        read_bytes=sum(table.data_pages or 0 for table in tables) * page_bytes + sum(index.bytes for index in indexes),
        tables=tables,
        indexes=indexes,
        transactions=Transactions(oldest=counters[0], oldest_active=counters[1], next=counters[2]),
    )


def _table(part: gstat.Part, page_bytes: int, indexes: list[IndexStatistics]) -> TableStatistics:
    figures = part.figures
    name, records, pages = part.name.lower(), int(figures["total records"]), int(figures["data pages"])
    record_bytes, room = figures["average record length"], pages * page_bytes
    # How much of the data pages is blobs' is not known of a table that has some, unless it was counted.
    is_known = BLOB_ROOM in figures or not figures.get("blobs")
    whole = records * (record_bytes + RECORD_HEADER_BYTES + DIRECTORY_ENTRY_BYTES) + figures.get(BLOB_ROOM, 0)
    versions = int(figures["total versions"])
    # Pages of records that are longer than a page: they are no data pages to gstat, nor part of its fill.
    long_room = int(figures.get("big record pages", 0)) * page_bytes
    return TableStatistics(
        name=name,
        records=records,
        record_bytes=record_bytes if records else None,
        versions=versions,
        version_bytes=figures["average version length"] if versions else None,
        versions_max=int(figures["max versions"]),
        data_pages=pages,
        slots=int(figures["data page slots"]),
        bytes=room + long_room + int(figures.get("blob pages", 0)) * page_bytes,
        index_bytes=sum(index.bytes for index in indexes if index.table == name),
        fill_percent=figures["average fill"] if pages else None,
        real_fill_percent=min(100.0, 100 * whole / (room + long_room)) if pages and is_known else None,
    )


def _index(part: gstat.Part, page_bytes: int) -> IndexStatistics:
    figures = part.figures
    nodes, leaves = int(figures["nodes"]), int(figures["leaf buckets"])
    return IndexStatistics(
        name=part.name.lower(),
        table=part.table.lower(),
        depth=int(figures["depth"]),
        keys=nodes,
        key_bytes=figures["average data length"] if nodes else None,
        duplicates=int(figures["total dup"]),
        duplicates_max=int(figures["max dup"]),
        unique=nodes - int(figures["total dup"]),
        bytes=leaves * page_bytes,
        fill_percent=min(100.0, 100 * nodes * figures["average node length"] / (leaves * page_bytes))
        if leaves
        else None,
    )
