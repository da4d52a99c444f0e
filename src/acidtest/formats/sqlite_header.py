"""The beginning of a SQLite database file, and of its journal (sqlite.org/fileformat.html, sections 1.3 and 3)."""

from __future__ import annotations

import struct
from pathlib import Path

MAGIC = b"SQLite format 3\0"
JOURNAL_HEADER_BYTES = 28
_PAGE_SIZE = struct.Struct(">H")  # behind the magic; 1 stands for what two bytes cannot hold


def page_size(head: bytes) -> int:
    """Bytes of a page of the database that begins with ``head``."""
    (size,) = _PAGE_SIZE.unpack_from(head, len(MAGIC))
    return 65_536 if size == 1 else int(size)


def read_page_size(path: Path) -> int | None:
    """The same of the database in the file ``path``; None where none is there."""
    try:
        with path.open("rb") as file:
            head = file.read(len(MAGIC) + _PAGE_SIZE.size)
    except OSError:
        return None
    return page_size(head) if head.startswith(MAGIC) and len(head) == len(MAGIC) + _PAGE_SIZE.size else None


def is_hot(journal: Path) -> bool:
    """Whether its header was not zeroed: a journal that is kept (``journal_mode = persist``) begins with zeroes."""
    with journal.open("rb") as file:
        return any(file.read(JOURNAL_HEADER_BYTES))
