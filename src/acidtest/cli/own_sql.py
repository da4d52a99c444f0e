"""The SQL of the user's that ``acidtest init`` makes an experiment of: what is there, and what is written for it."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from acidtest.errors import BadInput, cannot_write
from acidtest.question import OwnSql, skeletons
from acidtest.workload import folder as folders

NEW, PGBENCH = "new", "pgbench"  # skeletons
FOLDER = "my-sql"  # where nobody names one
TABLES = "pgbench-tables"  # of files, where no folder is named


@dataclass(frozen=True)
class Found:
    """What the user has named: a folder, or files over the tables of one; by paths as they were given."""

    paths: tuple[Path, ...]
    database: Path | None = None
    makes: str = ""  # the skeleton that the folder is written as; "": it is there

    @property
    def folder(self) -> Path:
        """The one that is there, or is written."""
        return self.database or self.paths[0]

    def named(self, file: Path) -> OwnSql:
        """As an experiment in ``file`` names it."""
        names = tuple(_name(path) for path in self.paths)
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise BadInput(f'--sql: two files would be called "{twice}" in the experiment', "rename one of them")
        if self.makes:
            variables = tomllib.loads(skeletons.files(self.makes)[folders.TOML])["variables"]
        else:
            variables = folders.read_database(self.folder).variables
        return OwnSql(
            names,
            tuple(_from(path, file) for path in self.paths),
            _from(self.database, file) if self.database else "",
            tuple(variables.items()),
        )


def read(words: Sequence[str]) -> Found:
    """Whatever is named must be sound, or, of a folder, not be there yet. Raises BadInput."""
    paths = [Path(word).expanduser() for word in words]
    files = [path for path in paths if path.is_file() or path.suffix == ".sql"]
    folder_paths = [path for path in paths if path not in files]
    if len(folder_paths) > 1:
        raise BadInput(
            f"--sql {', '.join(map(str, folder_paths))}: the tables are those of one folder", "name one folder"
        )
    if not files:
        (folder,) = folder_paths
        if _is_free(folder):
            return Found((folder,), makes=NEW)
        folders.read(folder)
        return Found((folder,))
    tables = folder_paths[0] if folder_paths else files[0].parent / TABLES
    for file in files:
        if not file.exists():
            raise BadInput(f"--sql {file}: there is no such file", "name a file of SQL, or a folder of them")
    if _is_free(tables):
        for file in files:
            _check_script(file)
        return Found(tuple(files), tables, makes=PGBENCH)
    for file in files:
        folders.read_script(file, tables)
    return Found(tuple(files), tables)


def write(found: Found) -> list[Path]:
    """Write the folder, of which nothing may be there yet; which files those are. Raises BadInput."""
    return write_skeleton(found.makes, found.folder) if found.makes else []


def write_skeleton(name: str, folder: Path) -> list[Path]:
    """Write a skeleton's files into ``folder``, each of them only where no such file is. Raises BadInput."""
    written = []
    try:
        folder.mkdir(exist_ok=True)
        for file, text in skeletons.files(name).items():
            with (folder / file).open("x", encoding="utf-8") as made:
                made.write(text)
            written.append(folder / file)
    except OSError as error:
        raise cannot_write(folder, error, "name a folder elsewhere, that is not there yet") from None
    return written


def standing_for(own: OwnSql, found: Found, folder: Path) -> OwnSql:
    """The same with another folder in place of the one that is not there yet."""
    if found.database:
        return replace(own, database=str(folder))
    return replace(own, paths=(str(folder),))


def _is_free(folder: Path) -> bool:
    """Whether nothing is there, or an empty folder. Raises BadInput where none can be made."""
    if folder.is_dir():
        return not any(folder.iterdir())
    if folder.exists() or folder.is_symlink():
        raise BadInput(f"--sql {folder}: is no folder, and no file whose name ends in .sql", "name one")
    if not folder.parent.is_dir():
        raise BadInput(f"--sql {folder}: {folder.parent} is no directory", "make it first, or name another folder")
    return True


def _check_script(file: Path) -> None:
    if file.suffix != ".sql" or not folders.STEM.fullmatch(file.stem):
        raise BadInput(f"--sql {file}: its name must end in .sql", "rename it: my-script.sql")


def _from(path: Path, file: Path) -> str:
    """Beginning at the experiment's directory, unless it was given from the root on."""
    return str(path) if path.is_absolute() else os.path.relpath(path, file.parent)


def _name(path: Path) -> str:
    """A workload's name after its path."""
    stem = path.stem if path.suffix == ".sql" else path.resolve().name
    name = re.sub(r"[^a-z0-9_-]+", "-", stem.lower()).strip("-_")[:64]
    if not name:
        raise BadInput(f"--sql {path}: gives the workload no name", "rename it with letters and digits")
    return name
