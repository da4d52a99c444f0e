"""The slow log of MySQL and MariaDB: statements with what they took and how many rows they sent.

``# Time`` is when a statement ended. Statements that were faster than ``long_query_time`` are not in it, nor those that
failed in versions that do not say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from acidtest.formats import linear
from acidtest.formats.logs.entries import LINE_BYTES_MAX, MICROSECONDS, Act, Entry, Line, time_us
from acidtest.formats.logs.mysql_general import CUT_SHORT, NO_TEXT, STARTED, TITLES

TIME = linear.compile(rb"# Time: (?:(\d{4}-\d\d-\d\dT\S{1,30})|(\d{6}) +(\d{1,2}:\d\d:\d\d))\s*")
USER = linear.compile(rb"# User@Host: ([^\[]{0,200})\[([^\]]{0,200})\] @ .{0,600}?(?:Id: +(\d{1,19}))?\s*")
THREAD = linear.compile(rb"# Thread_id: (\d{1,19})(?:  Schema: (\S{0,200}))?.*")
FIGURES = linear.compile(rb"# Query_time: (\d{1,9})\.(\d{1,6})  ?Lock_time: \S{1,30}  ?Rows_sent: (\d{1,18}).*")
ERRNO = linear.compile(rb".* Errno: (\d{1,6}).*")
USE = linear.compile(rb"use `?([^`;]{1,200})`?;")
SET = linear.compile(rb"SET (?:last_insert_id=\d+,)?(?:insert_id=\d+,)?timestamp=(\d{1,12})(?:\.(\d{1,6}))?;")
ADMINISTRATOR = b"# administrator command: "
# Of what stands before a statement; MariaDB has the more of them the more its log_slow_verbosity asks for.
HEADS = (
    b"# Time: ", b"# User@Host: ", b"# Thread_id: ", b"# Query_time: ", b"# Rows_affected: ", ADMINISTRATOR,
    b"# Bytes_", b"# Tmp_", b"# Full_scan", b"# Filesort", b"# Priority_queue", b"# explain", b"#   ",
    b"# Stored_routine", b"# Pages_",
)  # fmt: skip


class _Record:
    """A statement with what stands before it."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.ended_us: int | None = None
        self.began_us: int | None = None
        self.session = ""
        self.user: str | None = None
        self.database: str | None = None
        self.took_us: int | None = None
        self.rows: int | None = None
        self.failed = False
        self.is_quit = False
        self.parts: list[bytes] = []
        self.length = 0
        self.is_whole = True


def entries(file: Iterable[Line]) -> Iterator[Entry]:
    """The entries of a slow log."""
    record: _Record | None = None
    time: int | None = None
    starts = 0
    databases: dict[str, str] = {}
    for line in file:
        content = line.content
        if content.startswith(TITLES) or STARTED.fullmatch(content):
            if record is not None:
                yield from _entry(record, time, databases)
            record = None
            starts += not content.startswith(TITLES)
        elif content.startswith(HEADS):
            begins = content.startswith((b"# Time: ", b"# User@Host: "))
            if record is not None and (begins and (record.parts or record.took_us is not None or record.is_quit)):
                yield from _entry(record, time, databases)
                record = None
            if match := TIME.fullmatch(content):
                time = _time(match) or time
            record = record or _Record(line.number)
            record.ended_us = time
            _take(record, content, starts)
        elif record is not None:
            _take_text(record, line)
    if record is not None:
        yield from _entry(record, time, databases)


def _time(match: re.Match[bytes]) -> int | None:
    if match[1]:
        return time_us(match[1].decode(errors="replace"))
    day, clock = match[2].decode(), match[3].decode().rjust(8, "0")
    return time_us(f"20{day[:2]}-{day[2:4]}-{day[4:]} {clock}")


def _take(record: _Record, content: bytes, starts: int) -> None:
    if match := USER.fullmatch(content):
        record.user = match[1].decode(errors="replace")
        if match[3]:
            record.session = f"{starts}/{match[3].decode()}"
    elif match := THREAD.fullmatch(content):
        record.session = f"{starts}/{match[1].decode()}"
        record.database = match[2].decode(errors="replace") if match[2] else None
    elif match := FIGURES.fullmatch(content):
        record.took_us = int(match[1]) * MICROSECONDS + int(match[2].ljust(6, b"0"))
        record.rows = int(match[3])
        if errno := ERRNO.fullmatch(content):
            record.failed = errno[1].strip(b"0") != b""
    elif content.startswith(ADMINISTRATOR):
        record.is_quit = content[len(ADMINISTRATOR) :].startswith(b"Quit")


def _take_text(record: _Record, line: Line) -> None:
    content = line.content
    if not record.parts and (match := USE.fullmatch(content)):
        record.database = match[1].decode(errors="replace")
        return
    if not record.parts and (match := SET.fullmatch(content)):
        record.began_us = int(match[1]) * MICROSECONDS + int((match[2] or b"0").ljust(6, b"0"))
        return
    record.length += len(content) + 1
    record.is_whole = record.is_whole and line.is_whole and record.length <= LINE_BYTES_MAX
    if record.length <= LINE_BYTES_MAX:
        record.parts.append(content)


def _entry(record: _Record, time: int | None, databases: dict[str, str]) -> Iterator[Entry]:
    if record.database:
        databases[record.session] = record.database

    took_us = record.took_us or 0
    ended_us = record.ended_us or time
    if ended_us is not None and (record.began_us is None or ended_us % MICROSECONDS):
        at_us = ended_us - took_us  # what a statement began at is told in whole seconds, and its end in microseconds
    else:
        at_us = record.began_us or 0

    def entry(act: Act, text: str = "") -> Entry:
        return Entry(
            session=record.session, act=act, at_us=at_us, line=record.line, text=text, rows=record.rows,
            failed=record.failed, took_us=record.took_us, database=databases.get(record.session), user=record.user,
        )  # fmt: skip

    if record.is_quit:
        yield entry("close")
        databases.pop(record.session, None)
        return
    if not record.parts:
        return
    try:
        text = b"\n".join(record.parts).decode()
    except UnicodeDecodeError:
        yield entry("unusable", NO_TEXT)
        return
    if not record.is_whole or not record.session or not text.endswith(";"):
        yield entry("unusable", CUT_SHORT)
    else:
        yield entry("statement", text.removesuffix(";"))
