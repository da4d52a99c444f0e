"""Workloads over a database that a folder of the user's own describes: its schema, its load, its conditions."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import Field

from acidtest.journal.models import Warning
from acidtest.journal.protocol import Description, Message
from acidtest.keys import SECONDS, Kept
from acidtest.workload import folder as folders
from acidtest.workload.base import ROW_OVERHEAD_BYTES, WorkloadSpec
from acidtest.workload.declared import Value

ASSUMED_ROWS_PER_S = 20_000
ASSUMED_SPREAD = 2  # a loaded row with its indexes, against its values
ASSUMED_LOAD_BYTES = 16  # in the database, for each byte of SQL that loads
# Each is drawn after the load; how often it is drawn shapes nothing of it.
NOT_LOADED = frozenset({"title", "transactions", "statement_limit_s"})
STATEMENT_LIMIT_S = 7_200.0
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
    files: Annotated[dict[str, str], Kept()] = Field(
        default_factory=dict, description="The SHA-256 of each of its files, when the experiment was read."
    )
    described: Annotated[Description | None, Kept()] = Field(
        default=None, description="What the rig says of it; of a workload in an experiment nothing."
    )
    folder: folders.Folder | None = Field(default=None, exclude=True)  # None of a recorded one

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
        parts = {name: _text(folder.parts.get(name)) for name in folders.PARTS}
        return form(
            title=folder.title,
            statement_limit_s=self.statement_limit_s,
            variables=tuple((name, _literal(of)) for name, of in self.values().items()),
            schema=parts["schema"],
            load_sql=parts["load"],
            indexes=parts["indexes"],
            conditions=parts["conditions"],
            tables=tuple(map(_table, folder.tables)),
            transactions=transactions,
        )

    # ---------------------------------------------------------------------------------------- its database

    def loaded_text(self) -> str:
        """Variables that neither schema, load nor conditions name make no other database."""
        message = self.database_message()
        loaded = message.model_dump_json(exclude={*NOT_LOADED, "variables"})
        named = {name for name in self.values() if re.search(rf":{name}\b", loaded)}
        return f"{[pair for pair in message.variables if pair[0] in named]} {loaded}"

    def loaded_bytes(self) -> int:
        widths = dict(self.told().row_bytes)
        rows = sum(count * (widths.get(table, 0) + ROW_OVERHEAD_BYTES) for table, count in self.told().loaded_rows)
        folder = self.sound()
        of_files = folder.csv_bytes() + sum(
            table.held.rows * ROW_OVERHEAD_BYTES for table in folder.tables if isinstance(table, folders.Csv)
        )
        by_sql = ASSUMED_LOAD_BYTES * sum(len(file.text) for file in folder.parts.values())
        return ASSUMED_SPREAD * max(rows, of_files) + by_sql

    def local_files(self) -> tuple[str, ...]:
        return tuple(str(table.path) for table in self.sound().tables if isinstance(table, folders.Csv))

    def load_s(self) -> float:
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

    def warnings(self, engine: str, *, has_procedures: bool) -> list[Warning]:
        return [Warning(code="own-workload", about="goodput_per_s", text=text) for text in self.told().warnings]

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
