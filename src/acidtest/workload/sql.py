"""SQL of the user's own: a folder with a schema, a load, transactions and conditions."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from acidtest.errors import BadInput, not_among
from acidtest.journal.models import Warning
from acidtest.journal.protocol import Description, Message, WorkloadMessage
from acidtest.keys import SECONDS, Fixed, Form, Kept, Unset
from acidtest.workload import folder as folders
from acidtest.workload.base import ROW_OVERHEAD_BYTES, WorkloadSpec
from acidtest.workload.declared import Value, cut, shown, value, weight

STATEMENT_LIMIT_S = 7_200.0
TABLES = ("variables", "weights")  # keys that are tables: a factor may carry the name of one entry, "variables.scale"
ASSUMED_ROWS_PER_S = 20_000
ASSUMED_ROWS = 4  # that a transaction adds, of one that writes
ASSUMED_SPREAD = 2  # a loaded row with its indexes, against its values
ASSUMED_LOAD_BYTES = 16  # in the database, for each byte of SQL that loads
UNDECLARED = f"; {folders.TOML} declares them, each with its default, under [variables]"
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


class SqlWorkload(WorkloadMessage):
    name: Literal["sql"] = "sql"
    title: str
    statement_limit_s: float = STATEMENT_LIMIT_S
    variables: tuple[tuple[str, str], ...]  # name, literal
    schema_: SqlText | None = Field(alias="schema")
    load_sql: SqlText | None
    indexes: SqlText | None
    conditions: SqlText | None
    tables: tuple[Annotated[GeneratedTable | CsvTable, Field(discriminator="source")], ...]
    transactions: tuple[SqlTransaction, ...]


class Sql(WorkloadSpec):
    """A folder of your own: a schema, rows, one file of SQL a transaction, and conditions that must hold."""

    UNIT: ClassVar[str] = "transactions"
    TRANSACTION: ClassVar[str] = "transactions"
    # Each is drawn after the load; how often it is drawn shapes nothing of it.
    NOT_LOADED: ClassVar[frozenset[str]] = frozenset({"title", "transactions", "statement_limit_s"})
    CONDITIONS: ClassVar[Mapping[str, str]] = {}  # they have the words that the user gives them

    kind: Literal["sql"] = "sql"
    path: Annotated[
        str,
        Form('"shop/", which begins at the directory of the experiment\'s file'),
        Fixed("make it two workloads, each a table with a path"),
    ] = Field(
        min_length=1,
        description="The workload is this folder, or, with database, one file of SQL, as a script of pgbench's.",
    )
    database: Annotated[
        str | None,
        Form('"shop/"'),
        Unset("that of path"),
        Fixed("make it two workloads, each a table with a database"),
    ] = Field(default=None, description="A single file runs over the schema, load and conditions of this folder.")
    variables: Annotated[dict[str, Value], Form("{ scale = 10 }"), Unset("as workload.toml says")] = Field(
        default_factory=dict,
        description="Variables of the folder have these values; variables.NAME may be a factor.",
    )
    weights: Annotated[dict[str, float], Form("{ buy = 10, look = 90 }"), Unset("as workload.toml says, or 1 each")] = (
        Field(
            default_factory=dict,
            description="Transactions are drawn with these weights, 0 for never; weights.NAME may be a factor.",
        )
    )
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

    # ---------------------------------------------------------------------------------------- how it is read

    @classmethod
    def completed(cls, table: Mapping[str, Any], base: Path) -> dict[str, Any]:
        path, database = table.get("path"), table.get("database")
        if not isinstance(path, str) or not path or not isinstance(database, str | None):
            return dict(table)  # which the model refuses
        at = _plain(base / path)
        try:
            is_folder = at.is_dir()
        except (OSError, ValueError):
            is_folder = True  # which says what is wrong with it
        if is_folder and database is not None:
            raise BadInput(f"{at}: is a folder, and database is for a single file", "leave database out")
        single = not is_folder and (database is not None or at.exists())
        folder = folders.read_script(at, _plain(base / database) if database else None) if single else folders.read(at)
        return {**table, "folder": folder, "files": dict(folder.hashes)}

    @field_validator("variables", mode="before")
    @classmethod
    def _are_values(cls, given: Any) -> Any:
        return _each("variables", given, value)

    @field_validator("weights", mode="before")
    @classmethod
    def _are_weights(cls, given: Any) -> Any:
        return _each("weights", given, weight)

    def mixed_kinds(self) -> tuple[str, ...]:
        if self.folder is None:  # of a recorded one they were looked at when it was read
            return tuple(kind for one in self.classes for kind in one.mix)
        return tuple(self.folder.transactions)

    @model_validator(mode="after")
    def _fits_its_folder(self) -> Self:
        if (folder := self.folder) is None:
            return self
        for name, given in self.variables.items():
            if name not in folder.variables:
                if folder.is_script:
                    continue
                raise ValueError(not_among("variables: variable", cut(name), folder.variables) + UNDECLARED)
            default = folder.variables[name]
            if isinstance(given, str) != isinstance(default, str):
                kind = "a text" if isinstance(default, str) else "a number"
                raise ValueError(
                    f"variables.{cut(name)}: found {shown(given)}, must be {kind}, as its default {shown(default)}"
                )
        for name in self.weights:
            if name not in folder.transactions:
                raise ValueError(not_among("weights: transaction", cut(name), folder.transactions))
        if not self.mix():
            raise ValueError("all transactions have weight 0: give one of them another weight")
        return self

    def takes(self, key: str) -> bool:
        table, _, name = key.partition(".")
        if table not in TABLES or not name:
            return super().takes(key)
        if table == "weights":
            return self.folder is not None and name in self.folder.transactions
        return self.folder is not None and (name in self.folder.variables or self.folder.is_script)

    def parameter(self, key: str) -> object:
        table, _, name = key.partition(".")
        if table not in TABLES or not name:
            return super().parameter(key)
        folder = self.sound()
        if table == "weights":
            return self.weights.get(name, folder.weights[name])
        return self.variables.get(name, folder.variables.get(name))

    def names_of(self, key: str) -> tuple[str, ...]:
        folder = self.sound()
        return tuple({"variables": folder.variables, "weights": folder.transactions}.get(key, ()))

    def varied(self, levels: Mapping[str, object]) -> Self:
        plain: dict[str, Any] = {**self.model_dump(), "folder": self.folder}
        for key, given in levels.items():
            table, _, name = key.partition(".")
            if name:
                plain[table] = {**plain[table], name: given}
            else:
                plain[key] = given
        return type(self).model_validate(plain, strict=True)

    # ---------------------------------------------------------------------------------------- in the rig's words

    def sound(self) -> folders.Folder:
        """Its folder, of one that is read from an experiment."""
        assert self.folder is not None, "a recorded workload has no files"
        return self.folder

    def mix(self) -> dict[str, float]:
        """The transactions that are ever drawn, each with its weight."""
        drawn = {**self.sound().weights, **self.weights}
        return {name: of for name, of in drawn.items() if of > 0}

    def values(self) -> dict[str, Value]:
        """All variables."""
        return {**self.sound().variables, **self.variables}

    def message(self) -> SqlWorkload:
        folder = self.sound()
        parts = {name: _text(folder.parts.get(name)) for name in folders.PARTS}
        return SqlWorkload(
            title=folder.title,
            statement_limit_s=self.statement_limit_s,
            variables=tuple((name, _literal(of)) for name, of in self.values().items()),
            schema=parts["schema"],
            load_sql=parts["load"],
            indexes=parts["indexes"],
            conditions=parts["conditions"],
            tables=tuple(map(_table, folder.tables)),
            transactions=tuple(
                SqlTransaction(name=name, weight=of, file=_text_of(folder.transactions[name]))
                for name, of in self.mix().items()
            ),
        )

    # ---------------------------------------------------------------------------------------- its database

    def loaded_text(self) -> str:
        """Variables that neither schema, load nor conditions name make no other database."""
        message = self.message()
        loaded = message.model_dump_json(exclude={*self.NOT_LOADED, "variables"})
        named = {name for name in self.values() if re.search(rf":{name}\b", loaded)}
        return f"{[pair for pair in message.variables if pair[0] in named]} {loaded}"

    def loaded_bytes(self) -> int:
        widths = dict(self._told().row_bytes)
        rows = sum(count * (widths.get(table, 0) + ROW_OVERHEAD_BYTES) for table, count in self._told().loaded_rows)
        folder = self.sound()
        of_files = folder.csv_bytes() + sum(
            table.held.rows * ROW_OVERHEAD_BYTES for table in folder.tables if isinstance(table, folders.Csv)
        )
        by_sql = ASSUMED_LOAD_BYTES * sum(len(file.text) for file in folder.parts.values())
        return ASSUMED_SPREAD * max(rows, of_files) + by_sql

    def local_files(self) -> tuple[str, ...]:
        return tuple(str(table.path) for table in self.sound().tables if isinstance(table, folders.Csv))

    def transaction_bytes(self) -> int:
        if not self.may_write():
            return 0
        widest = max((width for _, width in self._told().row_bytes), default=0)
        return ASSUMED_ROWS * (widest + ROW_OVERHEAD_BYTES)

    def load_s(self) -> float:
        return self.LOAD_S + sum(count for _, count in self._told().loaded_rows) / ASSUMED_ROWS_PER_S

    # ---------------------------------------------------------------------------------------- what the rig says of it

    @property
    def needs_description(self) -> bool:
        return self.described is None

    def with_description(self, description: Description) -> Self:
        return self.model_copy(update={"described": description})

    def _told(self) -> Description:
        assert self.described is not None, NOT_DESCRIBED
        return self.described

    def warnings(self, engine: str, *, has_procedures: bool) -> list[Warning]:
        return [Warning(code="own-workload", about="goodput_per_s", text=text) for text in self._told().warnings]

    def transaction_kinds(self) -> tuple[str, ...]:
        return tuple(self.folder.transactions) if self.folder is not None else ()

    def conditions(self) -> tuple[str, ...]:
        return tuple(self._told().conditions)

    def may_write(self) -> bool:
        """Whether a row is changed may hang on a branch, or on what an update finds: so nothing is said of each one."""
        return self.described is None or any(kind.writes for kind in self.described.kinds)


def _plain(path: Path) -> Path:
    """Without "..", where that names the same file: behind a link it may not."""
    plain = Path(os.path.normpath(path))
    try:
        return plain if plain.samefile(path) else path
    except (OSError, ValueError):
        return path


def _each(key: str, given: Any, one: Any) -> Any:
    """What a table of an experiment holds, each as ``one`` reads it; what is no table is refused by its type."""
    if not isinstance(given, Mapping):
        return given
    read = {}
    for name, of in given.items():
        try:
            read[name] = one(of)
        except ValueError as error:
            raise ValueError(f"{cut(name)}: {error}") from None
    return read


def _literal(given: Value) -> str:
    """As the script language writes it."""
    return "'" + given.replace("'", "''") + "'" if isinstance(given, str) else repr(given)


def _text(file: folders.SqlFile | None) -> SqlText | None:
    return _text_of(file) if file else None


def _text_of(file: folders.SqlFile) -> SqlText:
    return SqlText(path=file.path, text=file.text, variants=file.variants)


def _table(table: folders.Generated | folders.Csv) -> GeneratedTable | CsvTable:
    if isinstance(table, folders.Generated):
        return GeneratedTable(table=table.table, rows=table.rows, columns=table.columns, where=table.where)
    held = table.held
    return CsvTable(table=table.table, csv=str(table.path), sha256=held.sha256, rows=held.rows, columns=held.columns)
