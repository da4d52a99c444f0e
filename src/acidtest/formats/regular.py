"""Files that a user names: read whole up to a limit, or streamed, and never a pipe, a device or a link in a circle."""

from __future__ import annotations

import csv
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from acidtest.words import counted

LINE_BYTES_MAX = 1 << 20  # of a CSV file
COLUMNS_MAX = 1_000
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Unreadable(Exception):
    """Why a file cannot be used, in words that follow its name: "is a directory"."""


@dataclass(frozen=True)
class Text:
    """A file that was read whole."""

    text: str  # without a byte order mark
    sha256: str


@dataclass(frozen=True)
class Rows:
    """What a CSV file holds, which was streamed."""

    columns: tuple[str, ...]  # of its first line
    rows: int  # below it
    bytes: int
    sha256: str


def text(path: Path, bytes_max: int) -> Text:
    """A file of UTF-8 text, of at most so many bytes. Raises Unreadable."""
    with opened(path) as file:
        content = file.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise Unreadable(f"is larger than {bytes_max:,} bytes")
    return Text(_decoded(content.removeprefix(BYTE_ORDER_MARK)), hashlib.sha256(content).hexdigest())


def rows(path: Path) -> Rows:
    """What a CSV file (RFC 4180) in UTF-8 holds, whose first line names its columns. Raises Unreadable."""
    digest, size = hashlib.sha256(), 0
    columns: list[str] = []
    count = 0
    with opened(path) as file:

        def lines() -> Iterator[str]:
            nonlocal size
            number = 0
            while line := file.readline(LINE_BYTES_MAX + 1):
                number += 1
                if len(line) > LINE_BYTES_MAX:
                    raise Unreadable(f"has more than {LINE_BYTES_MAX:,} bytes in line {number:,}")
                if number == 1 and line.startswith(BYTE_ORDER_MARK):
                    raise Unreadable("begins with a byte order mark: save it without one")
                digest.update(line)
                size += len(line)
                yield _decoded(line, number)

        reader = csv.reader(lines(), strict=True)
        try:
            for row in reader:
                if not columns:
                    columns = _columns(row)
                    continue
                if len(row) != len(columns):
                    line, values = f"line {reader.line_num:,}", counted(len(row), "value")
                    raise Unreadable(f"has {values} in {line}, and its first line names {len(columns):,}")
                count += 1
        except csv.Error as error:
            raise Unreadable(f"is no CSV in line {reader.line_num:,}: {error}") from None
    if not columns:
        raise Unreadable("is empty: its first line names the columns")
    return Rows(tuple(columns), count, size, digest.hexdigest())


def _columns(row: list[str]) -> list[str]:
    if not row or len(row) > COLUMNS_MAX:
        raise Unreadable(f"must name 1 to {COLUMNS_MAX:,} columns in its first line, and names {len(row):,}")
    return row


def _decoded(content: bytes, number: int | None = None) -> str:
    """As UTF-8 without a NUL; ``number`` is that of the line, of content that is one."""
    try:
        decoded = content.decode()
    except UnicodeDecodeError as error:
        line = number or content.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"is not UTF-8 in line {line:,}") from None
    if (at := decoded.find("\0")) >= 0:
        raise Unreadable(f"has a NUL byte in line {number or decoded.count(chr(10), 0, at) + 1:,}")
    return decoded


def opened(path: Path) -> BinaryIO:
    """Open for reading; what is no regular file is not read, for a pipe would never end. Raises Unreadable."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise Unreadable(_why(error)) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Unreadable("is no regular file")
    return os.fdopen(handle, "rb")


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "is missing"
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or error}"
    return "cannot be read: its name has a NUL byte"
