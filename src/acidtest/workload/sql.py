"""SQL of the user's own: a folder with a schema, a load, transactions and conditions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from acidtest.errors import BadInput, not_among
from acidtest.journal.protocol import WorkloadMessage
from acidtest.keys import Fixed, Form, Unset
from acidtest.workload import folder as folders
from acidtest.workload.base import ROW_OVERHEAD_BYTES
from acidtest.workload.declared import Value, cut, shown, value, weight
from acidtest.workload.of_folder import NOT_LOADED, OF_THE_USER, OfFolder, SqlDatabase, SqlTransaction, plain, text_of

TABLES = ("variables", "weights")  # keys that are tables: a factor may carry the name of one entry, "variables.scale"
ASSUMED_ROWS = 4  # that a transaction adds, of one that writes
UNDECLARED = f"; {folders.TOML} declares them, each with its default, under [variables]"


class SqlWorkload(SqlDatabase, WorkloadMessage):
    name: Literal["sql"] = "sql"


class Sql(OfFolder):
    """A folder of your own: a schema, rows, one file of SQL a transaction, and conditions that must hold."""

    UNIT = "transactions"
    TRANSACTION = "transactions"
    NOT_LOADED = NOT_LOADED

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
    # ---------------------------------------------------------------------------------------- how it is read

    @classmethod
    def completed(cls, table: Mapping[str, Any], base: Path) -> dict[str, Any]:
        path, database = table.get("path"), table.get("database")
        if not isinstance(path, str) or not path or not isinstance(database, str | None):
            return dict(table)  # which the model refuses
        at = plain(base / path)
        try:
            is_folder = at.is_dir()
        except (OSError, ValueError):
            is_folder = True  # which says what is wrong with it
        if is_folder and database is not None:
            raise BadInput(f"{at}: is a folder, and database is for a single file", "leave database out")
        single = not is_folder and (database is not None or at.exists())
        beginning = cls.beginning(table, base)
        own = any(table.get(key) for key in OF_THE_USER)
        under = plain(base / database) if database else None
        folder = folders.read_script(at, under, needs_database=not own) if single else folders.read(at)
        return {**table, **beginning, "folder": folder, "files": dict(folder.hashes) | beginning["files"]}

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
            return tuple(kind for class_ in self.classes for kind in class_.mix)
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

    # ---------------------------------------------------------------------------------------- in the rig's words

    def mix(self) -> dict[str, float]:
        """The transactions that are ever drawn, each with its weight."""
        drawn = {**self.sound().weights, **self.weights}
        return {name: of for name, of in drawn.items() if of > 0}

    def values(self) -> dict[str, Value]:
        return {**super().values(), **self.variables}

    def message(self) -> SqlWorkload:
        folder = self.sound()
        return self.in_words(
            SqlWorkload,
            tuple(
                SqlTransaction(name=name, weight=of, file=text_of(folder.transactions[name]))
                for name, of in self.mix().items()
            ),
        )

    def database_message(self) -> SqlWorkload:
        return self.message()

    # ---------------------------------------------------------------------------------------- its database

    def transaction_bytes(self) -> int:
        if not self.may_write():
            return 0
        widest = max((width for _, width in self.told().row_bytes), default=0)
        return ASSUMED_ROWS * (widest + ROW_OVERHEAD_BYTES)

    def transaction_kinds(self) -> tuple[str, ...]:
        return tuple(self.folder.transactions) if self.folder is not None else ()

    def may_write(self) -> bool:
        """Whether a row is changed may hang on a branch, or on what an update finds: so nothing is said of each one."""
        return self.described is None or any(kind.writes for kind in self.described.kinds)


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
