"""Names that several suites share."""

from __future__ import annotations

import contextlib
import json
import sysconfig
from pathlib import Path
from typing import Any

from families import FAMILIES

ACIDTEST = Path(sysconfig.get_path("scripts")) / "acidtest"
ENGINES = tuple(engine for family in FAMILIES.values() for engine in family.engines)
DIALECTS = tuple(engine for family in FAMILIES.values() for engine in family.dialects)
FIREBIRDS, POSTGRESES, MYSQLS = (FAMILIES[family].private for family in ("firebird", "postgresql", "mysql"))
EMBEDDED = ("sqlite", *FIREBIRDS)


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
