"""Standard output and standard error, on any terminal and into any pipe.

What a terminal's encoding cannot show is replaced by what it can show. What a stream does not take, because the disk
behind it is full or nobody reads it any more, ends the command with OutputLost and not with a traceback.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import tempfile
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from rich.cells import cell_len

from acidtest.errors import BadInput, OutputLost, cannot_write

STDOUT = Path("-")  # as an option that takes a file

SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹‧"  # the numbers of notes, as they stand beside a figure
NUMBERS = str.maketrans(SUPERSCRIPTS, "0123456789,")
# Such numbers, or another character; what fills up a column; the end of a line.
PARTS = re.compile(r"([⁰¹²³⁴⁵⁶⁷⁸⁹‧]+|[^\x00-\x7f])|( {2,})|\n")
PLAIN = {
    "–": "-", "—": "-", "−": "-", "━": "-", "─": "-", "╸": "-", "╺": "-", "│": "|", "…": "...", "·": ".", "•": "*",
    "→": "->", "←": "<-", "▲": "^", "▼": "v", "×": "x", "±": "+-", "≤": "<=", "≥": ">=", "≠": "!=", "µ": "u", "μ": "u",
    "“": '"', "”": '"', "‘": "'", "’": "'", "\u00a0": " ", "\u2009": " ", "\u202f": " ",
    "ß": "ss", "Æ": "AE", "æ": "ae", "Ø": "O", "ø": "o",
}  # fmt: skip


def in_utf8() -> None:
    """Start Python again in its UTF-8 mode where the locale has another encoding; see PEP 540.

    Names of files are the same bytes in both halves then, whatever the locale says; only what is shown follows it.
    """
    if not sys.flags.utf8_mode and codecs.lookup(sys.getfilesystemencoding()).name != "utf-8":
        shown = sys.stdout or sys.stderr
        if shown is not None:
            os.environ.setdefault("PYTHONIOENCODING", shown.encoding)
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - ourselves
    if sys.flags.utf8_mode:
        os.environ["PYTHONUTF8"] = "1"
    os.environ.pop("PYTHONIOENCODING", None)  # what this terminal shows is nothing to the programs that are started


@contextmanager
def taken(path: Path) -> Iterator[Path]:
    """Which file an option that was given ``path`` writes. Of "-" it is a scratch file, which then goes to standard
    output."""
    if path != STDOUT:
        yield path
        return
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "output")
        yield file
        sys.stdout.flush()
        sys.stdout.buffer.write(file.read_bytes())


@contextmanager
def written(path: Path, option: str) -> Iterator[Path]:
    """As ``taken``, of a file that must be written. Raises BadInput, which names the ``option``, where it cannot be."""
    try:
        with taken(path) as file:
            yield file
    except OSError as error:
        raise cannot_write(path, error, f"name another {option}") from None


def is_taken(*, json: bool, **given: Path | None) -> bool:
    """Whether an option, by "-", takes standard output, so that what is for readers goes to standard error.

    Raises BadInput where several would.
    """
    taking = [f"--{name}" for name, path in given.items() if path == STDOUT]
    if taking and len(taking) + json > 1:
        both = " and ".join([*taking, *(["--json"] if json else [])])
        raise BadInput(f"{both}: standard output takes one of them", "name a file for the others")
    return bool(taking)


@contextmanager
def guarded() -> Iterator[None]:
    """``sys.stdout`` and ``sys.stderr`` show everything somehow, and raise OutputLost where they cannot be written.

    Of what is typed, bytes that the terminal's encoding does not have are read as such that no name has.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    _fill_descriptors()
    before = sys.stdout, sys.stderr
    sys.stdout = _guard(sys.stdout, 1, "standard output")
    sys.stderr = _guard(sys.stderr, 2, "standard error")
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def abandon() -> None:
    """Nothing more is written to standard output, so that Python does not complain of it on its way out."""
    null = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError, io.UnsupportedOperation):
        os.dup2(null, sys.stdout.fileno())
    os.close(null)


def fitted(text: str, encoding: str) -> str:
    """``text`` with ASCII in place of what ``encoding`` does not have.

    Where that is longer, spaces behind it in its line that fill up columns are as much fewer, each but for one.
    """
    if _has(encoding, text):
        return text
    longer = 0  # than the line was, up to here

    def replaced(part: re.Match[str]) -> str:
        nonlocal longer
        what, padding = part.groups()
        if padding:
            spared = min(longer, len(padding) - 1)
            longer -= spared
            return str(padding[spared:])
        if not what:
            longer = 0
            return "\n"
        if _has(encoding, what):
            return str(what)
        shown = _plain(what) if len(what) == 1 and what not in SUPERSCRIPTS else f"[{what.translate(NUMBERS)}]"
        longer += max(0, len(shown) - cell_len(what))
        return shown

    return PARTS.sub(replaced, text)


def _has(encoding: str, text: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _plain(character: str) -> str:
    if character in PLAIN:
        return PLAIN[character]
    if "\udc80" <= character <= "\udcff":  # a byte of a file's name that is no UTF-8
        return f"\\x{ord(character) & 0xFF:02x}"
    base = unicodedata.normalize("NFD", character)[0]  # "é" without its accent
    return base if base.isascii() else "?" * cell_len(character)


class _Guarded:
    """A stream that shows everything, and whose failures are errors of ours. A thread beside the main one has nobody to
    tell them."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream, self._name = stream, name

    def write(self, text: str) -> int:
        with self._told():
            return self._stream.write(fitted(text, self._stream.encoding or "utf-8"))
        return len(text)

    def flush(self) -> None:
        with self._told():
            self._stream.flush()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if threading.current_thread() is threading.main_thread():
                raise OutputLost(self._name, error) from None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _guard(stream: TextIO | None, descriptor: int, name: str) -> TextIO:
    if stream is None:  # it was closed when the command began, and leads nowhere now
        stream = open(descriptor, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - it is a descriptor
    return _Guarded(stream, name)  # type: ignore[return-value]  # all that is asked of one


def _fill_descriptors() -> None:
    """Open those of 0, 1 and 2 that are closed, so that no file of ours gets their number, and what is printed."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
