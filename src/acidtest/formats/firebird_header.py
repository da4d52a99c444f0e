"""The header page of a Firebird database: page 0, read from the file itself.

Offsets are those of ``header_page`` in Firebird's ``src/jrd/ods.h``. For what is read here they are the same from ODS
10 (Firebird 1.5) to ODS 13 (4 and 5), but for the minor version and the bit of the dialect, which moved with ODS 12.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

PAGE_TYPE_HEADER = 1
ODS_FIREBIRD_FLAG = 0x8000
KNOWN = (10, 11, 12, 13)
MOVED = 12
FORCE_WRITE, SQL_DIALECT_3, SQL_DIALECT_3_BEFORE = 0x2, 0x10, 0x100
LENGTH = 72


class NotAHeader(ValueError):
    """The bytes are no header page of a Firebird database that we know."""


@dataclass(frozen=True)
class HeaderPage:
    page_size: int  # bytes
    ods_major: int
    ods_minor: int
    page_buffers: int  # pages; 0: taken from the configuration
    forced_writes: bool
    sql_dialect: int


def parse(raw: bytes) -> HeaderPage:
    """Read the first bytes of page 0. Raises NotAHeader."""
    if len(raw) < LENGTH:
        raise NotAHeader("cut off")
    if raw[0] != PAGE_TYPE_HEADER:
        raise NotAHeader("page 0 is no header page")
    page_size, ods = struct.unpack_from("<HH", raw, 16)
    (flags,) = struct.unpack_from("<H", raw, 42)
    (page_buffers,) = struct.unpack_from("<I", raw, 68)
    major = ods & ~ODS_FIREBIRD_FLAG
    if not ods & ODS_FIREBIRD_FLAG or major not in KNOWN:
        raise NotAHeader(f"on-disk structure {major} is not one of {KNOWN[0]} to {KNOWN[-1]}")
    (ods_minor,) = struct.unpack_from("<H", raw, 64 if major >= MOVED else 62)
    page_size = page_size or 65536
    if page_size & (page_size - 1) or page_size < 1024:
        raise NotAHeader(f"page size {page_size}")
    dialect = SQL_DIALECT_3 if major >= MOVED else SQL_DIALECT_3_BEFORE
    return HeaderPage(page_size, major, ods_minor, page_buffers, bool(flags & FORCE_WRITE), 3 if flags & dialect else 1)


def read(path: Path) -> HeaderPage:
    """The header page of the database file ``path``."""
    with path.open("rb") as file:
        return parse(file.read(LENGTH))
