"""What the blocks are that a load has written: the engine's log, its database, the file system's journal, and so on.

A crash state exercises a kind of block if it lacks one that was pending. Which file a block belongs to is asked of the
file system while the load goes on (FIEMAP), as files come and go; the file system's journal is known by its own marks.
"""

from __future__ import annotations

import fcntl
import os
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from acidtest.analysis.disk_log import Record
from acidtest.filesystems import FILESYSTEMS

JOURNAL = "the file system's journal"
OTHER = "other files"
FILE_SYSTEM = "the file system's own"  # what is in no file that was there when we looked, and not in the journal
# linux/fiemap.h
FS_IOC_FIEMAP = 0xC020660B
HEAD = struct.Struct("=QQLLLL")
EXTENT = struct.Struct("=QQQQQLLLL")
ASKED_AT_ONCE = 256
LAST = 0x1
UNPLACED = 0x2 | 0x4 | 0x200  # unknown, not allocated yet, inside metadata: no place on the disk is told


@dataclass(frozen=True)
class Extent:
    """Bytes ``[start, end)`` of the disk, and what they are."""

    start: int
    end: int
    kind: str
    logical: int = 0  # the byte of its file at which it begins


@dataclass(frozen=True)
class Seen:
    """Where the files lay when so many records were in the log. Extents ascend and do not overlap."""

    records: int
    extents: Sequence[Extent]

    def kind_at(self, byte: int) -> str | None:
        """What the block with this byte of the disk is; None where it is in no file."""
        position = bisect_right(self.extents, byte, key=lambda extent: extent.start) - 1
        if position < 0 or byte >= self.extents[position].end:
            return None
        return self.extents[position].kind


def look(root: Path, filesystem: str, records: int, role: Callable[[str], str]) -> Seen:
    """Where the files below ``root`` lie on the disk, without having anything written; ``role`` says of a path what the
    file is. Nothing is found where the file system's answers are no places on the disk."""
    if not FILESYSTEMS[filesystem].tells_places:
        return Seen(records, [])
    found: list[Extent] = []
    for directory, _, names in os.walk(root):
        for name in names:
            path = Path(directory) / name
            try:
                handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError:  # gone meanwhile, a link, a socket
                continue
            try:
                kind = OTHER if (told := role(str(path))) == "other" else told
                found += [Extent(at, at + length, kind, logical) for at, length, logical in _places(handle)]
            except OSError:  # what has no extents
                continue
            finally:
                os.close(handle)
    return Seen(records, sorted(found, key=lambda extent: extent.start))


def extents(path: Path) -> list[Extent]:
    """Where this file lies on the disk, as far as it has a place; nothing of one that is gone."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return []
    try:
        return [Extent(at, at + length, path.name, logical) for at, length, logical in _places(handle)]
    finally:
        os.close(handle)


def _places(handle: int) -> Iterator[tuple[int, int, int]]:
    """Byte of the disk and length of each extent of a file, and the byte of the file at which it begins."""
    logical = 0
    while True:
        asked = bytearray(HEAD.size + ASKED_AT_ONCE * EXTENT.size)
        HEAD.pack_into(asked, 0, logical, (1 << 64) - 1 - logical, 0, 0, ASKED_AT_ONCE, 0)
        fcntl.ioctl(handle, FS_IOC_FIEMAP, asked)
        told = HEAD.unpack_from(asked)[3]
        flags = LAST
        for number in range(told):
            at, physical, length, _, _, flags, *_ = EXTENT.unpack_from(asked, HEAD.size + number * EXTENT.size)
            logical = at + length
            if not flags & UNPLACED:
                yield physical, length, at
        if not told or flags & LAST:
            return


def kinds(log: Path, records: Sequence[Record], seen: Sequence[Seen], start: int = 0) -> list[str]:
    """What each of ``records`` has written: "" of a flush. The first is the log's ``start``-th, and ``seen`` ascends.

    A write counts as what its first block was when the files were looked at next; where it was in none then, before.
    """
    first, behind = _journal(log, records)
    found = []
    for number, record in enumerate(records, start=start):
        if record.is_flush:
            found.append("")
            continue
        later = [one for one in seen if one.records > number]
        earlier = [one for one in reversed(seen) if one.records <= number]
        in_file = next((kind for one in (*later, *earlier) if (kind := one.kind_at(record.at)) is not None), None)
        if in_file is None:
            in_file = JOURNAL if first <= record.at < behind else FILE_SYSTEM
        found.append(in_file)
    return found


# What a block of a journal begins with: jbd2 (ext3, ext4) and XFS, whose records of the log carry it.
MARKS = (bytes.fromhex("c03b3998"), bytes.fromhex("feedbabe"))


def _journal(log: Path, records: Sequence[Record]) -> tuple[int, int]:
    """The bytes of the disk from the first block that bears a mark to the last; both 0 where none does."""
    first, behind = 0, 0
    with log.open("rb") as content:
        for record in records:
            if record.is_flush:
                continue
            content.seek(record.ends - record.length)
            if content.read(4) in MARKS:
                first = min(first, record.at) if behind else record.at
                behind = max(behind, record.at + record.length)
    return first, behind
