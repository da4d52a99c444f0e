"""Names that several suites share."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest import TempPathFactory

from families import FAMILIES

ACIDTEST = Path(sysconfig.get_path("scripts")) / "acidtest"
ENGINES = tuple(engine for family in FAMILIES.values() for engine in family.engines)
DIALECTS = tuple(engine for family in FAMILIES.values() for engine in family.dialects)
FIREBIRDS, POSTGRESES, MYSQLS = (FAMILIES[family].private for family in ("firebird", "postgresql", "mysql"))
EMBEDDED = ("sqlite", *FIREBIRDS)


def times(few: int, all: int) -> int:  # noqa: A002
    """How often a test that repeats itself at random moments does so: ``all`` in ``make test-long``, else ``few``."""
    return all if os.environ.get("ACIDTEST_TESTS") == "long" else few


@contextlib.contextmanager
def one_worker_at_a_time(factory: TempPathFactory, name: str) -> Iterator[None]:
    """What all workers of a run need and only one of them has to bring."""
    with (factory.getbasetemp().parent / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def journal_lines(directory: Path) -> list[dict[str, Any]]:
    """The recordings as they stand in the file, none folded together."""
    lines = (directory / "journal.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines[1:]]


def processes_with(variable: str) -> dict[int, str]:
    """Command lines of the processes that have this ``NAME=value`` in their environment."""
    found = {}
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if variable.encode() in environ.read_bytes().split(b"\0"):
                found[int(environ.parent.name)] = (environ.parent / "cmdline").read_text().replace("\0", " ")
    return found
