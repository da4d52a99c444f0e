"""``firebird.log``: what of it a benchmark should fear. ``gds__log`` (src/yvalve/gds.cpp) writes the entries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from acidtest.audit.bench import LogEntry, Where
from acidtest.audit.importers.file import File, Importer

HEAD = re.compile(r"\S+(\s+\(\S+\))?\t\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}")
KINDS = (
    ("update-conflict", re.compile(r"Update conflict: unable to get a stable set of rows", re.IGNORECASE)),
    ("deadlock", re.compile(r"\bdeadlock\b", re.IGNORECASE)),
    ("corruption", re.compile(r"corrupt|wrong page type|checksum error|internal Firebird consistency check", re.I)),
    ("crash", re.compile(r"terminated abnormally|bugcheck|access violation|segmentation", re.IGNORECASE)),
    ("error", re.compile(r"\berror\b", re.IGNORECASE)),
)


def _read(file: File) -> Sequence[LogEntry] | None:
    if not (file.base.startswith("firebird") and file.base.endswith(".log")):
        return None
    return entries(file.lines, file.at)


def entries(lines: Iterable[str], at: Callable[[int], Where]) -> list[LogEntry]:
    """One of each kind: its first entry, and how many there are; ``at`` is where a line stands, from 1."""
    by_kind: dict[str, LogEntry] = {}
    begin, entry = 1, ""

    def end() -> None:
        kind = next((name for name, pattern in KINDS if pattern.search(entry)), None)
        if kind:
            before = by_kind.get(kind)
            text = " ".join(entry.split())[:300]
            by_kind[kind] = LogEntry(
                before.where if before else at(begin), "firebird", kind, before.text if before else text,
                before.count + 1 if before else 1,
            )  # fmt: skip

    for number, line in enumerate(lines, start=1):
        if HEAD.fullmatch(line.rstrip()):
            end()
            begin, entry = number, ""
        else:
            entry += line + "\n" if len(entry) < 8192 else ""
    end()
    return list(by_kind.values())


IMPORTER = Importer("firebird.log", _read)
