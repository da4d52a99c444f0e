"""Workloads over a database that a folder of the user's own describes: its schema, its load, its conditions."""

from __future__ import annotations

import os
import re
import shlex
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, model_validator

from acidtest.journal.models import Warning
from acidtest.journal.protocol import Description, Message
from acidtest.keys import SECONDS, Fixed, Form, Kept, Unset
from acidtest.words import harmless
from acidtest.workload import database_file as files_of_databases
from acidtest.workload import folder as folders
from acidtest.workload.base import ROW_OVERHEAD_BYTES, OfTheUser, Refused, Runner, WorkloadSpec
from acidtest.workload.declared import Value, cut

ASSUMED_ROWS_PER_S = 20_000
ASSUMED_SPREAD = 2  # a loaded row with its indexes, against its values
ASSUMED_LOAD_BYTES = 16  # in the database, for each byte of SQL that loads
# Each is drawn after the load; how often it is drawn shapes nothing of it.
NOT_LOADED = frozenset({"title", "transactions", "statement_limit_s"})
STATEMENT_LIMIT_S = 7_200.0
SHOWN_MAX = 200
UNCHECKED = (
    "No condition is checked, so that nothing shows whether its rows are right: database = FOLDER names a folder with "
    "conditions.sql."
)
OF_THE_USER = ("prepared", "restore", "database_file")
NOT_DESCRIBED = "the rig has not been asked about this workload yet"


class SqlText(Message):
    """A file of SQL, with what takes its place in some dialects: dialect, path, text."""

    path: str
    text: str
    variants: tuple[tuple[str, str, str], ...]


class GeneratedTable(Message):
    source: Literal["generated"] = "generated"
    table: str
    rows: str  # an expression
    columns: tuple[tuple[str, str], ...]  # name, expression
    where: str


class CsvTable(Message):
    source: Literal["csv"] = "csv"
    table: str
    csv: str  # an absolute path
    sha256: str
    rows: int
    columns: tuple[str, ...]


class SqlTransaction(Message):
    name: str
    weight: float
    file: SqlText


class SqlDatabase(Message):
    """A folder in the rig's words."""

    title: str
    statement_limit_s: float = STATEMENT_LIMIT_S
    variables: tuple[tuple[str, str], ...]  # name, literal
    schema_: SqlText | None = Field(alias="schema")
    load_sql: SqlText | None
    indexes: SqlText | None
    conditions: SqlText | None
    tables: tuple[Annotated[GeneratedTable | CsvTable, Field(discriminator="source")], ...]
    transactions: tuple[SqlTransaction, ...]


Words = TypeVar("Words", bound=SqlDatabase)


