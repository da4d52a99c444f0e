"""The lines of a log, however long they are, and what a log of any format says, one act of one session at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO, Literal

from acidtest.formats import linear

Act = Literal["open", "close", "statement", "begin", "commit", "rollback", "unusable"]
MICROSECONDS = 1_000_000
LINE_BYTES_MAX = 1 << 24  # of a line, and of a record of several
BLOCK_BYTES = 1 << 20
TIME = linear.compile(
    r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?: ?(Z|[+-]\d\d(?::?\d\d)?|[A-Za-z]{1,8}))?"
)


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


@dataclass(slots=True)
class Entry:
    """One act. Entries of a session come in their order; those of different sessions may not."""

    session: str
    act: Act
    at_us: int  # when it began, microseconds since 1970 as the log's own clock has it
    line: int  # of the file, from 1
    text: str = ""  # of a statement its SQL; of what is unusable, why
    parameters: tuple[str | None, ...] | None = None  # as texts; None: the log has none
    rows: int | None = None  # that it answered
    failed: bool = False
    took_us: int | None = None
    database: str | None = None
    user: str | None = None
    began_us: int | None = None  # the session, where the log tells that with every line


def time_us(text: str) -> int | None:
    """Microseconds since 1970 of a time as logs write it; its zone is not looked at, unless it is a number or Z."""
    match = TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    try:
        whole = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    fraction = int((match[7] or "0").ljust(6, "0"))
    zone, away = match[8] or "", 0
    if zone[:1] in ("+", "-"):
        digits = zone[1:].replace(":", "").ljust(4, "0")
        away = (int(digits[:2]) * 60 + int(digits[2:])) * (-60 if zone[0] == "-" else 60)
    return (int(whole.timestamp()) - away) * MICROSECONDS + fraction


class Held:
    """The last statement of each session, to which later lines may add how it ended."""

    def __init__(self) -> None:
        self._last: dict[str, Entry] = {}

    def last(self, session: str) -> Entry | None:
        return self._last.get(session)

    def hold(self, entry: Entry) -> Iterator[Entry]:
        """Keep a statement back, and give the one before it."""
        yield from self.let_go(entry.session)
        self._last[entry.session] = entry

    def let_go(self, session: str) -> Iterator[Entry]:
        if (last := self._last.pop(session, None)) is not None:
            yield last

    def let_all_go(self) -> Iterator[Entry]:
        yield from self._last.values()
        self._last = {}
