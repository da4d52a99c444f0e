"""The log of a simulated disk's writes and flushes, as the rig's disk writes it (its module ``log``)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

FILE_HEAD = struct.Struct("<8sQI4xQ")
FILE_HEAD_BYTES = 64
RECORD = struct.Struct("<IIQQQ")
MAGIC = b"acidlog1"
WRITE, FLUSH = 1, 2


@dataclass(frozen=True)
class Record:
    """One write or flush. ``ends`` is where its last byte lies in the file."""

    is_flush: bool
    at: int  # of a flush: so many records of the log it covers
    length: int
    time_ns: int  # since the disk is there
    ends: int


def read(log: Path) -> tuple[int, list[Record]]:
    """The bytes of a sector, and the records up to the last whole one. Raises ValueError for what is no log."""
    records: list[Record] = []
    size = log.stat().st_size
    with log.open("rb") as file:
        head = file.read(FILE_HEAD_BYTES)
        if len(head) < FILE_HEAD_BYTES or head[:8] != MAGIC:
            raise ValueError(f"{log}: is no log of a disk")
        _, _, sector_bytes, _ = FILE_HEAD.unpack(head[: FILE_HEAD.size])
        place = FILE_HEAD_BYTES
        while len(record := file.read(RECORD.size)) == RECORD.size:
            kind, length, at, time_ns, _ = RECORD.unpack(record)
            place += RECORD.size + length
            if place > size:
                break
            records.append(Record(kind == FLUSH, at, length, time_ns, place))
            file.seek(place)
    return int(sector_bytes), records


def size_bytes(log: Path) -> int:
    """Of the disk that the log is of."""
    with log.open("rb") as file:
        return int(FILE_HEAD.unpack(file.read(FILE_HEAD.size))[1])


def began_ns(log: Path) -> int:
    """CLOCK_MONOTONIC at which the time of the log's records began."""
    with log.open("rb") as file:
        return int(FILE_HEAD.unpack(file.read(FILE_HEAD.size))[3])
