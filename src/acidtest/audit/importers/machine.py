"""Listings of a machine that somebody kept beside a benchmark: its mounts and its memory; and what watches it
beside a run (iostat, vmstat, mpstat, sar, pidstat, dstat, top), of which nothing is judged yet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Mount, Statement
from acidtest.audit.importers.file import File, Importer, Part
from acidtest.filesystems import IN_MEMORY, NAMES

MOUNTED = re.compile(r"\S+ on (\S+) type (\w+) \(([^)]*)\)")  # mount(8)
TABLE = re.compile(r"\S+\s+(/\S*)\s+(\w+)\s+([\w,=./:-]+)\s+\d\s+\d\s*")  # /proc/mounts, fstab(5)
MEMORY = re.compile(r"MemTotal: +(\d{1,12}) kB")  # /proc/meminfo
TOP = re.compile(r"\s{0,9}([KMG])iB Mem ?: {1,9}(\d{1,12}(?:\.\d)?) ?\+?total\b")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
TEXT_MAX = 1 << 20
HEADS = re.compile(
    r"\s*(?:avg-cpu:\s+%user|Device:?\s++.{0,80}(?:tps|r/s)|procs -+memory-+|r\s+b\s+swpd\s+free"
    r"|Linux \d[\w.-]{0,60} \(\S{1,100}\)|-+total-cpu-usage-+|-+cpu[01]?-usage|top - \d\d:\d\d"
    r"|[\d:]{5,12}\s+(?:[AP]M\s+)?(?:CPU\s+%usr|UID\s+PID\s+%|IFACE\s+rxpck|DEV\s+tps))"
)
SEEN_WITHIN = 40  # lines


def _mounts(file: File) -> Iterator[Mount]:
    for number, line in enumerate(file.lines, start=1):
        bare = line.strip() if "/" in line else ""
        match = MOUNTED.fullmatch(bare) or TABLE.fullmatch(bare)
        if match and match[2] in NAMES and match[2] not in IN_MEMORY:
            yield Mount(file.at(number), match[1], match[2], frozenset(match[3].split(",")))


def _memory(file: File) -> Iterator[Statement]:
    for number, line in enumerate(file.lines, start=1):
        if match := MEMORY.fullmatch(line.strip()):
            yield Statement(file.at(number), "memory", match[0], 1024.0 * int(match[1]))
        elif match := TOP.match(line[:200]):
            yield Statement(file.at(number), "memory", match[0].strip(), UNITS[match[1]] * float(match[2]))


def _listing(file: File) -> Sequence[Mount | Statement] | None:
    named = file.base.startswith(("mount", "fstab", "meminfo"))
    if file.size > TEXT_MAX or b"\0" in file.head:
        return None
    if not (named or file.base.endswith(".txt")):
        return list(_memory(file)) or None if "iB Mem" in file.text else None
    return [*_mounts(file), *_memory(file)] or None


def _monitor(file: File) -> Sequence[Part] | None:
    return [] if any(HEADS.match(line[:300]) for line in file.first_lines[:SEEN_WITHIN]) else None


MONITOR = Importer("machine's monitor", _monitor)
IMPORTER = Importer("listing of a machine", _listing, beside=True)
