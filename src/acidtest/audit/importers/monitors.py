"""What watches a machine beside a run: iostat, vmstat, mpstat, sar, pidstat, dstat, top. Nothing of it is judged yet,
but it is no result that nobody understands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidtest.audit.importers.file import File, Importer, Part

HEADS = re.compile(
    r"\s*(?:avg-cpu:\s+%user|Device:?\s++.{0,80}(?:tps|r/s)|procs -+memory-+|r\s+b\s+swpd\s+free"
    r"|Linux \d[\w.-]{0,60} \(\S{1,100}\)|-+total-cpu-usage-+|-+cpu[01]?-usage|top - \d\d:\d\d"
    r"|[\d:]{5,12}\s+(?:[AP]M\s+)?(?:CPU\s+%usr|UID\s+PID\s+%|IFACE\s+rxpck|DEV\s+tps))"
)
SEEN_WITHIN = 40  # lines


def _read(file: File) -> Sequence[Part] | None:
    return [] if any(HEADS.match(line[:300]) for line in file.first_lines[:SEEN_WITHIN]) else None


IMPORTER = Importer("machine's monitor", _read)
