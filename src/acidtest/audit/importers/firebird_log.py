"""``firebird.log``: what of it a benchmark should fear."""

from __future__ import annotations

from collections.abc import Sequence

from acidtest.audit import log_lines
from acidtest.audit.bench import LogEntry
from acidtest.audit.importers.file import File, Importer


def _read(file: File) -> Sequence[LogEntry] | None:
    if not (file.base.startswith("firebird") and file.base.endswith(".log")):
        return None
    return log_lines.of_firebird(file.lines, file.at)


IMPORTER = Importer("firebird.log", _read)
