"""Statements that set what holds: in SQL scripts, in shells' commands, in the strings of programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from acidtest.audit.bench import Configuration, Database, EngineName, Setting
from acidtest.audit.importers import known
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

TEXT_MAX = 8 << 20
LINE_MAX = 8192
HINTS = (
    "global", "persist", "alter", "pragma", "_journal", "journal_mode", "synchronous_commit", "create database",
    "sessionvariables=", "options=",
)  # fmt: skip
HINT = linear.compile("|".join(HINTS), linear.I)
VALUE = r"('[^'\n]{0,300}'|\"[^\"\n\\]{0,300}\"|[\w.+-]{1,80}(?:\s?\*\s?\d{1,9}){0,4})"
SCOPED = r"(?:@@)?(?:GLOBAL|PERSIST|PERSIST_ONLY)[\s.]{1,9}`?([a-z]\w{1,63})`?\s{0,9}:?=\s{0,9}" + VALUE
GLOBAL = re.compile(r"\bSET\s{1,9}" + SCOPED, re.IGNORECASE)
MORE = re.compile(r"\s{0,9},\s{0,9}" + SCOPED, re.IGNORECASE)
SYSTEM = re.compile(
    r"\bALTER\s{1,9}SYSTEM\s{1,9}SET\s{1,9}\"?([a-z_][\w.]{1,63})\"?\s{0,9}(?:=|\bTO\b)\s{0,9}" + VALUE, re.IGNORECASE
)
OF_DATABASE = re.compile(
    r"\bALTER\s{1,9}(?:DATABASE|ROLE|USER)\s{1,9}(?:\"([^\"\n]{1,63})\"|([^\s;\"']{1,63}))\s{1,9}SET\s{1,9}"
    r"\"?([a-z_][\w.]{1,63})\"?\s{0,9}(?:=|\bTO\b)\s{0,9}" + VALUE,
    re.IGNORECASE,
)
# Of a session only what changes the promise of a commit or the work; others are how a script loads its data.
SESSION = re.compile(
    r"\bSET\s{1,9}(?:SESSION\s{1,9}|LOCAL\s{1,9})?(synchronous_commit|commit_delay|"
    r"default_transaction_isolation)\s{0,9}(?:=|\bTO\b)\s{0,9}" + VALUE,
    re.IGNORECASE,
)
PRAGMA = re.compile(
    r"\bPRAGMA\s{1,9}(?:\w{1,40}\.)?(\w{1,40})\s{0,9}(?:=\s{0,9}|\()\s{0,9}[\\]?" + VALUE, re.IGNORECASE
)
# What libraries of SQLite take: a call with the pragma's text or its two parts, a parameter of the connection's name.
CALLED = re.compile(
    r"\bpragma(?:_update)?\(\s{0,9}(?:None,\s{0,9})?[\"'](\w{1,40})(?:[\"']\s{0,9},\s{0,9}|\s{0,9}=\s{0,9})&?[\"']?([\w-]{1,40})",
    re.IGNORECASE,
)
PARAMETER = re.compile(
    r"[?&]_(?:(journal(?:_mode)?|sync(?:hronous)?|cache_size|timeout|busy_timeout|auto_vacuum|locking(?:_mode)?|fk|foreign_keys)"
    r"=([\w-]{1,20})|pragma=(\w{1,40})(?:\(|%28|=)([\w-]{1,20}))",
    re.IGNORECASE,
)
ALTER = re.compile(r"\bALTER\b", re.IGNORECASE)
PARAMETERS = {
    "journal": "journal_mode",
    "sync": "synchronous",
    "timeout": "busy_timeout",
    "locking": "locking_mode",
    "fk": "foreign_keys",
}
SYNCHRONOUS = {"0": "OFF", "1": "NORMAL", "2": "FULL", "3": "EXTRA"}
# Settings of a session in the address of a server: of JDBC's driver for MySQL, of libpq.
JDBC = re.compile(r"[?&]sessionVariables=([^&\"\s]{1,400})", re.IGNORECASE)
LIBPQ = re.compile(r"\boptions=[\"']?(?:%27)?-c(?:%20|\+|\s)?([a-z_]{2,63})(?:=|%3D)([\w.]{1,40})", re.IGNORECASE)
# A statement in a comment sets nothing.
COMMENT = re.compile(r"\s*(?:--|#(?!!)|//|\*|/\*(?!!)|;|REM\b|<!--)")
FIREBIRD_DATABASE = re.compile(
    r"\bCREATE\s{1,9}DATABASE\s{1,9}(?:'([^'\n]{1,300})'|\"([^\"\n]{1,300})\").{0,300}?\bPAGE_SIZE\s{0,9}=?\s{0,9}(\d{4,5})",
    re.IGNORECASE,
)
RESET = frozenset(("default", "on_default"))


def _amount(text: str) -> str:
    """ "8*1024*1024" as a number; others as they are."""
    bare = text.strip("'\"")
    if re.fullmatch(r"\d{1,12}(?:\s?\*\s?\d{1,9}){1,4}", bare):
        product = 1
        for factor in bare.split("*"):
            product *= int(factor)
        return str(product)
    return bare


def _in_line(line: str) -> Iterator[tuple[EngineName, str, str, str]]:
    """Engine, name, value, section of each statement in a line."""
    low = line.lower()
    if "global" in low or "persist" in low:
        for match in GLOBAL.finditer(line):
            yield "mysql", match[1], match[2], ""
            at = match.end()
            while more := MORE.match(line, at):
                yield "mysql", more[1], more[2], ""
                at = more.end()
    if "sessionvariables=" in low:
        for match in JDBC.finditer(line):
            for pair in match[1].split(","):
                name, equals, value = pair.partition("=")
                if equals and known.has("mysql", name):
                    yield "mysql", name.strip(), value.strip(), "session"
    if "options=" in low:
        for match in LIBPQ.finditer(line):
            if known.has("postgresql", match[1]):
                yield "postgresql", match[1], match[2], "session"
    if "alter" in low:
        for match in SYSTEM.finditer(line):
            yield "postgresql", match[1], match[2], ""
        for match in OF_DATABASE.finditer(line):
            yield "postgresql", match[3], match[4], match[1] or match[2]
    if "set" in low and ("commit" in low or "transaction_isolation" in low):
        for match in SESSION.finditer(line):
            if not ALTER.search(line, 0, match.start()):  # else it is no statement of its own
                yield "postgresql", match[1], match[2], "session"
    if "pragma" in low:
        for pattern in (PRAGMA, CALLED):
            for match in pattern.finditer(line):
                if known.has("sqlite", match[1]):
                    yield "sqlite", match[1], match[2], ""
    if "_journal" in low or "_sync" in low or "_pragma" in low or "_busy" in low:
        for match in PARAMETER.finditer(line):
            name = (match[1] or match[3]).lower()
            name = PARAMETERS.get(name, name)
            if known.has("sqlite", name):
                yield "sqlite", name, match[2] or match[4], ""


def of_lines(lines: Sequence[str], file: File, first: int = 1, *, prose: bool = False) -> Iterator[Configuration]:
    """What statements in ``lines`` set, as one configuration an engine; the first line is the file's line ``first``."""
    found: dict[EngineName, list[Setting]] = {}
    for offset in sorted(linear.lines_with(HINT, lines)):
        head = lines[offset][:LINE_MAX]
        if COMMENT.match(head):
            continue
        for engine, name, value, section in _in_line(head):
            low, bare = name.lower(), _amount(value)
            if bare.lower() in RESET or not bare:
                continue
            if engine == "sqlite" and low == "synchronous":
                bare = SYNCHRONOUS.get(bare, bare)
            setting = Setting(low, bare, file.at(first + offset), name if name != low else "", section)
            found.setdefault(engine, []).append(setting)
    for engine, settings in found.items():
        of = known.of_family(engine, PurePosixPath(file.name).name, str(PurePosixPath(file.name).parent))
        yield Configuration(settings[0].where, of, "statement", tuple(settings), source="statement", prose=prose)


def _databases(lines: Sequence[str], file: File) -> Iterator[Database]:
    """Firebird's CREATE DATABASE, which decides the size of its pages."""
    for number, line in enumerate(lines, start=1):
        if "page_size" in line[:LINE_MAX].lower() and (match := FIREBIRD_DATABASE.search(line[:LINE_MAX])):
            name = re.split(r"[\\/:]", match[1] or match[2])[-1]
            yield Database(file.at(number), name, "firebird", page_bytes=int(match[3]))


def _read(file: File) -> Sequence[Configuration | Database] | None:
    if file.size > TEXT_MAX or b"\0" in file.head or known.is_prose(file.base):
        return None
    if not known.holds(file, HINTS):
        return None
    return [*of_lines(file.lines, file), *_databases(file.lines, file)] or None


IMPORTER = Importer("statements", _read, beside=True)
