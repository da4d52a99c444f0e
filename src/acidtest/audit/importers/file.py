"""One file of a kit, and what an importer makes of it.

Whatever the file is, reading it takes time and memory within bounds: it is opened without following a link and only if
it is a regular file, no more is read of it than it had when it was opened, holes of a sparse file are left out, lines
are cut at ``LINE_MAX`` characters, and the whole audit has one ``Budget``. What was left out is said in ``notes``.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from acidtest.audit import bench
from acidtest.audit.bench import Where
from acidtest.finding import Evidence

TEXT_BYTES_MAX = 16 << 20  # of a text that is taken as a whole; what is longer is read so far
STREAM_BYTES_MAX = 64 << 20  # of one that is read line by line
HEAD_BYTES = 1 << 16
SNIFFED_BYTES = 1 << 12  # that tell a text from what is none
LINE_MAX = 1 << 16  # characters of a line; the rest of a longer one is left out
LINES_MAX = 1_000_000  # of a text that is taken as a whole
BLOCK_BYTES = 1 << 20
BUDGET_BYTES = 96 << 20  # of a kit that are read; a byte takes 0.1 microseconds, or less
PROSE_CHARACTERS = 2 << 20  # of its texts that are looked through word by word, at a microsecond each
BINARY_SHARE = 8  # bytes of a program that count as one: they are only looked through for a few words
FILES_MAX = 20_000  # that are opened
TEXTS_MAX = 4_000  # of these, texts: every importer looks into one, which takes a millisecond or two
PARTS_MAX = 20_000  # results, sentences, configurations and so on of a kit, which are held against one another
SPENT = "was not read to its end: the audit has read as much as it may"
WORDS_SPENT = "the audit has looked through as many words as it may"
MARK = "\ufeff"  # of the order of bytes
CODINGS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
           (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))  # fmt: skip

Part = (
    bench.Binary | bench.Configuration | bench.Database | bench.Harness | bench.LogEntry | bench.Mount
    | bench.Published | bench.Routine | bench.Statement | bench.TableRow
)  # fmt: skip
Answer = TypeVar("Answer")


class Broken(ValueError):
    """A file that should be understood and is not."""

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why)
        self.line = line


class Spent(Exception):
    """The audit has read as much as it may."""


@dataclass
class Budget:
    """How much the audit may still read, of all files together."""

    bytes: int = BUDGET_BYTES
    prose: int = PROSE_CHARACTERS
    files: int = FILES_MAX
    texts: int = TEXTS_MAX
    parts: int = PARTS_MAX

    def spend(self, amount: int = 1, of: Literal["bytes", "files", "texts"] = "bytes") -> None:
        """Raises Spent."""
        setattr(self, of, getattr(self, of) - amount)
        if getattr(self, of) < 0:
            raise Spent(SPENT)


@dataclass(frozen=True)
class File:
    """A file, its bytes read only when asked for. Each of its members may raise OSError and Spent."""

    path: Path
    name: str  # below the kit, with "/"; bytes that are no UTF-8 are halves of surrogate pairs, as os.fsdecode has it
    folder: int | None = None  # the descriptor of its directory, by which it is opened; None: by its path
    budget: Budget = field(default_factory=Budget, compare=False, repr=False)
    notes: list[Evidence] = field(default_factory=list, compare=False, repr=False)  # what of it was not read
    answers: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)  # see ``once``

    @cached_property
    def base(self) -> str:
        """The last part of its name, in lower case, and "?" for what in it is no text."""
        return self.name.rpartition("/")[2].lower().encode(errors="replace").decode()

    def beside(self, base: str) -> File | None:
        """Another file of the same folder by its name; None where there is none that can be read."""
        other = File(self.path.with_name(base), f"{self.name.rpartition('/')[0]}/{base}".lstrip("/"), self.folder,
                     self.budget)  # fmt: skip
        try:
            with other.opened():
                return other
        except OSError:
            return None

    @contextmanager
    def opened(self) -> Iterator[io.FileIO]:
        """Its bytes, without a buffer. Raises OSError for what is no regular file (any more); a link is not followed,
        and nothing waits for the other end of a pipe."""
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
        where = self.path if self.folder is None else self.path.name
        with io.FileIO(os.open(where, flags, dir_fd=self.folder), "r") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, "is no regular file")
            yield file

    @cached_property
    def _begin(self) -> tuple[int, bytes]:
        """Its size and its first bytes."""
        self.budget.spend(of="files")
        with self.opened() as file:
            size = os.fstat(file.fileno()).st_size
            self.budget.spend(min(size, HEAD_BYTES))
            head = file.read(min(size, HEAD_BYTES)) or b""
        if head and b"\0" not in head[:SNIFFED_BYTES]:
            self.budget.spend(of="texts")
        return size, head

    @property
    def size(self) -> int:
        """Bytes, those of holes with them, when it was first asked."""
        return self._begin[0]

    @property
    def head(self) -> bytes:
        """Its first bytes."""
        return self._begin[1]

    @cached_property
    def coding(self) -> str:
        """How its text is written: by its first bytes. What is no UTF-8 is taken for Windows' Latin."""
        for mark, coding in CODINGS:
            if self.head.startswith(mark):
                return coding
        try:
            codecs.getincrementaldecoder("utf-8")().decode(self.head)
        except UnicodeDecodeError:
            return "cp1252"
        return "utf-8"

    @cached_property
    def text(self) -> str:
        """All of it as text, with whatever is no text replaced, and each line's end a "\\n"."""
        return "".join(self._blocks(TEXT_BYTES_MAX))

    @cached_property
    def lines(self) -> list[str]:
        """Its lines. They end as an editor has it, at no other characters that Unicode calls a line's end."""
        lines = self.text.split("\n", LINES_MAX)
        if len(lines) > LINES_MAX:
            self.left_out(f"has more than {LINES_MAX:,} lines; the others were not read")
        del lines[-1 if lines[-1] == "" else LINES_MAX :]
        return [self._cut(line, number) for number, line in enumerate(lines, start=1)]

    @cached_property
    def prose(self) -> list[str]:
        """The lines of a text that is looked through for what it says, which is slow: all those of a kit together may
        have ``PROSE_CHARACTERS``."""
        if self.budget.prose <= 0:
            raise Spent(f"was not looked through for what it says: {WORDS_SPENT}")
        taken: list[str] = []
        for line in self.lines:
            if self.budget.prose <= 0:
                self.left_out(f"was looked through for what it says to line {len(taken):,}: {WORDS_SPENT}")
                break
            taken.append(line)
            self.budget.prose -= len(line) + 1
        return taken

    @cached_property
    def first_lines(self) -> list[str]:
        """The whole lines of its first bytes."""
        lines = _decoder(self.coding).decode(self.head).removeprefix(MARK).split("\n")
        return lines[:-1] if lines[-1] == "" or (self.size > HEAD_BYTES and len(lines) > 1) else lines

    @cached_property
    def first_text(self) -> str:
        """The same as one text."""
        return "\n".join(self.first_lines)

    def stream(self) -> Iterator[str]:
        """Its lines, one at a time, so that its size does not matter."""
        rest, number = "", 0
        for block in self._blocks(STREAM_BYTES_MAX):
            lines = block.split("\n")
            lines[0] = rest + lines[0]
            for line in lines[:-1]:
                number += 1
                yield self._cut(line, number)
            rest = lines[-1][: LINE_MAX + 1]
        if rest:
            yield self._cut(rest, number + 1)

    def data(self, most: int, share: int = BINARY_SHARE) -> Iterator[tuple[int, bytes]]:
        """At most so many of its bytes in blocks, with where each begins; a hole is left out, not read. So many of them
        count as one."""
        size, left = self.size, most
        with self.opened() as file:
            begin = 0
            while begin < size and left > 0:
                begin, end = _extent(file.fileno(), begin, size)
                while begin < end and left > 0:
                    self.budget.spend(min(BLOCK_BYTES, end - begin) // share)
                    block = os.pread(file.fileno(), min(BLOCK_BYTES, end - begin, left), begin)
                    if not block:
                        begin = size
                        break
                    yield begin, block
                    begin += len(block)
                    left -= len(block)
            if os.fstat(file.fileno()).st_size < size:
                self.left_out("grew shorter while it was read")
            elif begin < size and left <= 0 and _extent(file.fileno(), begin, size)[0] < size:
                self.left_out(f"is larger than is read of one file: {size:,} bytes, of which {most:,} were read")

    def _blocks(self, most: int) -> Iterator[str]:
        decoder = _decoder(self.coding)
        for _, block in self.data(most, share=1):
            yield decoder.decode(block).removeprefix(MARK)
        yield decoder.decode(b"", final=True)

    def _cut(self, line: str, number: int) -> str:
        if len(line) <= LINE_MAX:
            return line
        self.left_out(f"has a line of more than {LINE_MAX:,} characters; the rest of it was not read", number)
        return line[:LINE_MAX]

    @cached_property
    def low(self) -> str:
        """Its text in lower case."""
        return self.text.lower()

    def once(self, ask: Callable[[File], Answer]) -> Answer:
        """What ``ask`` answers of this file. It is asked once, however many importers want to know."""
        if ask not in self.answers:
            self.answers[ask] = ask(self)
        answer: Answer = self.answers[ask]
        return answer

    def left_out(self, why: str, line: int | None = None) -> None:
        """Notes what of it is not read, once."""
        if not any(note.text == why for note in self.notes):
            self.notes.append(Evidence(why, self.name, line))

    def at(self, line: int | None = None) -> Where:
        return Where(self.name, line)


def _decoder(coding: str) -> io.IncrementalNewlineDecoder:
    return io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(coding)("replace"), translate=True)


def _extent(descriptor: int, at: int, size: int) -> tuple[int, int]:
    """The next bytes from ``at`` on that are no hole; lseek(2). A file system that knows of none has all in one."""
    try:
        begin = os.lseek(descriptor, at, os.SEEK_DATA)
        return begin, min(os.lseek(descriptor, begin, os.SEEK_HOLE), size)
    except OSError as error:
        return (size, size) if error.errno == errno.ENXIO else (at, size)


@dataclass(frozen=True)
class Importer:
    """Understands one kind of file.

    ``read`` answers with what it found, which may be nothing, and with None of a file of any other kind. It raises
    Broken, and nothing else but what ``File`` raises, whatever the bytes are. Its patterns are those of
    ``acidtest.formats.linear``, which take time linear in the text, and what it parses as JSON or YAML comes from
    ``trees``.
    """

    kind: str  # "firebird.conf", "pgbench summary"
    read: Callable[[File], Sequence[Part] | None]
    beside: bool = False  # whether the file may be of another kind too, as a text is that quotes something
    together: bool = False  # whether the file may hold what other tools printed, as a script's log does
    last: bool = False  # asked after all others, of what would fit much
