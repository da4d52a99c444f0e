"""The pages of an InnoDB tablespace of one table (``.ibd``), read from the file itself of a server that has shut down.

Offsets are those of ``fil0fil.h``, ``fsp0fsp.h`` and ``page0page.h`` in MySQL's and MariaDB's ``storage/innobase``; for
what is read here they are the same from MySQL 5.5 to 9.7 and MariaDB 11, but for the pages of long columns. A table of
MySQL 8.0 and later has a dictionary of its own in its file, a tree that is none of the table's.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

INDEX, INSTANT = 17855, 18  # FIL_PAGE_INDEX; MariaDB's root of a table that got columns without a rebuild
# FIL_PAGE_SDI: the first tree of each file of MySQL 8.0 and later, where 18 is FIL_PAGE_SDI_BLOB, a part of that tree.
DICTIONARY = 17853
# FIL_PAGE_TYPE_BLOB, ZBLOB, ZBLOB2; of MySQL 8.0 and later FIL_PAGE_TYPE_LOB_INDEX to FIL_PAGE_TYPE_ZLOB_FRAG_ENTRY.
LONG = (10, 11, 12, *range(22, 30))
EXTENT_STATE_FREE = 1
DATA, DATA_OLD_FORMAT, TRAILER = 120, 125, 8  # where records begin: PAGE_NEW_SUPREMUM_END, PAGE_OLD_SUPREMUM_END
DESCRIPTORS, DESCRIPTOR_STATE, DESCRIPTOR_BITS = 150, 20, 24
READ_PAGES = 64


class Damaged(ValueError):
    """The file is not what a tablespace is."""


@dataclass
class Level:
    """Sums over the pages of one level of a B-tree."""

    pages: int = 0
    records: int = 0  # with those marked as deleted
    record_bytes: int = 0  # with their headers
    used_bytes: int = 0  # all that is not free on these pages


@dataclass
class Tree:
    id: int
    levels: dict[int, Level]  # 0: the leaves

    @property
    def depth(self) -> int:
        return max(self.levels) + 1

    @property
    def pages(self) -> int:
        return sum(level.pages for level in self.levels.values())


@dataclass
class Tablespace:
    pages: int
    trees: list[Tree]  # by id, which is the order in which they were made: that of the table itself first
    long_pages: int  # in use for columns that are too long for their row's page


def read(path: Path, page_bytes: int) -> Tablespace:
    """Read a whole tablespace. Raises Damaged and OSError."""
    levels: dict[int, dict[int, Level]] = {}
    long = number = 0
    trees = {INDEX, INSTANT}
    descriptors = b""
    extent_pages = max(64, (1 << 20) // page_bytes)
    with path.open("rb") as file:
        while chunk := file.read(READ_PAGES * page_bytes):
            if len(chunk) % page_bytes:
                raise Damaged(f"{path.name} ends in the middle of page {number + len(chunk) // page_bytes}")
            for start in range(0, len(chunk), page_bytes):
                if number % page_bytes == 0:  # a page that describes as many pages as it has bytes
                    descriptors = chunk[start : start + page_bytes]
                if not _is_free(descriptors, number % page_bytes, extent_pages):
                    (page_number,) = struct.unpack_from(">I", chunk, start + 4)
                    (kind,) = struct.unpack_from(">H", chunk, start + 24)
                    if page_number != number:
                        raise Damaged(f"page {number} of {path.name} says that it is page {page_number}")
                    if kind == DICTIONARY:
                        trees = {INDEX}
                    elif kind in trees:
                        _see(levels, memoryview(chunk)[start : start + page_bytes])
                    elif kind in LONG:
                        long += 1
                number += 1
    if not levels or any(0 not in tree for tree in levels.values()):
        raise Damaged(f"{path.name} holds no index, or one without leaves")
    return Tablespace(number, [Tree(id_, levels[id_]) for id_ in sorted(levels)], long)


def _is_free(descriptors: bytes, number: int, extent_pages: int) -> bool:
    """Whether the page is free, by its extent's descriptor (xdes_t): what a free page says is of its last user."""
    entry = DESCRIPTORS + number // extent_pages * (DESCRIPTOR_BITS + extent_pages // 4)
    (state,) = struct.unpack_from(">I", descriptors, entry + DESCRIPTOR_STATE)
    if state in (0, EXTENT_STATE_FREE):
        return True
    bit = number % extent_pages * 2  # two bits a page, of which the first says that it is free
    return bool(descriptors[entry + DESCRIPTOR_BITS + bit // 8] >> bit % 8 & 1)


def _see(levels: dict[int, dict[int, Level]], page: memoryview) -> None:
    slots, top, heap, _, garbage = struct.unpack_from(">HHHHH", page, 38)
    records, _, level, index = struct.unpack_from(">HQHQ", page, 54)
    first = DATA if heap & 0x8000 else DATA_OLD_FORMAT
    if not first <= top <= len(page) - TRAILER - 2 * slots or garbage > top - first:
        number = struct.unpack_from(">I", page, 4)[0]
        raise Damaged(f"page {number} says that its records end at byte {top}, of which {garbage} are free")
    sums = levels.setdefault(index, {}).setdefault(level, Level())
    sums.pages += 1
    sums.records += records
    sums.record_bytes += top - first - garbage
    sums.used_bytes += top - garbage + 2 * slots + TRAILER
