"""What pg_test_fsync prints. See src/bin/pg_test_fsync/pg_test_fsync.c (LABEL_FORMAT, OPS_FORMAT)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidtest.audit.amounts import NUMBER
from acidtest.audit.bench import Published
from acidtest.audit.importers.file import Broken, File, Importer

SECTION = re.compile(r"((?:Compare|Test if|Non-[sS]ync).*?):?")
LINE = re.compile(rf"\s*(\S.{{0,60}}?) {{1,80}}{NUMBER} ops/sec(?: {{1,80}}{NUMBER} usecs/op)?\s*")
UNFLUSHED = re.compile(r"Non-sync", re.IGNORECASE)


def _read(file: File) -> Sequence[Published] | None:
    if not any("ops/sec" in line for line in file.first_lines):
        return None
    if not any(SECTION.fullmatch(line.strip()) for line in file.first_lines):
        return None
    published: list[Published] = []
    section = ""
    for number, line in enumerate(file.stream(), start=1):
        if match := LINE.fullmatch(line):
            rate, unflushed = float(match[2]), UNFLUSHED.match(section) is not None
            published.append(
                Published(
                    file.at(number),
                    "pg_test_fsync",
                    f"{match[1]} ({section})" if section else match[1],
                    rate=rate,
                    terminals=1,
                    latency_ms={"mean": 1000 / rate} if rate else {},
                    unit="writes" if unflushed else "flushes",
                    flushed=not unflushed,
                )
            )
        elif match := SECTION.fullmatch(line.strip()):
            section = match[1][:100]
    if not published:
        raise Broken("is pg_test_fsync's output without a figure")
    return published


IMPORTER = Importer("pg_test_fsync output", _read)
