"""Logs of MySQL, MariaDB and PostgreSQL: what of them a benchmark should fear, and its checkpoints."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidtest.audit import log_lines
from acidtest.audit.bench import EngineName, LogEntry
from acidtest.audit.importers.file import File, Importer

# "2026-11-21 10:00:00 0 [Note]", "2026-11-21T10:00:00.123456Z 0 [ERROR] [MY-…] [InnoDB]", "261121 10:00:00 [Note]"
MYSQL_LINE = re.compile(
    r"(?:\d{4}-\d\d-\d\d[T ][ \d]\d:\d\d:\d\d\S*(?: +\d+)?|\d{6} +\d{1,2}:\d\d:\d\d) \[(Note|Warning|ERROR|System)\] ",
    re.IGNORECASE,
)
# log_line_prefix is free; the severity and two spaces are not.
POSTGRESQL_LINE = re.compile(r"(?:^|[\s\]:>])(LOG|ERROR|FATAL|PANIC|WARNING|HINT|DETAIL|STATEMENT|CONTEXT|NOTICE):  ")
POSTGRESQL_WORDS = re.compile(
    r"database system (?:is ready|was shut|was interrupted)|starting PostgreSQL|checkpoint|STATEMENT:  |HINT:  |"
    r"ERROR:  |LOG:  (?:statement|duration|connection|execute)|received (?:fast|smart) shutdown|autovacuum|"
    r"server process"
)


def _mysql(file: File) -> Sequence[LogEntry] | None:
    if not any(MYSQL_LINE.match(line) for line in file.first_lines):
        return None
    engine: EngineName = "mariadb" if re.search(rb"mariadb", file.head, re.IGNORECASE) else "mysql"
    return list(log_lines.of_server(file.stream(), file.at, engine, log_lines.MYSQL))


def _postgresql(file: File) -> Sequence[LogEntry] | None:
    first = [line for line in file.first_lines[:200] if line and not line[0].isspace()]
    if 2 * sum(POSTGRESQL_LINE.search(line) is not None for line in first) < max(len(first), 1):
        return None
    if not any(POSTGRESQL_WORDS.search(line) for line in file.first_lines):
        return None
    return list(log_lines.of_server(file.stream(), file.at, "postgresql", log_lines.POSTGRESQL))


MYSQL_LOG = Importer("MySQL or MariaDB log", _mysql)
POSTGRESQL_LOG = Importer("PostgreSQL log", _postgresql)
