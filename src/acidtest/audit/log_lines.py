"""What the lines of engines' logs say that a benchmark should fear, whoever kept them: a kit or a recording of ours.

Firebird's entries are written by ``gds__log`` (src/yvalve/gds.cpp). For the messages of the others see MySQL's
share/messages_to_error_log.txt, InnoDB's log0recv.cc, lock0lock.cc and buf0flu.cc; PostgreSQL's xlog.c, checkpointer.c,
postmaster.c and deadlock.c.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from acidtest.audit.bench import EngineName, LogEntry, Where

Kinds = Sequence[tuple[str, re.Pattern[str]]]
TEXT_MAX = 300
FIREBIRD_HEAD = re.compile(r"\S+(\s+\(\S+\))?\t\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}")
FIREBIRD: Kinds = (
    ("update-conflict", re.compile(r"Update conflict: unable to get a stable set of rows", re.IGNORECASE)),
    ("deadlock", re.compile(r"\bdeadlock\b", re.IGNORECASE)),
    ("corruption", re.compile(r"corrupt|wrong page type|checksum error|internal Firebird consistency check", re.I)),
    ("crash", re.compile(r"terminated abnormally|bugcheck|access violation|segmentation", re.IGNORECASE)),
    ("error", re.compile(r"\berror\b", re.IGNORECASE)),
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


def of_firebird(lines: Iterable[str], at: Callable[[int], Where]) -> list[LogEntry]:
    """One of each kind: its first entry, and how many there are; ``at`` is where a line stands, from 1."""
    return _of_kinds(_entries(lines), at, "firebird", FIREBIRD)


def _entries(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    begin, entry = 1, ""
    for number, line in enumerate(lines, start=1):
        if FIREBIRD_HEAD.fullmatch(line.rstrip()):
            yield begin, entry
            begin, entry = number, ""
        else:
            entry += line + "\n" if len(entry) < 8192 else ""
    yield begin, entry


def of_server(lines: Iterable[str], at: Callable[[int], Where], engine: EngineName, kinds: Kinds) -> list[LogEntry]:
    """One of each kind: its first line, and how many there are; ``at`` is where a line stands, from 1."""
    return _of_kinds(enumerate(lines, start=1), at, engine, kinds)


def _of_kinds(
    entries: Iterable[tuple[int, str]], at: Callable[[int], Where], engine: EngineName, kinds: Kinds
) -> list[LogEntry]:
    first: dict[str, tuple[int, str]] = {}
    counts: Counter[str] = Counter()
    for number, entry in entries:
        kind = next((kind for kind, pattern in kinds if pattern.search(entry)), None)
        if kind:
            first.setdefault(kind, (number, " ".join(entry[: 4 * TEXT_MAX].split())[:TEXT_MAX]))
            counts[kind] += 1
    return [LogEntry(at(number), engine, kind, text, counts[kind]) for kind, (number, text) in first.items()]
