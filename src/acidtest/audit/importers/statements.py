"""Statements that set what holds: in SQL scripts, in shells' commands, in the strings of programs; and those that
change what PostgreSQL reads only when it starts, where it is only reloaded."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from acidtest.audit.bench import Configuration, Database, EngineName, Setting, Statement
from acidtest.audit.importers import known
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

TEXT_MAX = 8 << 20
LINE_MAX = 8192
HINTS = (
    "global", "persist", "alter", "pragma", "_journal", "journal_mode", "synchronous_commit", "create database",
    "sessionvariables=", "options=", "autovacuum_enabled",
)  # fmt: skip
HINT = linear.compile("|".join(HINTS), linear.I)
NAME = r"[\"`]?(?P<name>[a-z_][\w.]{1,63})[\"`]?"
VALUE = r"(?P<value>'[^'\n]{0,300}'|\"[^\"\n\\]{0,300}\"|[\w.+-]{1,80}(?:\s?\*\s?\d{1,9}){0,4})"
TO = r"\s{0,9}(?:=|\bTO\b)\s{0,9}"
SCOPED = rf"(?:@@)?(?:GLOBAL|PERSIST|PERSIST_ONLY)[\s.]{{1,9}}{NAME}\s{{0,9}}:?=\s{{0,9}}{VALUE}"
PAIR = r"(?P<name>[a-z_]{2,63})=(?P<value>[^,&\"\s]{1,80})"
MORE = {  # what a form goes on with, by its first word
    "global": re.compile(r"\s{0,9},\s{0,9}" + SCOPED, re.IGNORECASE),
    "sessionvariables=": re.compile("," + PAIR, re.IGNORECASE),
}
# Words of which one stands in the line, the engine, what it is set for, and the pattern.
FORMS: tuple[tuple[tuple[str, ...], EngineName, str, re.Pattern[str]], ...] = tuple(
    (words, engine, section, re.compile(pattern, re.IGNORECASE))
    for words, engine, section, pattern in (
        (("global", "persist"), "mysql", "", r"\bSET\s{1,9}" + SCOPED),
        (("alter",), "postgresql", "", rf"\bALTER\s{{1,9}}SYSTEM\s{{1,9}}SET\s{{1,9}}{NAME}{TO}{VALUE}"),
        (("alter",), "postgresql", "of one database or user",
         rf"\bALTER\s{{1,9}}(?:DATABASE|ROLE|USER)\s{{1,9}}(?:\"[^\"\n]{{1,63}}\"|[^\s;\"']{{1,63}})\s{{1,9}}SET\s{{1,9}}"
         rf"{NAME}{TO}{VALUE}"),
        (("autovacuum_enabled",), "postgresql", "of one table",
         rf"\((?:[^()]{{0,300}},)?\s{{0,9}}(?P<name>autovacuum_enabled)\s{{0,9}}=\s{{0,9}}{VALUE}"),
        # Of a session only what changes the promise of a commit or the work; others are how a script loads its data.
        (("commit", "isolation"), "postgresql", "session",
         r"\bSET\s{1,9}(?:SESSION\s{1,9}|LOCAL\s{1,9})?(?P<name>synchronous_commit|commit_delay|"
         rf"default_transaction_isolation){TO}{VALUE}"),
        # In the address of a server: of libpq, and of JDBC's driver for MySQL.
        (("options=",), "postgresql", "session",
         r"\boptions=[\"']?(?:%27)?-c(?:%20|\+|\s)?(?P<name>[a-z_]{2,63})(?:=|%3D)(?P<value>[\w.]{1,40})"),
        (("sessionvariables=",), "mysql", "session", r"[?&]sessionVariables=" + PAIR),
        # What libraries of SQLite take: a call with the pragma's text or its two parts, a parameter of the name.
        (("pragma",), "sqlite", "",
         rf"\bPRAGMA\s{{1,9}}(?:\w{{1,40}}\.)?(?P<name>\w{{1,40}})\s{{0,9}}(?:=\s{{0,9}}|\()\s{{0,9}}[\\]?{VALUE}"),
        (("pragma",), "sqlite", "",
         r"\bpragma(?:_update)?\(\s{0,9}(?:None,\s{0,9})?[\"'](?P<name>\w{1,40})"
         r"(?:[\"']\s{0,9},\s{0,9}|\s{0,9}=\s{0,9})&?[\"']?(?P<value>[\w-]{1,40})"),
        (("_journal", "_sync", "_busy", "_pragma"), "sqlite", "",
         r"[?&]_(?:pragma=)?(?P<name>\w{1,40})(?:\(|%28|=)(?P<value>[\w-]{1,20})"),
    )
)  # fmt: skip
ALTER = re.compile(r"\bALTER\b", re.IGNORECASE)
PRAGMAS = {
    "journal": "journal_mode",
    "sync": "synchronous",
    "timeout": "busy_timeout",
    "locking": "locking_mode",
    "fk": "foreign_keys",
}
SYNCHRONOUS = {"0": "OFF", "1": "NORMAL", "2": "FULL", "3": "EXTRA"}
# A statement in a comment sets nothing.
COMMENT = re.compile(r"\s*(?:--|#(?!!)|//|\*|/\*(?!!)|;|REM\b|<!--)")
FIREBIRD_DATABASE = re.compile(
    r"\bCREATE\s{1,9}DATABASE\s{1,9}(?:'([^'\n]{1,300})'|\"([^\"\n]{1,300})\").{0,300}?\bPAGE_SIZE\s{0,9}=?\s{0,9}(\d{4,5})",
    re.IGNORECASE,
)
PRODUCT = re.compile(r"\d{1,12}(?:\s?\*\s?\d{1,9}){1,4}")


def _in_line(line: str) -> Iterator[tuple[EngineName, str, str, str]]:
    """Engine, name, value, section of each statement in a line."""
    low = line.lower()
    for words, engine, section, pattern in FORMS:
        if not any(word in low for word in words):
            continue
        for begun in pattern.finditer(line):
            match: re.Match[str] | None = begun
            if section == "session" and ALTER.search(line, 0, begun.start()):
                continue  # it is no statement of its own
            while match:
                name = PRAGMAS.get(match["name"].lower(), match["name"]) if engine == "sqlite" else match["name"]
                if known.has(engine, name) or not (engine == "sqlite" or "=" in words[0]):
                    yield engine, name, match["value"], section
                match = MORE[words[0]].match(line, match.end()) if words[0] in MORE else None


def of_lines(lines: Sequence[str], file: File, first: int = 1, *, prose: bool = False) -> Iterator[Configuration]:
    """What statements in ``lines`` set, as one configuration an engine; the first line is the file's line ``first``."""
    found: dict[EngineName, list[Setting]] = {}
    for offset in sorted(linear.lines_with(HINT, lines)):
        head = lines[offset][:LINE_MAX]
        for engine, name, value, section in _in_line(head) if not COMMENT.match(head) else ():
            low, bare = name.lower(), value.strip("'\"")
            if PRODUCT.fullmatch(bare):
                bare = str(math.prod(map(int, bare.split("*"))))  # "8*1024*1024"
            if engine == "sqlite" and low == "synchronous":
                bare = SYNCHRONOUS.get(bare, bare)
            if bare.lower() not in ("", "default", "on_default"):
                setting = Setting(low, bare, file.at(first + offset), name if name != low else "", section)
                found.setdefault(engine, []).append(setting)
    for engine, settings in found.items():
        path = PurePosixPath(file.name)
        of = known.of_family(engine, path.name, str(path.parent))
        yield Configuration(settings[0].where, of, "statement", tuple(settings), source="statement", prose=prose)


