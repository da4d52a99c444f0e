"""PostgreSQL's csvlog and jsonlog; see "Error Reporting and Logging" in its manual for the columns.

A statement is told when it begins (``log_statement``), when it ends (``log_min_duration_statement``), or both; one
that failed is told with its error. Parameters are in the detail. COPY's data, a cursor's portal and functions that are
called by the fast path are not in a log.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from acidtest.formats import linear
from acidtest.formats.logs.entries import LINE_BYTES_MAX, Act, Entry, Held, Line, time_us

CUT_SHORT = "the log is cut short there, or a record is longer than 16 MiB"
NO_RECORD = "a line is no record of this log"
NO_TEXT = "its bytes are no UTF-8"
FETCH = "a fetch from a portal, whose beginning the log does not distinguish"
FAST_PATH = "a function that was called by the fast path: the log has no arguments"
BEGINS = linear.compile(rb"^(?:\d{4}-\d\d-\d\d [\d:.]{8,12} [A-Za-z0-9+-]{1,8},)")
DURATION = linear.compile(r"duration: (\d{1,12})\.(\d{3}) ms(?:  (.*))?", linear.DOTALL)
TOLD = linear.compile(r"(statement|(?:execute|parse|bind)(?: fetch from)? [^:]{1,200}): (.*)", linear.DOTALL)
ERRORS = ("ERROR", "FATAL", "PANIC")
COLUMNS_MIN = 22  # of version 8.4; later ones have more behind them


@dataclass(slots=True)
class Record:
    """What both formats have in common."""

    time: str
    user: str
    database: str
    session: str
    started: str
    severity: str
    message: str
    detail: str
    context: str
    statement: str
    line: int


def csvlog(file: Iterable[Line]) -> Iterator[Entry]:
    """The entries of a csvlog."""
    return _entries(_csv_records(file))


def jsonlog(file: Iterable[Line]) -> Iterator[Entry]:
    """The entries of a jsonlog."""
    return _entries(_json_records(file))


def _unusable(line: int, why: str) -> Entry:
    return Entry(session="", act="unusable", at_us=0, line=line, text=why)


def _csv_records(file: Iterable[Line]) -> Iterator[Record | Entry]:
    """A record goes on in the next line as long as a quote is open."""
    first, parts, length, is_open = 0, [b""], 0, False
    passing = False  # the rest of what was given up
    for line in file:
        if passing and not BEGINS.match(line.content):
            continue
        passing = False
        if not is_open:
            first, parts, length = line.number, [], 0
        parts.append(line.content)
        length += len(line.content) + 1
        if line.content.count(b'"') % 2:
            is_open = not is_open
        if length > LINE_BYTES_MAX or (is_open and not line.is_whole):  # quotes behind a line's limit are not counted
            yield _unusable(first, CUT_SHORT)
            is_open, passing, parts = False, True, []
            continue
        if not is_open:
            yield _csv_record(first, b"\n".join(parts))
            parts = []
    if is_open:
        yield _unusable(first, CUT_SHORT)


def _csv_record(line: int, content: bytes) -> Record | Entry:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return _unusable(line, NO_TEXT)
    csv.field_size_limit(LINE_BYTES_MAX)
    try:
        rows = list(csv.reader([text], strict=True))
    except csv.Error:
        return _unusable(line, NO_RECORD)
    if len(rows) != 1 or len(rows[0]) < COLUMNS_MIN:
        return _unusable(line, NO_RECORD)
    row = rows[0]
    return Record(
        time=row[0], user=row[1], database=row[2], session=row[5], started=row[8], severity=row[11], message=row[13],
        detail=row[14], context=row[18], statement=row[19], line=line,
    )  # fmt: skip


def _json_records(file: Iterable[Line]) -> Iterator[Record | Entry]:
    for line in file:
        if not line.content.strip():
            continue
        if not line.is_whole and not line.content.endswith(b"}"):
            yield _unusable(line.number, CUT_SHORT)
            continue
        try:
            said = json.loads(line.content)
        except (ValueError, RecursionError):
            yield _unusable(line.number, NO_RECORD)
            continue
        if not isinstance(said, dict):
            yield _unusable(line.number, NO_RECORD)
            continue

        def text(key: str, said: dict[str, object] = said) -> str:
            value = said.get(key, "")
            return value if isinstance(value, str) else ""

        yield Record(
            time=text("timestamp"), user=text("user"), database=text("dbname"), session=text("session_id"),
            started=text("session_start"), severity=text("error_severity"), message=text("message"),
            detail=text("detail"), context=text("context"), statement=text("statement"), line=line.number,
        )  # fmt: skip


def _entries(records: Iterable[Record | Entry]) -> Iterator[Entry]:
    held = Held()
    for record in records:
        if isinstance(record, Entry):
            yield record
            continue
        at_us = time_us(record.time)
        if at_us is None:
            yield _unusable(record.line, NO_RECORD)
        elif record.session and _encodable(record):
            yield from _entry(record, at_us, held)
    yield from held.let_all_go()


def _encodable(record: Record) -> bool:
    """JSON may hold halves of surrogate pairs, which are no text."""
    try:
        f"{record.message}{record.detail}{record.context}{record.statement}{record.session}".encode()
    except UnicodeEncodeError:
        return False
    return True


def _entry(record: Record, at_us: int, held: Held) -> Iterator[Entry]:
    def entry(
        act: Act, text: str = "", *, failed: bool = False, parameters: tuple[str | None, ...] | None = None
    ) -> Entry:
        return Entry(
            session=record.session,
            act=act,
            at_us=at_us,
            line=record.line,
            text=text,
            failed=failed,
            parameters=parameters,
            database=record.database or None,
            user=record.user or None,
            began_us=time_us(record.started),
        )

    message = record.message
    if record.severity in ERRORS:
        last = held.last(record.session)
        if not record.statement:
            pass
        elif last is not None and last.took_us is None and not last.failed and last.text == record.statement:
            last.failed = True
        else:
            of_error = parameters(record.context.partition(" with parameters: ")[2])
            yield from held.hold(entry("statement", record.statement, failed=True, parameters=of_error))
    elif record.severity != "LOG":
        return
    elif message.startswith("connection authorized: "):
        yield from held.let_go(record.session)
        yield entry("open")
    elif message.startswith("disconnection: "):
        yield from held.let_go(record.session)
        yield entry("close")
    elif message.startswith("fastpath function call"):
        yield entry("unusable", FAST_PATH)
    elif duration := DURATION.fullmatch(message):
        took_us = int(duration[1]) * 1000 + int(duration[2])
        told = TOLD.fullmatch(duration[3] or "")
        last = held.last(record.session)
        if not duration[3]:
            if last is not None and last.took_us is None:
                last.took_us = took_us
        elif told:
            for one in _told(told[1], told[2], record.detail, entry):
                one.took_us = took_us
                one.at_us -= took_us
                yield from held.hold(one)
    elif told := TOLD.fullmatch(message):
        for one in _told(told[1], told[2], record.detail, entry):
            yield from held.hold(one)


def _told(head: str, text: str, detail: str, entry: Callable[..., Entry]) -> Iterator[Entry]:
    """The statement of a line, if it is one that was executed."""
    if head == "statement":
        yield entry("statement", text)
    elif head.startswith("execute fetch from "):
        yield entry("unusable", FETCH)
    elif head.startswith("execute "):
        begins = detail[:12].lower() == "parameters: "
        yield entry("statement", text, parameters=parameters(detail[12:]) if begins else None)


def parameters(detail: str) -> tuple[str | None, ...] | None:
    """The values of ``$1 = 'it''s', $2 = NULL``; None where there are none, or it is not understood."""
    values: list[str | None] = []
    at = 0
    while detail.startswith(mark := _mark(len(values) + 1), at):
        at += len(mark)
        if detail.startswith("NULL", at):
            values.append(None)
            at += 4
        elif detail.startswith("'", at):
            parts: list[str] = []
            while True:
                end = detail.find("'", at + 1)
                if end < 0:
                    return None
                parts.append(detail[at + 1 : end])
                at = end + 1
                if not detail.startswith("'", at):
                    break
            values.append("'".join(parts))
        else:
            return None
        if not detail.startswith(", ", at):
            return tuple(values) if at == len(detail) else None
        at += 2
    return None


def _mark(number: int) -> str:
    return f"${number} = "
