"""The general log of MySQL and MariaDB, which has statements as they come: no rows, no errors, no times of answers.

A statement goes on until a line that begins as an entry does. Parameters of prepared statements are put into the text
by the server itself (``Execute``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from acidtest.formats import linear
from acidtest.formats.logs.entries import LINE_BYTES_MAX, Act, Entry, Line, time_us

CUT_SHORT = "the log is cut short there, or a statement is longer than 16 MiB"
NO_TEXT = "its bytes are no UTF-8"
LONG_DATA = "a statement whose parameters were sent apart"
# The names of commands; see sql/sql_parse.cc and include/my_command.h.
COMMANDS = (
    "Sleep|Quit|Init DB|Query|Field List|Create DB|Drop DB|Refresh|Shutdown|Statistics|Processlist|Connect|Kill|Debug"
    "|Ping|Time|Delayed insert|Change user|Binlog Dump(?: GTID)?|Table Dump|Connect Out|Register (?:Slave|Replica)"
    "|Prepare|Execute|Long Data|Close stmt|Reset stmt|Set option|Fetch|Daemon|Reset connection|Bulk execute|Error"
)
HEAD = linear.compile(
    rb"(?:(\d{4}-\d\d-\d\dT[\d:.]{15}(?:Z|[+-]\d\d:\d\d))|(\d{6}) ([ \d]\d:\d\d:\d\d)|\t)\t *(\d{1,19}) ("
    + COMMANDS.encode()
    + rb")(?:\t(.*))?",
    linear.DOTALL,
)
STARTED = linear.compile(rb".*, Version: .* started with:")
TITLES = (
    b"Tcp port: ",
    b"TCP Port: ",
    b"Time                 Id Command    Argument",
    b"Time\t\t    Id Command\tArgument",
)
CONNECTED = linear.compile(r"(\S{1,300})@\S{0,300} (?:as anonymous )?on(?: (\S{1,200}))?(?: using .*)?", linear.DOTALL)
USE = linear.compile(r"\s*use\s+`?([^`;\s]{1,200})`?\s*;?\s*", linear.IGNORECASE)


class _State:
    def __init__(self) -> None:
        self.starts = 0  # of the server: each counts its connections from the beginning
        self.at_us = 0
        self.databases: dict[str, str] = {}
        self.users: dict[str, str] = {}
        self.by_sql: set[str] = set()  # sessions whose last query is an EXECUTE: its statement follows, and is no other


def entries(file: Iterable[Line]) -> Iterator[Entry]:
    """The entries of a general log."""
    state = _State()
    head: tuple[str, str, int] | None = None  # session, command, line
    parts: list[bytes] = []
    length, is_whole = 0, True
    for line in file:
        match = HEAD.fullmatch(line.content) if line.content[:1] in b"\t0123456789" else None
        if match is None and (line.content.startswith(TITLES) or STARTED.fullmatch(line.content)):
            if head is not None:
                yield from _entry(state, head, parts, is_whole)
                head = None
            if not line.content.startswith(TITLES):
                state.starts += 1
                state.databases, state.users, state.by_sql = {}, {}, set()
            continue
        if match is None:
            length += len(line.content) + 1
            is_whole = is_whole and line.is_whole
            if length <= LINE_BYTES_MAX:
                parts.append(line.content)
            else:
                is_whole = False
            continue
        if head is not None:
            yield from _entry(state, head, parts, is_whole)
        state.at_us = _time(match) or state.at_us
        head = (f"{state.starts}/{match[4].decode()}", match[5].decode(), line.number)
        parts, length, is_whole = [match[6] or b""], len(line.content), line.is_whole
    if head is not None:
        # Nothing shows where the last statement ends but the end of its line.
        yield from _entry(state, head, parts, is_whole)


def _time(match: re.Match[bytes]) -> int | None:
    if match[1]:
        return time_us(match[1].decode())
    if match[2]:
        day, clock = match[2].decode(), match[3].decode().replace(" ", "0")
        return time_us(f"20{day[:2]}-{day[2:4]}-{day[4:]} {clock}")
    return None


def _entry(state: _State, head: tuple[str, str, int], parts: list[bytes], is_whole: bool) -> Iterator[Entry]:
    session, command, line = head

    def entry(act: Act, text: str = "") -> Entry:
        return Entry(
            session=session, act=act, at_us=state.at_us, line=line, text=text, database=state.databases.get(session),
            user=state.users.get(session),
        )  # fmt: skip

    try:
        text = b"\n".join(parts).decode()
    except UnicodeDecodeError:
        yield entry("unusable", NO_TEXT)
        return
    if not is_whole:
        yield entry("unusable", CUT_SHORT)
        return
    by_sql = session in state.by_sql
    state.by_sql.discard(session)
    match command:
        case "Connect" if connected := CONNECTED.fullmatch(text):
            state.users[session] = connected[1]
            if connected[2]:
                state.databases[session] = connected[2]
            yield entry("open")
        case "Quit":
            yield entry("close")
            state.databases.pop(session, None)
            state.users.pop(session, None)
        case "Init DB":
            state.databases[session] = text
        case "Query" if used := USE.fullmatch(text):
            state.databases[session] = used[1]
        case "Query":
            if text[:8].lower() == "execute ":
                state.by_sql.add(session)
            yield entry("statement", text)
        case "Execute" if not by_sql:
            yield entry("statement", text)
        case "Long Data":
            yield entry("unusable", LONG_DATA)
