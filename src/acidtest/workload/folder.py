"""A workload as a folder of the user's own: which files it has and what ``workload.toml`` says of them.

SQL and expressions are the rig's to understand; here is checked that the files are there, that they are text of a
sensible size, and that every key and every file has a meaning.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from acidtest.errors import BadInput, Problems, not_among
from acidtest.formats import regular
from acidtest.words import harmless
from acidtest.workload.declared import IDENTIFIER, Declared, Value, cut, declared

TOML = "workload.toml"
PARTS = ("schema", "load", "indexes", "conditions")  # .sql files that are no transaction
DIALECTS = {
    "firebird": "firebird",
    "mysql": "mysql",
    "postgresql": "postgres",
    "sqlite": "sqlite",
}  # in the rig's words
SQL_BYTES_MAX = 1 << 20  # of one file
FILES_MAX = 1_000
STEM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
PASSED_OVER = re.compile(r"\..*|.*~|.*\.md|README(\.txt)?|LICENSE(\.txt)?", re.IGNORECASE)  # notes, not the workload


@dataclass(frozen=True)
class SqlFile:
    """A file of SQL, with what takes its place on some engines."""

    path: str  # as the user would name it
    text: str
    variants: tuple[tuple[str, str, str], ...] = ()  # the rig's dialect, path, text


@dataclass(frozen=True)
class Generated:
    """A table whose rows are made by expressions."""

    table: str
    rows: str
    columns: tuple[tuple[str, str], ...]  # name, expression
    where: str  # the file that says so


@dataclass(frozen=True)
class Csv:
    """A table whose rows are those of a file."""

    table: str
    path: Path  # absolute
    held: regular.Rows


@dataclass(frozen=True)
class Folder:
    """All of it, read and sound as far as the lab can tell."""

    title: str
    transactions: Mapping[str, SqlFile]  # by name
    weights: Mapping[str, float]  # of each of them
    parts: Mapping[str, SqlFile] = field(default_factory=dict)  # those of PARTS that there are
    tables: tuple[Generated | Csv, ...] = ()
    variables: Mapping[str, Value] = field(default_factory=dict)  # with their defaults
    is_script: bool = False  # a single file, whose variables nobody has declared
    hashes: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of each file, by its name in the folder


def read(path: Path) -> Folder:
    """The workload in the folder ``path``. Raises BadInput with everything that is wrong in it."""
    folder = read_database(path)
    if not folder.transactions:
        raise BadInput(f"{path}: has no transaction", "add a file of SQL, as buy.sql: each is one transaction")
    return folder


def nothing(title: str) -> Folder:
    """A folder that holds nothing, of a database that is not made by one."""
    return Folder(title=title, transactions={}, weights={})


def read_script(path: Path, database: Path | None, *, needs_database: bool = True) -> Folder:
    """The workload whose only transaction is the file ``path``, over the database of another folder, or, where that is
    not needed, over one that is not made by a folder.

    Raises BadInput as ``read``, and where a folder is missing.
    """
    if path.suffix != ".sql" or not STEM.fullmatch(path.stem):
        raise BadInput(f"{path}: is no folder, and no file whose name ends in .sql", "name a folder of SQL files")
    if database is None and needs_database:
        raise BadInput(
            f"{path}: is a single transaction, and nothing says over which tables",
            'add database = "FOLDER/", whose schema, load and conditions it has; or name a folder',
        )
    under = read_database(database) if database else nothing(path.stem)
    if not path.exists():
        raise BadInput(f"{path}: there is no such file", "name a file of SQL, or a folder of them")
    problems = Problems()
    names = [name for name in _names(path.parent) if name.split(".")[0] == path.stem and name.endswith(".sql")]
    files, hashes = _sql_files(path.parent, names, problems)
    problems.check()
    return Folder(
        title=path.stem,
        transactions={path.stem: files[path.stem]},
        weights={path.stem: 1.0},
        parts=under.parts,
        tables=under.tables,
        variables=under.variables,
        is_script=True,
        hashes=hashes | ({f"{database.name}/{name}": of for name, of in under.hashes.items()} if database else {}),
    )


def read_database(path: Path) -> Folder:
    """The folder ``path``, whether it has transactions or not. Raises BadInput as ``read``."""
    problems = Problems()
    names = _names(path)
    said = Declared()
    hashes: dict[str, str] = {}
    if TOML in names:
        with problems.gather():
            content = _text(path / TOML)
            hashes[TOML] = content.sha256
            said = declared(content.text, str(path / TOML), problems)
    sql = [name for name in names if name.endswith(".sql")]
    csvs = [name for name in names if name.endswith(".csv")]
    for name in names:
        if name not in (TOML, *sql, *csvs) and not PASSED_OVER.fullmatch(name):
            problems.add(
                BadInput(
                    f"{path / name}: has no meaning in a workload's folder",
                    f"a folder has {TOML}, .sql and .csv files; move it elsewhere",
                )
            )
    files, of_sql = _sql_files(path, sql, problems)
    tables = _tables(path, csvs, said, problems)
    transactions = {name: file for name, file in files.items() if name not in PARTS}
    weights = _weights(path, transactions, said, problems)
    problems.check()
    return Folder(
        title=path.resolve().name,
        transactions=transactions,
        weights=weights,
        parts={name: file for name, file in files.items() if name in PARTS},
        tables=tables,
        variables=said.variables,
        hashes=hashes | of_sql | {table.path.name: table.held.sha256 for table in tables if isinstance(table, Csv)},
    )


def _names(path: Path) -> list[str]:
    """Of everything in the folder."""
    try:
        with os.scandir(path) as entries:
            names = sorted(entry.name for entry, _ in zip(entries, range(FILES_MAX + 1), strict=False))
    except FileNotFoundError:
        raise BadInput(f"{path}: there is no such folder", "name the folder of the workload, as path does") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its name has a NUL byte"
        raise BadInput(f"{path}: cannot be read: {why}", "name the folder of the workload") from None
    if len(names) > FILES_MAX:
        raise BadInput(f"{path}: holds more than {FILES_MAX:,} files", "name a folder that holds a workload alone")
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise BadInput(f"{path}: has a file whose name is not UTF-8", "rename it") from None
        if not name.isprintable():
            raise BadInput(
                f"{path}: has a file with an unprintable character in its name: {harmless(name)}", "rename it"
            )
    return names


def _text(path: Path) -> regular.Text:
    try:
        return regular.text(path, SQL_BYTES_MAX)
    except regular.Unreadable as error:
        raise BadInput(f"{path}: {error}", "correct the file, or take it out of the folder") from None


def _sql_files(path: Path, names: Collection[str], problems: Problems) -> tuple[dict[str, SqlFile], dict[str, str]]:
    """By what stands before the first point, the files with their variants; and the SHA-256 of each by its name."""
    plain: dict[str, SqlFile] = {}
    variants: dict[str, list[tuple[str, str, str]]] = {}
    hashes: dict[str, str] = {}
    for name in names:
        stem, *suffixes = name.removesuffix(".sql").split(".")
        with problems.gather():
            _check_name(path / name, stem, suffixes)
            content = _text(path / name)
            hashes[name] = content.sha256
            if suffixes:
                variants.setdefault(stem, []).append((DIALECTS[suffixes[0]], str(path / name), content.text))
            else:
                plain[stem] = SqlFile(str(path / name), content.text)
    for stem in variants.keys() - plain.keys():
        if f"{stem}.sql" not in names:
            problems.add(
                BadInput(
                    f"{path / stem}.sql: is missing, and there is {variants[stem][0][1]}",
                    "add it: engines that have no file of their own run it",
                )
            )
    return {
        stem: SqlFile(file.path, file.text, tuple(sorted(variants.get(stem, [])))) for stem, file in plain.items()
    }, hashes


def _check_name(path: Path, stem: str, suffixes: list[str]) -> None:
    if not STEM.fullmatch(stem):
        raise BadInput(
            f"{path}: a transaction is named by letters, digits, _ and -, at most 64", "rename the file: buy.sql"
        )
    if len(suffixes) > 1:
        raise BadInput(f"{path}: has more than one engine in its name", "name it as buy.firebird.sql")
    if suffixes and suffixes[0] not in DIALECTS:
        raise BadInput(
            not_among(f"{path}: engine", suffixes[0], DIALECTS), "MariaDB is one of mysql; or leave the engine out"
        )


def _tables(path: Path, csvs: Collection[str], said: Declared, problems: Problems) -> tuple[Generated | Csv, ...]:
    """Those of CSV files that workload.toml does not name come first: what is generated may refer to them."""
    named = {load.csv for load in said.load.values() if load.csv is not None}
    tables: list[Generated | Csv] = []
    for name in csvs:
        table = name.removesuffix(".csv")
        if name in named:
            continue
        if table in said.load:
            problems.add(
                BadInput(
                    f"{path / TOML}: load.{table}: its rows are generated, and there is {path / name}",
                    f'write csv = "{name}" there, or take the file away',
                )
            )
            continue
        with problems.gather():
            tables.append(_csv(path, table, name))
    for table, load in said.load.items():
        if load.csv is None:
            tables.append(Generated(table, load.rows, load.columns, str(path / TOML)))
        elif load.csv not in csvs:
            missing = f"{path / load.csv}: is missing, and {path / TOML} names it under load.{table}"
            problems.add(BadInput(missing, "add the file, or repair its name"))
        else:
            with problems.gather():
                tables.append(_csv(path, table, load.csv))
    return tuple(tables)


def _csv(path: Path, table: str, name: str) -> Csv:
    file = path / name
    if not IDENTIFIER.fullmatch(table):
        raise BadInput(
            f"{file}: is named after no table: letters, digits and _, no digit first",
            f'rename it, or write [load.TABLE] csv = "{name}" in {path / TOML}',
        )
    try:
        held = regular.rows(file)
    except regular.Unreadable as error:
        raise BadInput(f"{file}: {error}", "correct the file") from None
    for column in held.columns:
        if not IDENTIFIER.fullmatch(column):
            raise BadInput(
                f'{file}: "{cut(column)}" in its first line is no name of a column',
                "its first line names the columns: letters, digits and _, no digit first",
            )
    if len({column.lower() for column in held.columns}) < len(held.columns):
        raise BadInput(f"{file}: names a column twice in its first line", "name each column once")
    return Csv(table, file.resolve(), held)


def _weights(path: Path, transactions: Mapping[str, SqlFile], said: Declared, problems: Problems) -> dict[str, float]:
    if said.weights is None:
        return dict.fromkeys(transactions, 1.0)
    for name in said.weights.keys() - transactions.keys():
        message = not_among(f"{path / TOML}: transactions: transaction", cut(name), transactions)
        problems.add(BadInput(message, f"add {cut(name)}.sql, or leave it out"))
    for name in transactions.keys() - said.weights.keys():
        problems.add(
            BadInput(f"{path / TOML}: transactions: {name} has no weight", f"add {name} = 1, or take {name}.sql away")
        )
    if transactions and not any(said.weights.values()):
        problems.add(BadInput(f"{path / TOML}: transactions: all weights are 0", "give one of them another weight"))
    return {name: said.weights.get(name, 0.0) for name in transactions}
