"""When an engine wrote each entry of its log; pure but for reading the file.

Each server has its own form of time: PostgreSQL that of ``log_line_prefix`` (``%m``, which is set to UTC), MySQL from
5.7 on ISO 8601 in UTC (``log_timestamps``), MariaDB and MySQL 5.5 the local time, Firebird that of ctime(3), the local
time too, in whole seconds and on a line of its own (``gds__log``, src/yvalve/gds.cpp).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from acidtest.journal.models import LogLine

LINES_MAX = 200  # of one measurement
WIDTH = 300
BYTES_MAX = 4 << 20  # of a log that are read, its last

POSTGRESQL = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) (?:UTC|GMT) \[\d+\] (?:[0-9A-Z]{5} )?(.*)")
MYSQL = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6})Z \d+ (.*)")
MARIADB = re.compile(r"(\d{4}-\d\d-\d\d +\d?\d:\d\d:\d\d) \d+ (.*)")
MYSQL_5_5 = re.compile(r"(\d{6} +\d?\d:\d\d:\d\d)(?: \d+)? (.*)")
FIREBIRD = re.compile(r"\S+\t(\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})")


def entries(lines: Iterable[str]) -> Iterator[tuple[float, str]]:
    """``(seconds since 1970, first line)`` of each entry that bears a time."""
    waiting: float | None = None  # of an entry of Firebird, whose words come on the lines after its time
    for line in lines:
        text = line.rstrip()
        if of_firebird := FIREBIRD.fullmatch(text):
            waiting = _local(of_firebird[1], "%a %b %d %H:%M:%S %Y")
        elif waiting is not None:
            if text.strip():
                yield waiting, text.strip()
                waiting = None
        elif found := _timed(text):
            yield found


def _timed(text: str) -> tuple[float, str] | None:
    if match := POSTGRESQL.fullmatch(text):
        return _utc(match[1].replace(" ", "T")), match[2]
    if match := MYSQL.fullmatch(text):
        return _utc(match[1]), match[2]
    for form, layout in ((MARIADB, "%Y-%m-%d %H:%M:%S"), (MYSQL_5_5, "%y%m%d %H:%M:%S")):
        if match := form.fullmatch(text):
            at = _local(re.sub(" +", " ", match[1]), layout)
            return None if at is None else (at, match[2])
    return None


def _utc(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def _local(text: str, layout: str) -> float | None:
    try:
        return datetime.strptime(text, layout).astimezone().timestamp()  # without a zone: this machine's
    except ValueError:
        return None


def between(path: Path | None, since: float, until: float) -> list[LogLine]:
    """What the log at ``path`` says of the time from ``since`` to ``until``, both in seconds since 1970."""
    if path is None:
        return []
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - BYTES_MAX))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    # A time in whole seconds stands for the whole of its second.
    lines = [(at, line) for at, line in entries(text.splitlines()) if int(since) <= at <= until]
    return [
        LogLine(at_s=round(at - since, 3), text=line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…")
        for at, line in lines[:LINES_MAX]
    ]
