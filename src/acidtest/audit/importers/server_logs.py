"""Logs of MySQL, MariaDB and PostgreSQL: what of them a benchmark should fear, and its checkpoints.

See the error messages of each: MySQL's share/messages_to_error_log.txt, InnoDB's log0recv.cc, lock0lock.cc and
buf0flu.cc; PostgreSQL's xlog.c, checkpointer.c, postmaster.c and deadlock.c.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from acidtest.audit.bench import EngineName, LogEntry, Where
from acidtest.audit.importers.file import File, Importer

Kinds = Sequence[tuple[str, re.Pattern[str]]]
TEXT_MAX = 300
# "2026-11-21 10:00:00 0 [Note]", "2026-11-21T10:00:00.123456Z 0 [ERROR] [MY-…] [InnoDB]", "261121 10:00:00 [Note]"
MYSQL_LINE = re.compile(
    r"(?:\d{4}-\d\d-\d\d[T ][ \d]\d:\d\d:\d\d\S*(?: +\d+)?|\d{6} +\d{1,2}:\d\d:\d\d) \[(Note|Warning|ERROR|System)\] ",
    re.IGNORECASE,
)
MYSQL: Kinds = (
    ("deadlock", re.compile(r"Transactions deadlock detected")),
    ("crash", re.compile(r"(?:mysqld|mariadbd) got (?:signal|exception)|Assertion failure|\[FATAL\]", re.IGNORECASE)),
    ("corruption", re.compile(r"page corruption|\b(?:index|table|file)\b.{0,80}\bis corrupt", re.IGNORECASE)),
    ("recovery", re.compile(r"Starting crash recovery|Database was not shut ?down normally|Apply batch completed")),
    ("debug-build", re.compile(r"(?:mysqld|mariadbd)\S{0,9} \(\w{1,20} \S{1,60}-debug|^Version: '[^']{1,60}-debug")),
    ("flush-behind", re.compile(r"page_cleaner: \d+ ?ms intended|Page cleaner took \d+ms|exceeds the log capacity")),
    ("error", re.compile(r"\[ERROR\]")),
)  # fmt: skip
# log_line_prefix is free; the severity and two spaces are not.
POSTGRESQL_LINE = re.compile(r"(?:^|[\s\]:>])(LOG|ERROR|FATAL|PANIC|WARNING|HINT|DETAIL|STATEMENT|CONTEXT|NOTICE):  ")
POSTGRESQL_WORDS = re.compile(
    r"database system (?:is ready|was shut|was interrupted)|starting PostgreSQL|checkpoint|STATEMENT:  |HINT:  |"
    r"ERROR:  |LOG:  (?:statement|duration|connection|execute)|received (?:fast|smart) shutdown|autovacuum|"
    r"server process"
)
POSTGRESQL: Kinds = (
    ("deadlock", re.compile(r"ERROR:  deadlock detected")),
    ("serialization", re.compile(r"ERROR:  could not serialize access")),
    ("checkpoints-frequent", re.compile(r"LOG:  checkpoints are occurring too frequently")),
    # Not those that come with a start or a stop.
    ("checkpoint", re.compile(r"LOG:  checkpoint starting: (?:immediate |force |wait )*(?:time|wal|xlog)")),
    ("recovery", re.compile(r"LOG:  (?:.*automatic recovery in progress)")),
    ("crash", re.compile(r"was terminated by (?:signal|exception)|PANIC:  ")),
    ("corruption", re.compile(r"invalid page in block|page verification failed|could not read block")),
    ("error", re.compile(r"(?:ERROR|FATAL):  ")),
)


def _mysql(file: File) -> Sequence[LogEntry] | None:
    if not any(MYSQL_LINE.match(line) for line in file.first_lines):
        return None
    engine: EngineName = "mariadb" if re.search(rb"mariadb", file.head, re.IGNORECASE) else "mysql"
    return list(entries(file.stream(), file.at, engine, MYSQL))


def _postgresql(file: File) -> Sequence[LogEntry] | None:
    first = [line for line in file.first_lines[:200] if line and not line[0].isspace()]
    if 2 * sum(POSTGRESQL_LINE.search(line) is not None for line in first) < max(len(first), 1):
        return None
    if not any(POSTGRESQL_WORDS.search(line) for line in file.first_lines):
        return None
    return list(entries(file.stream(), file.at, "postgresql", POSTGRESQL))


def entries(lines: Iterable[str], at: Callable[[int], Where], engine: EngineName, kinds: Kinds) -> Iterator[LogEntry]:
    """One of each kind: its first line, and how many there are; ``at`` is where a line stands, from 1."""
    first: dict[str, tuple[int, str]] = {}
    counts = dict.fromkeys((kind for kind, _ in kinds), 0)
    for number, line in enumerate(lines, start=1):
        for kind, pattern in kinds:
            if pattern.search(line):
                first.setdefault(kind, (number, " ".join(line[: 4 * TEXT_MAX].split())[:TEXT_MAX]))
                counts[kind] += 1
                break
    for kind, (number, text) in first.items():
        yield LogEntry(at(number), engine, kind, text, counts[kind])


MYSQL_LOG = Importer("MySQL or MariaDB log", _mysql)
POSTGRESQL_LOG = Importer("PostgreSQL log", _postgresql)