def _read(file: File) -> Sequence[Configuration | Database] | None:
    if file.size > TEXT_MAX or b"\0" in file.head or known.is_prose(file.base) or not known.holds(file, HINTS):
        return None
    # Firebird's CREATE DATABASE decides the size of its pages.
    databases = [
        Database(file.at(number), re.split(r"[\\/:]", match[1] or match[2])[-1], "firebird", page_bytes=int(match[3]))
        for number, line in enumerate(file.lines, start=1)
        if "page_size" in line[:LINE_MAX].lower() and (match := FIREBIRD_DATABASE.search(line[:LINE_MAX]))
    ]
    return [*of_lines(file.lines, file), *databases] or None


# Context "postmaster" in pg_settings, of 9.6 to 18.
POSTMASTER = linear.compile(
    r"archive_mode|autovacuum_freeze_max_age|autovacuum_max_workers|autovacuum_multixact_freeze_max_age|"
    r"autovacuum_worker_slots|commit_timestamp_buffers|data_sync_retry|debug_io_direct|"
    r"dynamic_shared_memory_type|hot_standby|huge_page_size|huge_pages|io_max_concurrency|io_method|"
    r"jit_provider|listen_addresses|logging_collector|max_connections|max_files_per_process|"
    r"max_locks_per_transaction|max_logical_replication_workers|max_pred_locks_per_transaction|"
    r"max_prepared_transactions|max_replication_slots|max_wal_senders|max_worker_processes|"
    r"min_dynamic_shared_memory|multixact_member_buffers|multixact_offset_buffers|notify_buffers|"
    r"old_snapshot_threshold|port|reserved_connections|serializable_buffers|shared_buffers|"
    r"shared_memory_type|shared_preload_libraries|subtransaction_buffers|superuser_reserved_connections|"
    r"track_activity_query_size|track_commit_timestamp|transaction_buffers|wal_buffers|"
    r"wal_decode_buffer_size|wal_level|wal_log_hints"
)
POSTMASTER_SET = linear.compile(
    r"\bALTER\s{1,20}SYSTEM\s{1,20}SET\s{1,20}\"?(\w{1,63})\"?\s{0,20}(?:=|\bTO\b)", linear.I
)
RELOADS = linear.compile(r"\bpg_reload_conf\s{0,9}\(|\breload\b", linear.I)
STARTS = linear.compile(r"\b(?:restart|pg_ctl\b.{0,200}\bstart|start\s{1,9}postgres|up -d)\b", linear.I)


def _reloaded(file: File) -> Sequence[Statement] | None:
    if file.size > TEXT_MAX or b"\0" in file.head or "alter system" not in file.low:
        return None
    changed: list[Statement] = []
    waits: list[Statement] = []  # for a start, after a reload
    for at, line in enumerate(file.lines, start=1):
        low = line[:LINE_MAX].strip()
        if low.startswith(("#", "--", "//")):
            continue
        if STARTS.search(low):
            changed, waits = [], []
            continue
        changed += [
            Statement(file.at(at), "reloaded", name.lower())
            for name in POSTMASTER_SET.findall(low)
            if POSTMASTER.fullmatch(name.lower())
        ]
        if RELOADS.search(low):
            waits, changed = [*waits, *changed], []
    return waits or None


IMPORTER = Importer("statements", _read, beside=True)
RELOADED = Importer("text", _reloaded, beside=True)
