"""A SQLite database by its file: how it may be opened so that nothing is written, and what it says of itself.

https://sqlite.org/fileformat.html, https://sqlite.org/uri.html, https://sqlite.org/wal.html#read_only_databases
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from acidtest.engine.base import Ask
from acidtest.engine.inspection import Looked, Patient, number
from acidtest.engine.sqlite import statistics
from acidtest.engine.sqlite.settings import SqliteTarget
from acidtest.errors import BadInput, CellFailed
from acidtest.formats.sqlite_header import MAGIC, is_hot, page_size
from acidtest.journal.models import Scalar
from acidtest.words import counted

WAL_VERSION = 2  # of the bytes 18 and 19 of the header
WAL_HEADER, FRAME_HEADER = 32, 24
BUSY_TIMEOUT_MS = 5_000
# Pages of each B-tree in the order of its keys, and those that do not lie right behind the one before them.
ORDER = (
    "select count(*), sum(pageno <> before + 1) from (select pageno, "
    "lag(pageno) over (partition by name order by path) as before from dbstat "
    "where pagetype = 'leaf') where before is not null"
)
AUTO_VACUUM = ("none", "full", "incremental")


@dataclass(frozen=True)
class Opening:
    """How the file is opened, and what that means for the figures."""

    parameters: str  # of the URI
    journal: str  # "wal", or "rollback"
    wal_bytes: int
    note: str = ""


def opening(path: Path, *, is_held: bool) -> Opening:
    """Judge by the files beside it, and by whether another program has them open. Raises BadInput where it cannot be
    read without being changed."""
    with path.open("rb") as file:
        header = file.read(100)
    journal, wal, shm = (path.with_name(f"{path.name}{end}") for end in ("-journal", "-wal", "-shm"))
    if header[18:20] != bytes((WAL_VERSION, WAL_VERSION)):
        if not is_held and _bytes(journal) > 0 and is_hot(journal):
            raise BadInput(
                f"{path}: beside it lies {journal.name}, of a transaction that was interrupted: who opens the database "
                "rolls that back, which is writing",
                "open it once with its own program, or inspect a copy of both files",
            )
        return Opening("mode=ro", "rollback", 0)
    wal_bytes = _bytes(wal)
    if wal_bytes <= WAL_HEADER:
        # Nobody has changed it since the last checkpoint. A reader would make -wal and -shm, if they are not there.
        return Opening("mode=ro&immutable=1", "wal", wal_bytes)
    if shm.exists():
        return Opening("mode=ro&readonly_shm=1", "wal", wal_bytes)
    frames = (wal_bytes - WAL_HEADER) // (page_size(header) + FRAME_HEADER)
    return Opening(
        "mode=ro&immutable=1",
        "wal",
        wal_bytes,
        f"{counted(frames, 'frame')} of the write-ahead log {'is' if frames == 1 else 'are'} not in these figures, "
        "which are as of the last checkpoint: "
        f"without {shm.name} the log can be read only by who may write to the database.",
    )


def target(path: Path, how: Opening) -> SqliteTarget:
    """A session that cannot write."""
    uri = f"file:{quote(str(path.absolute()))}?{how.parameters}"
    return SqliteTarget(path=uri, setup=["pragma query_only = on"], busy_timeout_ms=BUSY_TIMEOUT_MS)


def is_database(head: bytes) -> bool:
    return head.startswith(MAGIC)


def look(ask: Ask, how: Opening) -> Looked:
    """The figures; without the size of the file. Raises CellFailed."""
    patient = Patient(ask)

    def pragma(name: str) -> str | None:
        return next(iter(patient.one(name, f"pragma {name}")), None)

    written_by = number(pragma("application_id"))
    facts: dict[str, Scalar] = {
        "page_bytes": number(pragma("page_size")),
        "pages": number(pragma("page_count")),
        "free_pages": number(pragma("freelist_count")),
        "auto_vacuum": AUTO_VACUUM[min(2, number(pragma("auto_vacuum")))],
        "journal": how.journal,
        "wal_bytes": how.wal_bytes,
        "encoding": pragma("encoding"),
        "schema_version": number(pragma("schema_version")),
        "application_id": written_by,
        "has_statistics": bool(number(next(iter(patient.one("the schema", HAS_STATISTICS)), None))),
    }
    told, why, damaged = None, "", ""
    try:
        told = statistics.of_dbstat("sqlite", ask(statistics.READ), ask)
    except CellFailed as error:
        why = error.message.removeprefix(f"{statistics.READ}: ")
        damaged = why if any(word in why for word in ("malformed", "corrupt")) else ""
    if told is not None:
        leaves, apart = (patient.one("the order of pages", ORDER) or [None, None])[:2]
        facts |= {"leaves_followed": number(leaves), "leaves_apart": number(apart)}
    version = next(iter(patient.one("the version", "select sqlite_version()")), "")
    return Looked(
        version=f"SQLite (read by {version})",
        facts=facts,
        statistics=told,
        statistics_said=why,
        notes=[*filter(None, [how.note]), *patient.refused],
        damaged=damaged,
    )


HAS_STATISTICS = "select count(*) from sqlite_schema where name = 'sqlite_stat1'"


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