class OfFolder(WorkloadSpec):
    """A workload whose database is that of a folder."""

    statement_limit_s: Annotated[float, SECONDS] = Field(
        default=STATEMENT_LIMIT_S,
        gt=0,
        le=604_800,
        exclude_if=lambda limit: limit == STATEMENT_LIMIT_S,
        description="A statement of the load or a condition may take this long, and a table without a new row.",
    )
    prepared: Annotated[bool, Fixed("make it two workloads, one of them with prepared")] = Field(
        default=False,
        exclude_if=lambda prepared: not prepared,
        description="Its database is on the server by URL as you have prepared it: nothing is loaded there, nothing "
        "removed.",
    )
    restore: Annotated[
        str | None,
        Form('"sh restore.sh", which is run in the directory of the experiment\'s file, without a shell'),
        Unset("each run begins with what the one before it left"),
        Fixed("make it two workloads, each a table with a restore"),
    ] = Field(
        default=None,
        min_length=1,
        max_length=4_000,
        exclude_if=lambda restore: restore is None,
        description="This command of yours brings the prepared database back before each run.",
    )
    database_file: Annotated[
        str | None,
        Form('"shop.fdb", which begins at the directory of the experiment\'s file'),
        Unset("the database is loaded"),
        Fixed("make it two workloads, each a table with a database_file"),
    ] = Field(
        default=None,
        min_length=1,
        exclude_if=lambda path: path is None,
        description="Each run has a copy of this file of SQLite or Firebird, which is only read; nothing is loaded.",
    )
    files: Annotated[dict[str, str], Kept()] = Field(
        default_factory=dict, description="The SHA-256 of each of its files, when the experiment was read."
    )
    described: Annotated[Description | None, Kept()] = Field(
        default=None, description="What the rig says of it; of a workload in an experiment nothing."
    )
    folder: folders.Folder | None = Field(default=None, exclude=True)  # None of a recorded one
    file_read: files_of_databases.DatabaseFile | None = Field(default=None, exclude=True)
    directory: Path | None = Field(default=None, exclude=True)  # of the experiment's file

    @model_validator(mode="after")
    def _has_one_beginning(self) -> Self:
        if self.prepared and self.database_file is not None:
            raise ValueError("prepared and database_file: the database is on a server or in a file: keep one of them")
        if self.restore is None:
            return self
        if not self.prepared:
            raise ValueError("restore: brings a prepared database back: add prepared = true, or leave restore out")
        try:
            words = shlex.split(self.restore) if self.restore.isprintable() else None
        except ValueError as error:
            raise ValueError(f"restore: {error} in {cut(self.restore)}") from None
        if words is None:
            raise ValueError("restore: a command is one line of printable characters; put more of it into a script")
        if not words:
            raise ValueError("restore: names no program")
        return self

    @classmethod
    def beginning(cls, table: Mapping[str, Any], base: Path) -> dict[str, Any]:
        """What ``completed`` adds for a database of the user's. Raises BadInput for a file that is none."""
        at = table.get("database_file")
        if not isinstance(at, str) or not at:
            return {"directory": base, "files": {}}
        read = files_of_databases.read(plain(base / at))
        return {"directory": base, "files": {read.path.name: read.sha256}, "file_read": read}

    def of_the_user(self) -> OfTheUser | None:
        if self.file_read is not None:
            return OfTheUser(file=self.file_read.path, sha256=self.file_read.sha256)
        if not self.prepared:
            return None
        return OfTheUser(
            restore=tuple(shlex.split(self.restore or "")),
            directory=self.directory or Path(),
            limit_s=self.statement_limit_s,
        )

    def sound(self) -> folders.Folder:
        """Its folder, of one that is read from an experiment."""
        assert self.folder is not None, "a recorded workload has no files"
        return self.folder

    def values(self) -> dict[str, Value]:
        """All variables."""
        return dict(self.sound().variables)

    @abstractmethod
    def database_message(self) -> SqlDatabase:
        """Its folder in the rig's words."""

    def in_words(self, form: type[Words], transactions: tuple[SqlTransaction, ...]) -> Words:
        """The folder with these transactions."""
        folder = self.sound()
        makes = self.of_the_user() is None
        parts = {
            name: _text(folder.parts.get(name) if makes or name == "conditions" else None) for name in folders.PARTS
        }
        return form(
            title=folder.title,
            statement_limit_s=self.statement_limit_s,
            variables=tuple((name, _literal(of)) for name, of in self.values().items()),
            schema=parts["schema"],
            load_sql=parts["load"],
            indexes=parts["indexes"],
            conditions=parts["conditions"],
            tables=tuple(map(_table, folder.tables)) if makes else (),
            transactions=transactions,
        )

    # ---------------------------------------------------------------------------------------- its database

    def loaded_text(self) -> str:
        """Variables that neither schema, load nor conditions name make no other database."""
        message = self.database_message()
        loaded = message.model_dump_json(exclude={*NOT_LOADED, "variables"})
        named = {name for name in self.values() if re.search(rf":{name}\b", loaded)}
        file = f" {self.file_read.path} {self.file_read.sha256}" if self.file_read else ""
        return f"{[pair for pair in message.variables if pair[0] in named]} {loaded}{file}"

    def loaded_bytes(self) -> int:
        if self.of_the_user() is not None:
            return self.file_read.bytes if self.file_read else 0
        widths = dict(self.told().row_bytes)
        rows = sum(count * (widths.get(table, 0) + ROW_OVERHEAD_BYTES) for table, count in self.told().loaded_rows)
        folder = self.sound()
        held = [table.held for table in folder.tables if isinstance(table, folders.Csv)]
        of_files = sum(csv.bytes + csv.rows * ROW_OVERHEAD_BYTES for csv in held)
        by_sql = ASSUMED_LOAD_BYTES * sum(len(file.text) for file in folder.parts.values())
        return ASSUMED_SPREAD * max(rows, of_files) + by_sql

    def local_files(self) -> tuple[str, ...]:
        if (own := self.of_the_user()) is not None:
            return (str(own.file),) if own.file else ()
        return tuple(str(table.path) for table in self.sound().tables if isinstance(table, folders.Csv))

    def load_s(self) -> float:
        if self.of_the_user() is not None:
            return 0.0
        return self.LOAD_S + sum(count for _, count in self.told().loaded_rows) / ASSUMED_ROWS_PER_S

    # ---------------------------------------------------------------------------------------- what the rig says of it

    @property
    def needs_description(self) -> bool:
        return self.described is None

    def with_description(self, description: Description) -> Self:
        return self.model_copy(update={"described": description})

    def told(self) -> Description:
        assert self.described is not None, NOT_DESCRIBED
        return self.described

    def refused(self, on: Runner) -> Refused | None:
        if self.file_read is not None:
            return self.file_read.refused(on)
        if self.prepared and on.private:
            return Refused(
                "makes its databases itself, and prepared = true is for a database on a server by URL",
                "prepared",
                "name a server of yours ([servers.NAME]), or leave prepared out",
            )
        return None

    def told_before(self) -> list[str]:
        if self.of_the_user() is None:
            return []
        unchecked = () if self._has_conditions() else (UNCHECKED,)
        if self.file_read is not None:
            name = self.file_read.path.name
            return [f"{name} is yours: acidtest has not made its data. Each run has a copy of it.", *unchecked]
        yours = "The data is yours: acidtest has not made it, loads nothing and removes nothing."
        if self.restore is None:
            then = "Each run begins with what the one before it has left; restore = COMMAND would bring it back."
        else:
            then = f"Before each run your command brings it back: {harmless(self.restore, SHOWN_MAX)}"
        return [f"{yours} {then}", *unchecked]

    def _has_conditions(self) -> bool:
        return "conditions" in self.sound().parts

    def warnings(self, engine: str, *, has_procedures: bool) -> list[Warning]:
        if self.of_the_user() is None or self._has_conditions():
            own = [Warning(code="own-workload", about="goodput_per_s", text=text) for text in self.told().warnings]
        else:
            own = []  # which say no more than that there are no conditions
        return [Warning(code="own-data", about="goodput_per_s", text=text) for text in OfFolder.told_before(self)] + own

    def conditions(self) -> tuple[str, ...]:
        return tuple(self.told().conditions)


def plain(path: Path) -> Path:
    """Without "..", where that names the same file: behind a link it may not."""
    plain = Path(os.path.normpath(path))
    try:
        return plain if plain.samefile(path) else path
    except (OSError, ValueError):
        return path


def _literal(given: Value) -> str:
    """As the script language writes it."""
    return "'" + given.replace("'", "''") + "'" if isinstance(given, str) else repr(given)


def _text(file: folders.SqlFile | None) -> SqlText | None:
    return text_of(file) if file else None


def text_of(file: folders.SqlFile) -> SqlText:
    return SqlText(path=file.path, text=file.text, variants=file.variants)


def _table(table: folders.Generated | folders.Csv) -> GeneratedTable | CsvTable:
    if isinstance(table, folders.Generated):
        return GeneratedTable(table=table.table, rows=table.rows, columns=table.columns, where=table.where)
    held = table.held
    return CsvTable(table=table.table, csv=str(table.path), sha256=held.sha256, rows=held.rows, columns=held.columns)
