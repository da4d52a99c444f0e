"""The lines of a file, however long they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

LINE_BYTES_MAX = 1 << 24  # of a line, and of a record of several
BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Line:
    number: int  # from 1
    content: bytes  # without its end
    is_whole: bool = True  # False of one that is longer than the limit, or has no end: the file was cut short there


def lines(file: BinaryIO) -> Iterator[Line]:
    """Each line; of one that is too long its beginning."""
    number, parts, length = 1, [b""], 0
    while block := file.read(BLOCK_BYTES):
        begin = 0
        while (end := block.find(b"\n", begin)) >= 0:
            parts.append(block[begin : min(end, begin + LINE_BYTES_MAX - length)])
            length += end - begin
            yield Line(number, b"".join(parts), length <= LINE_BYTES_MAX)
            number, parts, length, begin = number + 1, [], 0, end + 1
        if length < LINE_BYTES_MAX:
            parts.append(block[begin : begin + LINE_BYTES_MAX - length])
        length += len(block) - begin
    if length:
        yield Line(number, b"".join(parts), False)
