"""One file of a kit, and what an importer makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from acidtest.audit.bench import (
    Account,
    Binary,
    Claim,
    Configuration,
    Database,
    LogEntry,
    Mount,
    Published,
    Routine,
    Statement,
    Where,
)

TEXT_BYTES_MAX = 64 << 20  # of a log or a result; what is longer is read so far
HEAD_BYTES = 1 << 16
LINE_BYTES_MAX = 1 << 16  # of a line that is read by itself; a longer one comes in pieces

Part = Account | Binary | Claim | Configuration | Database | LogEntry | Mount | Published | Routine | Statement


class Broken(ValueError):
    """A file that should be understood and is not."""

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why)
        self.line = line


@dataclass(frozen=True)
class File:
    """A file, its bytes read only when asked for."""

    path: Path
    name: str  # below the kit, with "/"

    @property
    def base(self) -> str:
        """The last part of its name, in lower case."""
        return self.name.rpartition("/")[2].lower()

    @cached_property
    def size(self) -> int:
        return self.path.stat().st_size

    @cached_property
    def head(self) -> bytes:
        """Its first bytes."""
        with self.path.open("rb") as file:
            return file.read(HEAD_BYTES)

    @cached_property
    def text(self) -> str:
        """All of it as text, with whatever is no text replaced."""
        with self.path.open("rb") as file:
            raw = file.read(TEXT_BYTES_MAX)
        if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return raw.decode("utf-16", errors="replace")
        return raw.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def first_lines(self) -> list[str]:
        """The whole lines of its first bytes."""
        lines = self.head.decode(errors="replace").splitlines() if not self._is_utf16 else self.lines[:1000]
        return lines if self.size <= HEAD_BYTES or len(lines) < 2 else lines[:-1]

    def stream(self) -> Iterator[str]:
        """Its lines, one at a time, so that its size does not matter."""
        if self._is_utf16:
            yield from self.lines
            return
        with self.path.open("rb") as file:
            while line := file.readline(LINE_BYTES_MAX):
                yield line.decode(errors="replace").rstrip("\r\n")

    @property
    def _is_utf16(self) -> bool:
        return self.head[:2] in (b"\xff\xfe", b"\xfe\xff")

    def at(self, line: int | None = None) -> Where:
        return Where(self.name, line)


@dataclass(frozen=True)
class Importer:
    """Understands one kind of file.

    ``read`` answers with what it found, which may be nothing, and with None of a file of any other kind. It raises
    Broken, and nothing else, whatever the bytes are.
    """

    kind: str  # "firebird.conf", "pgbench summary"
    read: Callable[[File], Sequence[Part] | None]
    beside: bool = False  # whether the file may be of another kind too, as a text is that quotes something
