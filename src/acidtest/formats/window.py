"""A file as bytes that are read when they are asked for: of a sparse one or one of gigabytes only what is looked at.

Unlike a mapping, one that grows shorter meanwhile ends no process.
"""

from __future__ import annotations

import io
import os
import struct
from typing import Any, Protocol, overload

ASKED_MAX = 16 << 20  # bytes at once


class Raw(Protocol):
    """``bytes`` or a ``Window``: as much as formats need of them."""

    def __len__(self) -> int: ...

    @overload
    def __getitem__(self, key: int) -> int: ...

    @overload
    def __getitem__(self, key: slice) -> bytes: ...

    def find(self, what: bytes, begin: int, end: int, /) -> int: ...


class Window:
    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, key: int) -> int: ...

    @overload
    def __getitem__(self, key: slice) -> bytes: ...

    def __getitem__(self, key: int | slice) -> int | bytes:
        """One byte or those of a slice without a step, of which no more than ``ASKED_MAX`` are answered."""
        if isinstance(key, slice):
            begin, end, _ = key.indices(self._size)
            return os.pread(self._file.fileno(), max(min(end - begin, ASKED_MAX), 0), begin)
        return self[key : key + 1][0]

    def find(self, what: bytes, begin: int, end: int) -> int:
        """As that of ``bytes``, within ``ASKED_MAX`` from ``begin`` on."""
        at = self[begin:end].find(what)
        return at if at < 0 else begin + at


def unpack(layout: str, raw: Raw, at: int) -> tuple[Any, ...]:
    """As ``struct.unpack_from``. Raises ``struct.error`` for what lies outside."""
    if at < 0:
        raise struct.error("before the beginning")
    return struct.unpack(layout, raw[at : at + struct.calcsize(layout)])
