"""What a diagnosis is asked for: the command line, the database that it names, and where its scratch directory goes."""

from __future__ import annotations

import stat
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from acidtest.audit.importers.engines import ODS_SERIES
from acidtest.cli import init_answers
from acidtest.errors import BadInput
from acidtest.families import FIREBIRD, SQLITE
from acidtest.formats import firebird_header
from acidtest.formats.sqlite_header import MAGIC
from acidtest.journal.diagnosis import Database
from acidtest.journal.models import Scalar

WAL = 2  # of byte 18 of the header: https://sqlite.org/fileformat.html, 1.3.3
DATA_DIRECTORIES = ("PG_VERSION", "ibdata1")  # what lies in the data directory of a server


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    database: str | None
    config: Path | None
    place: Path | None
    minutes: float
    out: Path | None


def check_out(out: Path) -> None:
    """Raise BadInput where results cannot be kept."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(f"--out {out}: is there already and not empty", "name a new directory")
    if not out.parent.is_dir():
        raise BadInput(f"--out {out}: {out.parent} is no directory", "make it first, or name another directory")


def database_of(where: str) -> Database:
    """Of a file by its first page; of a server by its URL. Raises BadInput for what is neither."""
    if "://" in where:
        (chosen,) = init_answers.chosen([where])
        return Database(where=chosen.url, family=chosen.family, version="", bytes=None)
    path = Path(where)
    known = "name a database file of Firebird or SQLite, or a server by URL (postgresql://…, mysql://…)"
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            what = "a directory" if stat.S_ISDIR(mode) else "no ordinary file"
            raise BadInput(f"--database {where}: is {what}", known)
        with path.open("rb") as file:
            head = file.read(firebird_header.LENGTH)
        size = path.stat().st_size
    except OSError as error:
        raise BadInput(f"--database {where}: cannot be read: {error.strerror}", known) from None
    whole = str(path.resolve())
    if head.startswith(MAGIC):
        (page,) = struct.unpack_from(">H", head, 16)
        with suppress(OSError):
            size += path.with_name(f"{path.name}-wal").stat().st_size
        facts: dict[str, Scalar] = {"page_size": 65536 if page == 1 else page}
        facts["journal_mode"] = "wal" if head[18] == WAL else "delete"
        return Database(where=whole, family=SQLITE.name, version="", bytes=size, facts=facts)
    try:
        page_0 = firebird_header.parse(head)
    except firebird_header.NotAHeader:
        raise BadInput(f"--database {where}: is neither a Firebird nor a SQLite database", known) from None
    ods = page_0.ods_major, page_0.ods_minor
    facts = {"page_size": page_0.page_size, "forced_writes": page_0.forced_writes}
    if page_0.page_buffers:
        facts["page_buffers"] = page_0.page_buffers
    return Database(where=whole, family=FIREBIRD.name, version=ODS_SERIES.get(ods, ""), bytes=size, facts=facts)


def place_of(asked: Asked, database: Database | None) -> Path | None:
    """Where the scratch directory goes; None where nobody knows where the server has its files."""
    if asked.place is not None:
        if not asked.place.is_dir():
            if ":/" in str(asked.place):  # a path keeps one slash of a URL's two; there may be a password in it
                raise BadInput("the place is a URL, no directory", "give a server as --database URL")
            meant = f"did you mean --database {asked.place}? Else " if asked.place.is_file() else ""
            raise BadInput(f"{asked.place}: is no directory", f"{meant}name a directory on the drive in question")
        if held := next((one for one in DATA_DIRECTORIES if (asked.place / one).exists()), ""):
            raise BadInput(
                f"{asked.place}: is the data directory of a server, by its {held}: nothing is written there",
                "name a directory beside it, on the same file system",
            )
        return asked.place
    if database is None:
        return Path()
    return None if database.bytes is None else Path(database.where).parent
