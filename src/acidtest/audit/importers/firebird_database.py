"""Firebird's databases: their header page, or what gstat says of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidtest.audit.bench import Database
from acidtest.audit.importers.configurations import OWN_DATABASE
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.formats import firebird_header, gstat

PAGE_BYTES_MAX = 32_768
BUFFERS_END = 1 << 31
SUFFIXES = (".fdb", ".gdb", ".fdb.header", ".hdr")
SAID = {"Page size": "page_bytes", "Page buffers": "page_buffers", "Attributes": "forced_writes"}


def _database(file: File) -> Sequence[Database] | None:
    try:
        page = firebird_header.parse(file.head)
    except firebird_header.NotAHeader as error:
        if not file.base.endswith(SUFFIXES):
            return None
        raise Broken(f"is no Firebird database that is known here: {error}") from None
    # Its first page alone says nothing of the size.
    size = file.size if file.size > page.page_size else None
    ods = page.ods_major, page.ods_minor
    one = Database(file.at(), file.base, "firebird", ods, size, page.page_size, page.page_buffers, page.forced_writes)
    return _measured(one)


def _gstat(file: File) -> Sequence[Database] | None:
    """Output of ``gstat -h`` or ``gstat -a``; the size is then that of all data pages, a lower bound."""
    if gstat.HEADER.encode() not in file.head:
        return None
    header: dict[str, tuple[str, int]] = {}
    name, pages, first = "", 0, 1
    for number, line in enumerate(file.lines, start=1):
        if not name and (match := gstat.DATABASE.search(line)):
            name, first = re.split(r"[/\\]", match[1])[-1], number
        elif match := gstat.DATA_PAGES.match(line):
            pages += int(match[1])
        elif match := gstat.HEADER_LINE.fullmatch(line.rstrip()):
            header.setdefault(match[1], (match[2], number))
    try:
        page_bytes, buffers = int(header["Page size"][0]), int(header["Page buffers"][0])
        major, minor = map(int, header["ODS version"][0].split("."))
        if not (
            0 < page_bytes <= PAGE_BYTES_MAX and 0 <= buffers < BUFFERS_END and 0 < major < 100 and 0 <= minor < 100
        ):
            raise ValueError
    except (KeyError, ValueError):
        raise Broken("is gstat's output without page size, ODS version or page buffers", first) from None
    forced = "force write" in header.get("Attributes", ("", 0))[0]
    places = tuple((what, file.at(header[key][1])) for key, what in SAID.items() if key in header)
    size = pages * page_bytes or None
    return _measured(
        Database(file.at(first), name, "firebird", (major, minor), size, page_bytes, buffers, forced, places)
    )


def _measured(one: Database) -> list[Database]:
    """None of those that Firebird brings with it, which nobody measures."""
    own = OWN_DATABASE.fullmatch(one.name.lower().removesuffix(".header").removesuffix(".hdr"))
    return [] if own else [one]


DATABASE = Importer("Firebird database", _database)
STATISTICS = Importer("gstat output", _gstat)
