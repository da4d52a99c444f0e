"""What ``hdparm -t``, ``-T`` and ``--direct`` print. See hdparm.c (time_device, time_cache): its MB is a MiB."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidtest.audit.amounts import NUMBER
from acidtest.audit.bench import Published
from acidtest.audit.importers.file import File, Importer

LINE = re.compile(
    rf"\W{{0,20}}Timing (O_DIRECT )?"
    rf"(cached reads|buffer-cache reads|buffered disk reads|disk reads):\s{{1,9}}"
    rf"{NUMBER} ([kM])B in +{NUMBER} seconds ?= *{NUMBER} ([kMG])B/sec"
)
BYTES = {"k": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _read(file: File) -> Sequence[Published] | None:
    if not any("Timing " in line and LINE.match(line) for line in file.first_lines):
        return None
    published = []
    for at, line in enumerate(file.stream(), start=1):
        if match := LINE.match(line):
            cached = "cache" in match[2]
            published.append(
                Published(
                    file.at(at),
                    "hdparm",
                    f"{match[1] or ''}{match[2]}",
                    terminals=1,
                    unit="reads",
                    measured_s=float(match[5]),
                    bytes_per_s=float(match[6]) * BYTES[match[7]],
                    written=f"{match[6]} {match[7]}B/sec",
                    script="-T" if cached else "-t",
                    parameters={"cached": "yes" if cached else "no", "direct": "1" if match[1] else "0"},
                )
            )
    return published


IMPORTER = Importer("hdparm output", _read)
