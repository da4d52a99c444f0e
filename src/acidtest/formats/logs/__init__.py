"""Logs in which an engine says what it was asked: read as a stream, with bounded memory, in time linear in the bytes.

Each format is a module with one generator, from the lines of a file to entries (``entries.py``). None of them raises
for what is in a file: what cannot be used is an entry that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from acidtest.families import FIREBIRD, MYSQL, POSTGRESQL
from acidtest.formats import linear
from acidtest.formats.logs import firebird, mysql_general, mysql_slow, postgres
from acidtest.formats.logs.entries import LINE_BYTES_MAX, Entry, Line, lines

__all__ = ["FORMATS", "LINE_BYTES_MAX", "Entry", "Format", "Line", "lines", "recognised"]

HEAD_BYTES = 1 << 16  # of a file, in which its format shows


@dataclass(frozen=True)
class Format:
    name: str  # as people call it
    family: str  # of the engines that write it
    shows: linear.Pattern[bytes]  # in the beginning of each such file
    read: Callable[[Iterable[Line]], Iterator[Entry]]
    tells_rows: bool


CSVLOG = rb"^\d{4}-\d\d-\d\d [\d:.]{8,12} [A-Za-z0-9+-]{1,8},"
JSONLOG = rb'^\{"timestamp":"'
SLOW = rb"^# (?:Time: \d|User@Host: )"
GENERAL = rb"^(?:\d{4}-\d\d-\d\dT[\d:.]{15}[^\t\n]{1,6}\t|\d{6} [ \d]\d:\d\d:\d\d\t|\t\t) *\d+ [A-Z]"
TRACE = rb"^\d{4}-\d\d-\d\dT[\d:.]{13} \(\d+:0x?[0-9A-Fa-f]+\) [A-Z]"


def _format(
    name: str, family: str, shows: bytes, read: Callable[[Iterable[Line]], Iterator[Entry]], *, tells_rows: bool = False
) -> Format:
    return Format(name, family, linear.compile(shows, linear.MULTILINE), read, tells_rows)


FORMATS = (
    _format("PostgreSQL csvlog", POSTGRESQL.name, CSVLOG, postgres.csvlog),
    _format("PostgreSQL jsonlog", POSTGRESQL.name, JSONLOG, postgres.jsonlog),
    _format("MySQL slow log", MYSQL.name, SLOW, mysql_slow.entries, tells_rows=True),
    _format("MySQL general log", MYSQL.name, GENERAL, mysql_general.entries),
    _format("Firebird trace", FIREBIRD.name, TRACE, firebird.entries, tells_rows=True),
)


def recognised(head: bytes) -> Format | None:
    """The format of the file that begins so."""
    found = [(match.start(), one) for one in FORMATS if (match := one.shows.search(head[:HEAD_BYTES]))]
    return min(found, key=lambda pair: pair[0])[1] if found else None
