"""A Firebird database by its pages: its statistics, out of what gstat prints, or out of what the rig has read of its
pages, which is laid out as gstat would print it; and what its header says."""

from __future__ import annotations

from acidtest.engine.inspection import InspectionResult
from acidtest.formats import gstat
from acidtest.journal.models import DatabaseStatistics, IndexStatistics, Scalar, TableStatistics, Transactions
from acidtest.journal.protocol import Pages, PagesOfIndex, PagesOfTable

# What a data page holds of each record beside its bytes: the record's header (RHD_SIZE) and its entry in the page's
# directory (data_page::dpg_repeat); see src/jrd/ods.h of Firebird's source.
RECORD_HEADER_BYTES, DIRECTORY_ENTRY_BYTES = 13, 4
# What blobs take of the data pages: gstat does not tell it, the rig's reading of pages does.
BLOB_ROOM = "room of blobs"
PAGE_HEADER = 24  # what gstat takes off a data page before it says how full it is
RELEASES = {(12, 0): "Firebird 3.0", (12, 2): "Firebird 3.0", (13, 0): "Firebird 4.0", (13, 1): "Firebird 5.0"}
SWEEP_INTERVAL = 20_000  # the engine's own, where the header does not say


def inspect(pages: Pages) -> InspectionResult:
    """The figures; without size and times."""
    structure = f"on-disk structure {pages.ods_major}.{pages.ods_minor}"
    release = RELEASES.get((pages.ods_major, pages.ods_minor))
    statistics = None
    if not pages.encrypted:
        statistics = of_gstat(as_gstat(pages), f"its pages, counted as gstat -a -r does ({structure})")
    return InspectionResult(
        version=f"{release} ({structure})" if release else structure,
        facts=_facts(pages),
        statistics=statistics,
        statistics_said="it is encrypted: only its header and its transactions can be read" if pages.encrypted else "",
        damaged=pages.damaged or "",
    )


def _facts(pages: Pages) -> dict[str, Scalar]:
    return {
        "page_bytes": pages.page_bytes,
        "pages": pages.pages,
        "free_pages": pages.free_pages,
        "page_buffers": pages.page_buffers,
        "forced_writes": pages.forced_writes,
        "reserves_space": pages.reserves_space,
        "sql_dialect": pages.sql_dialect,
        "read_only": pages.read_only,
        "encrypted": pages.encrypted,
        "is_shut_down": pages.is_shut_down,
        "backup_locked": pages.backup_locked,
        "sweep_interval": SWEEP_INTERVAL if pages.sweep_interval is None else pages.sweep_interval,
        "oldest_transaction": pages.oldest,
        "oldest_active": pages.oldest_active,
        "oldest_snapshot": pages.oldest_snapshot,
        "next_transaction": pages.next,
        "oldest_state": pages.oldest_state,
        "in_limbo": pages.in_limbo,
        "rolled_back": pages.rolled_back,
        "not_ended": pages.active,
        "states_of": pages.states_of,
        "fragmented_records_max": max((table.fragments_max for table in pages.tables), default=0),
        "fragments": sum(table.fragments for table in pages.tables),
        "deleted_records": sum(table.deleted for table in pages.tables),
        "blob_bytes": sum(table.blob_bytes for table in pages.tables),
    }


def as_gstat(pages: Pages) -> gstat.Output:
    """What gstat would have printed, each figure under its words, but not rounded."""
    header = {
        "Page size": str(pages.page_bytes),
        "ODS version": f"{pages.ods_major}.{pages.ods_minor}",
        "Oldest transaction": str(pages.oldest),
        "Oldest active": str(pages.oldest_active),
        "Oldest snapshot": str(pages.oldest_snapshot),
        "Next transaction": str(pages.next),
        "Page buffers": str(pages.page_buffers),
        "Database dialect": str(pages.sql_dialect),
    }
    parts: list[gstat.Part] = []
    for table in pages.tables:
        parts.append(gstat.Part(table.name, "", _of_table(table, pages.page_bytes)))
        parts += [gstat.Part(index.name, table.name, _of_index(index)) for index in table.indexes]
    return gstat.Output(header, parts, pages.damaged or "")


def _of_table(table: PagesOfTable, page_bytes: int) -> dict[str, float]:
    return {
        "average record length": _mean(table.record_bytes, table.records),
        "total records": table.records,
        "average version length": _mean(table.version_bytes, table.versions),
        "total versions": table.versions,
        "max versions": table.versions_max,
        "average fragment length": _mean(table.fragment_bytes, table.fragments),
        "total fragments": table.fragments,
        "max fragments": table.fragments_max,
        "pointer pages": table.pointer_pages,
        "data page slots": table.slots,
        "data pages": table.data_pages,
        "average fill": 100 * _mean(table.used_bytes, table.data_pages * (page_bytes - PAGE_HEADER)),
        "primary pages": table.primary_pages,
        "secondary pages": table.data_pages - table.primary_pages,
        "swept pages": table.swept_pages,
        "empty pages": table.empty_pages,
        "full pages": table.full_pages,
        "big record pages": table.big_record_pages,
        "blobs": table.blobs,
        "total length": table.blob_bytes,
        "blob pages": table.blob_pages,
        BLOB_ROOM: table.blob_room_bytes,
    }


def _of_index(index: PagesOfIndex) -> dict[str, float]:
    return {
        "depth": index.depth,
        "leaf buckets": index.leaf_buckets,
        "nodes": index.nodes,
        "average node length": _mean(index.node_bytes, index.nodes),
        "total dup": index.duplicates,
        "max dup": index.duplicates_max,
        "average prefix length": _mean(index.prefix_bytes, index.nodes),
        "average data length": _mean(index.data_bytes, index.nodes),
        "clustering factor": index.clustering,
    }


def _mean(total: int, count: int) -> float:
    return total / count if count else 0.0


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
