"""A SQLite of the user's own: a shared library, which the rig loads in the place of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

from acidtest.engine import builds
from acidtest.engine.builds import BuildDetails, UserBuild, Wanted
from acidtest.engine.sqlite.engine import Sqlite
from acidtest.files import find_rig

NAMES = ("libsqlite3.so", "libsqlite3.so.0")
FOLDERS = (".", "lib", ".libs", "lib/x86_64-linux-gnu")
OLDEST = (3, 20)


class SqliteBuild(UserBuild, Sqlite):
    """One shared library."""

    def __init__(self, wanted: Wanted) -> None:
        file = _file(wanted)
        builds.check_binary(wanted, file)
        self.library = file
        self.take(wanted, _details(wanted, file))

    def files(self) -> list[Path]:
        return [self.details.main]


def _file(wanted: Wanted) -> Path:
    path = wanted.path
    if not path.is_dir():
        if builds.product_at(path) not in (None, wanted.product):
            raise builds.nothing_there(wanted, "it is another program")
        return path
    found = builds.first_file([path / folder for folder in FOLDERS], NAMES)
    if found is None:
        raise builds.nothing_there(wanted, f"there is no {NAMES[0]}", "name its shared library (libsqlite3.so)")
    return found


def _details(wanted: Wanted, file: Path) -> BuildDetails:
    """As the rig reads it, which is what will load it."""
    said = builds.said_by(wanted, [str(find_rig()), "sqlite", str(file)], dict(os.environ), of=file)
    answer = json.loads(said)
    release = str(answer["version"])
    if builds.numbers(release) < OLDEST:
        raise wanted.refuse(f"SQLite {release} is older than any that acidtest can run ({OLDEST[0]}.{OLDEST[1]})")
    options = [*map(str, answer["options"])] or [builds.NOT_TOLD]
    doubts = [builds.slow(wanted, "SQLITE_DEBUG")] if "DEBUG" in options else []
    options.insert(0, f"source id: {answer['source_id']}")
    return BuildDetails(file, release, builds.listed(options), "sqlite", tuple(doubts))
