"""Programs that set up SQLite's connections: settings that a connection has for itself, where others do the work.

``synchronous``, ``cache_size`` and their like hold for the connection that they are sent to and for no other
(https://www.sqlite.org/pragma.html); ``journal_mode = WAL`` alone stays with the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Statement
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 400
CLOSES_WITHIN = 20  # lines behind the setting
PROGRAM = linear.compile(r".*\.(?:go|py|js|mjs|cjs|ts|rb)")
OF_CONNECTION = "synchronous|cache_size|temp_store|mmap_size|busy_timeout|foreign_keys|locking_mode|cache_spill"
PRAGMA = linear.compile(
    rf"(?:\bPRAGMA\s+|\.pragma\(\s?[\"'`]\s?)({OF_CONNECTION})\s?(?:=|\()\s?[\"']?([\w-]{{1,20}})", linear.I
)
OPENS = linear.compile(
    r"\bnew (?:Database|sqlite3\.Database|DatabaseSync|BetterSqlite3)\(|\bsqlite3\.connect\(|\bDatabase\.open\(|"
    r"\bSQLite3::Database\.new\b|\bsqlx?\.(?:Open|Connect|MustConnect)\(\s?\"sqlite3?\"|\bgorm\.Open\(\s?sqlite\."
)
POOL = linear.compile(r"\bsqlx?\.(?:Open|Connect|MustConnect)\(\s?\"sqlite3?\"|\bgorm\.Open\(\s?sqlite\.")
# Whoever has one connection, or prepares each, knows what he does.
ONE_CONNECTION = linear.compile(
    r"SetMaxOpenConns\(\s?1\s?\)|\.Conn\(|ConnectHook|RegisterConnectionHook|OnConnect|_pragma="
)
SENT = linear.compile(r"\.(?:Exec|ExecContext|MustExec)\(")
CLOSED = linear.compile(r"\b\w{1,40}\.close\(\)")
WORKS = linear.compile(r"\b(?:INSERT|SELECT|UPDATE|DELETE)\b|\.prepare\(|\.query\(|\.(?:run|all|get)\(", linear.I)


def _read(file: File) -> Sequence[Statement] | None:
    if not PROGRAM.fullmatch(file.base) or file.size > BYTES_MAX or b"\0" in file.head:
        return None
    text = file.text
    if not OPENS.search(text):
        return None
    lines = [line[:LINE_MAX] for line in file.lines]
    set_ = [(at, match) for at, line in enumerate(lines) if not _comment(line) and (match := PRAGMA.search(line))]
    found = [Statement(file.at(), "opens-sqlite", ",".join(dict.fromkeys(match[1].lower() for _, match in set_)))]
    if file.base.endswith(".go"):
        if POOL.search(text) and not ONE_CONNECTION.search(text):
            found += _of_pool(file, lines, set_)
    else:
        found += _of_closed(file, lines, set_)
    return found


def _comment(line: str) -> bool:
    return line.lstrip().startswith(("//", "#", "*", "/*", "--"))


def _of_pool(file: File, lines: Sequence[str], set_: Sequence[tuple[int, re.Match[str]]]) -> Iterator[Statement]:
    for at, match in set_:
        if SENT.search(lines[at]):
            yield Statement(file.at(at + 1), "set-in-pool", f"{match[1].lower()} = {match[2]}")


def _of_closed(file: File, lines: Sequence[str], set_: Sequence[tuple[int, re.Match[str]]]) -> Iterator[Statement]:
    """Settings of a connection that is closed again before it has done anything."""
    for at, match in set_:
        for line in lines[at + 1 : at + 1 + CLOSES_WITHIN]:
            if WORKS.search(line):
                break
            if CLOSED.search(line):
                yield Statement(file.at(at + 1), "set-and-closed", f"{match[1].lower()} = {match[2]}")
                break


IMPORTER = Importer("", _read, beside=True)
