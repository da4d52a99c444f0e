"""Firebird's databases: their header page, or what gstat says of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidtest.audit.bench import OWN_DATABASE, Database
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.formats import firebird_header, gstat

PAGE_BYTES_MAX = 32_768
BUFFERS_END = 1 << 31
SUFFIXES = (".fdb", ".gdb", ".fdb.header", ".hdr")
SAID = {"Page size": "page_bytes", "Page buffers": "page_buffers", "Attributes": "forced_writes"}


def _database(file: File) -> Sequence[Database] | None:
    named = file.base.endswith(SUFFIXES)
    try:
        page = firebird_header.parse(file.head)
    except firebird_header.NotAHeader as error:
        if not named:
            return None
        raise Broken(f"is no Firebird database that is known here: {error}") from None
    if _is_own(file.base):
        return []
    return [
        Database(
            where=file.at(),
            name=file.base,
            engine="firebird",
            ods=(page.ods_major, page.ods_minor),
            # Its first page alone says nothing of the size.
            bytes=file.size if file.size > page.page_size else None,
            page_bytes=page.page_size,
            page_buffers=page.page_buffers,
            forced_writes=page.forced_writes,
        )
    ]


def _gstat(file: File) -> Sequence[Database] | None:
    """Output of ``gstat -h`` or ``gstat -a``; the size is then that of all data pages, a lower bound."""
    if gstat.HEADER.encode() not in file.head:
        return None
    header: dict[str, str] = {}
    lines: dict[str, int] = {}
    name, pages = "", 0
    first = 1
    for number, line in enumerate(file.lines, start=1):
        if not name and (match := gstat.DATABASE.search(line)):
            name, first = re.split(r"[/\\]", match[1])[-1], number
        elif match := gstat.DATA_PAGES.match(line):
            pages += int(match[1])
        elif match := gstat.HEADER_LINE.fullmatch(line.rstrip()):
            header.setdefault(match[1], match[2])
            lines.setdefault(match[1], number)
    try:
        page_bytes = int(header["Page size"])
        major, minor = map(int, header["ODS version"].split("."))
        buffers = int(header["Page buffers"])
        if not (
            0 < page_bytes <= PAGE_BYTES_MAX and 0 <= buffers < BUFFERS_END and 0 < major < 100 and 0 <= minor < 100
        ):
            raise ValueError
    except (KeyError, ValueError):
        raise Broken("is gstat's output without page size, ODS version or page buffers", first) from None
    if _is_own(name.lower()):
        return []
    return [
        Database(
            where=file.at(first),
            name=name,
            engine="firebird",
            ods=(major, minor),
            bytes=pages * page_bytes or None,
            page_bytes=page_bytes,
            page_buffers=buffers,
            forced_writes="force write" in header.get("Attributes", ""),
            places=tuple((what, file.at(lines[name])) for name, what in SAID.items() if name in lines),
        )
    ]


def _is_own(name: str) -> bool:
    """Whether Firebird brings it with it, which nobody measures."""
    return OWN_DATABASE.fullmatch(name.removesuffix(".header").removesuffix(".hdr")) is not None


DATABASE = Importer("Firebird database", _database)
STATISTICS = Importer("gstat output", _gstat)
