"""A database file of the user's, from which a run begins: of SQLite, or of Firebird. It is only read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from acidtest.errors import BadInput
from acidtest.families import FAMILIES, FIREBIRD, SQLITE
from acidtest.formats import firebird_header, regular, sqlite_header
from acidtest.workload.base import Refused, Runner

HEAD_BYTES = 1024
# The minor number of the on-disk structure that a series makes, by its major number (ods.h): an engine opens databases
# of its major number whose minor number is no higher.
STRUCTURES: Mapping[tuple[int, ...], tuple[int, int]] = {(3, 0): (12, 2), (4, 0): (13, 0), (5, 0): (13, 1)}
# What may lie beside a file, and holds what the file itself lacks.
BESIDE = {
    SQLITE.name: (
        ("-wal", "holds commits that are not in the file yet"),
        ("-journal", "holds what an interrupted transaction must be rolled back with"),
    ),
    FIREBIRD.name: ((".delta", "holds what was changed since nbackup -L"),),
}
AT_WORK = {
    SQLITE.name: "end the programs that use it, and open and close it once with the sqlite3 shell",
    FIREBIRD.name: "end that with nbackup -N",
}


@dataclass(frozen=True)
class DatabaseFile:
    """What was seen of it when the experiment was read."""

    path: Path
    family: str
    bytes: int
    sha256: str
    structure: tuple[int, int] | None  # of Firebird's: the on-disk structure

    def refused(self, on: Runner) -> Refused | None:
        """Why it cannot be the database of a run there."""
        key = "database_file"
        if not on.private:
            return Refused(
                "is a server by URL, and acidtest puts no file there", key, "restore it yourself: prepared = true"
            )
        if on.family != self.family:
            title = FAMILIES[self.family].products[0].title
            return Refused(
                f"cannot open {self.path}, which is a database of {title}", key, f"choose an engine of {title}"
            )
        made = STRUCTURES.get(on.release[:2])
        if self.structure and made and (self.structure[0] != made[0] or self.structure[1] > made[1]):
            has, opens = (".".join(map(str, one)) for one in (self.structure, made))
            return Refused(
                f"cannot open {self.path}, whose on-disk structure is {has}: it opens {opens}",
                key,
                "choose the series that made it, or bring it there with gbak",
            )
        return None


def read(path: Path) -> DatabaseFile:
    """The file, read whole once for its sum. Raises BadInput where it is no database, or not all of one."""
    digest, size = hashlib.sha256(), 0
    try:
        with regular.opened(path) as file:
            head = file.read(HEAD_BYTES)
            family, structure = _kind(head, path)
            digest.update(head)
            size += len(head)
            while block := file.read(1 << 20):
                digest.update(block)
                size += len(block)
    except regular.Unreadable as error:
        raise BadInput(f"{path}: {error}", "name a database file of SQLite or Firebird") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}", "name a file that can be read") from None
    for suffix, why in BESIDE[family]:
        other = path.with_name(path.name + suffix)
        if _holds_something(other):
            raise BadInput(f"{path}: is not all of a database: {other.name} beside it {why}", AT_WORK[family])
    return DatabaseFile(path, family, size, digest.hexdigest(), structure)


def _holds_something(beside: Path) -> bool:
    """Whether a file is there, and is no journal that is kept empty."""
    try:
        return beside.stat().st_size > 0 and (not beside.name.endswith("-journal") or sqlite_header.is_hot(beside))
    except OSError:
        return False


def _kind(head: bytes, path: Path) -> tuple[str, tuple[int, int] | None]:
    if head.startswith(sqlite_header.MAGIC):
        return SQLITE.name, None
    try:
        header = firebird_header.parse(head)
    except firebird_header.NotAHeader:
        raise BadInput(
            f"{path}: is no database file of SQLite or Firebird",
            "name one; databases of servers are restored by yourself: prepared = true",
        ) from None
    if header.sql_dialect != 3:
        raise BadInput(f"{path}: is of SQL dialect {header.sql_dialect}", "name one of dialect 3")
    return FIREBIRD.name, (header.ods_major, header.ods_minor)
