"""Logs of Firebird, MySQL, MariaDB and PostgreSQL: what of them a benchmark should fear, and its checkpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from acidtest.audit import log_lines
from acidtest.audit.bench import EngineName, LogEntry
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear
from acidtest.words import counted

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
LINE_MAX = 2_000
STALL_S = 1.0  # of one file's flush
AT = r"(?:.{0,60}?\b(\d\d):(\d\d):(\d\d)\b)?.{0,200}?\bLOG:  (?:checkpoint|restartpoint)"
CHECKPOINT_STARTS = linear.compile(rf"{AT} starting: (?:immediate |force |wait )*(time|wal|xlog)")
CHECKPOINT_ENDS = linear.compile(
    rf"{AT} complete: .{{0,400}}?\bsync=(\d{{1,9}}\.\d{{1,9}}) s, .{{0,200}}?longest=(\d{{1,9}}\.\d{{1,9}}) s"
)


def _firebird(file: File) -> Sequence[LogEntry] | None:
    is_log = file.base.startswith("firebird") and file.base.endswith(".log")
    return log_lines.of_firebird(file.lines, file.at) if is_log else None


def _mysql(file: File) -> Sequence[LogEntry] | None:
    if not any(MYSQL_LINE.match(line) for line in file.first_lines):
        return None
    engine: EngineName = "mariadb" if re.search(rb"mariadb", file.head, re.IGNORECASE) else "mysql"
    return log_lines.of_server(file.stream(), file.at, engine, log_lines.MYSQL)


def _postgresql(file: File) -> Sequence[LogEntry] | None:
    first = [line for line in file.first_lines[:200] if line and not line[0].isspace()]
    if 2 * sum(POSTGRESQL_LINE.search(line) is not None for line in first) < max(len(first), 1):
        return None
    if not any(POSTGRESQL_WORDS.search(line) for line in file.first_lines):
        return None
    checkpoints = _Checkpoints()
    lines = checkpoints.passing(file.stream())
    entries = log_lines.of_server(lines, file.at, "postgresql", log_lines.POSTGRESQL)
    if any(entry.kind == "checkpoints-frequent" for entry in entries):
        checkpoints.begun.clear()  # the server itself complains
    return [*entries, *checkpoints.entries(file)]


def _seconds(match: re.Match[str]) -> int | None:
    return 3600 * int(match[1]) + 60 * int(match[2]) + int(match[3]) if match[1] else None


@dataclass
class _Checkpoints:
    """Why checkpoints began, and how long one file's flush took at most: xlog.c (LogCheckpointStart, -End)."""

    begun: list[tuple[int, bool]] = field(default_factory=list)  # the line, and whether the log's size forced it
    at_once: int = 0  # forced ones that began when the one before had ended
    stall: tuple[float, int, str] = (0.0, 0, "")
    ended_s: int | None = None  # of the day

    def passing(self, lines: Iterable[str]) -> Iterator[str]:
        for at, line in enumerate(lines, start=1):
            if "checkpoint " in line or "restartpoint " in line:
                self._checkpoint(at, line[:LINE_MAX])
            yield line

    def _checkpoint(self, at: int, line: str) -> None:
        if match := CHECKPOINT_STARTS.match(line):
            forced, begun_s = match[4] != "time", _seconds(match)
            self.begun.append((at, forced))
            if forced and self.ended_s is not None and begun_s is not None:
                self.at_once += 0 <= begun_s - self.ended_s <= 1
        elif match := CHECKPOINT_ENDS.match(line):
            self.ended_s = _seconds(match)
            self.stall = max(self.stall, (float(match[5]), at, f"sync={match[4]} s, longest={match[5]} s"))

    def entries(self, file: File) -> Iterator[LogEntry]:
        forced = [at for at, is_forced in self.begun if is_forced]
        if len(forced) > 1 and 2 * len(forced) > len(self.begun):
            text = f"{len(forced):,} of {counted(len(self.begun), 'checkpoint')} began because max_wal_size was reached"
            text += f", {self.at_once:,} as soon as the one before had ended" if self.at_once else ""
            kind = "checkpoints-at-once" if self.at_once else "checkpoints-forced"
            yield LogEntry(file.at(forced[0]), "postgresql", kind, text, len(forced))
        if self.stall[0] >= STALL_S:
            yield LogEntry(file.at(self.stall[1]), "postgresql", "flush-stall", self.stall[2])


FIREBIRD_LOG = Importer("firebird.log", _firebird)
MYSQL_LOG = Importer("MySQL or MariaDB log", _mysql)
POSTGRESQL_LOG = Importer("PostgreSQL log", _postgresql)
