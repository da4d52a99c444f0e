"""Names that several suites share."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path
from typing import Any

ACIDTEST = Path(sysconfig.get_path("scripts")) / "acidtest"
FIREBIRDS = ("firebird-3.0", "firebird-4.0", "firebird-5.0")
POSTGRESES = ("postgresql-15", "postgresql-17")  # Debian's, or brought as the other is
MYSQLS = ("mariadb-10.11", "mysql-5.5")  # Debian's, or brought as the other is
EMBEDDED = ("sqlite", *FIREBIRDS)
ENGINES = (*EMBEDDED, "firebird-3.0-server", *POSTGRESES, *MYSQLS)


def journal_lines(directory: Path) -> list[dict[str, Any]]:
    """The recordings as they stand in the file, none folded together."""
    lines = (directory / "journal.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines[1:]]
