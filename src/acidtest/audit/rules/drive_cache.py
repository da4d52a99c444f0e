"""Tests of drives that the file cache answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from acidtest.audit.bench import Bench, Claim, Published
from acidtest.audit.finding import Found, rule
from acidtest.audit.said import Seen, called, gathered, rate
from acidtest.audit.settings import size

EXCEEDS = 2.0  # how much larger than memory a file must be for its cache to matter little
YES = frozenset(("1", "true", "yes", "on"))
NO = frozenset(("", "0", "false", "no", "off", "none"))


@rule(
    "drive-test-through-cache",
    severity="doubtful",
    over=Bench,
    says="The test of the drive goes through the operating system's file cache: memory answers, and writes come later.",
    remedy="fio --direct=1, sysbench --file-extra-flags=direct, dd with oflag=direct or conv=fsync; or a file of "
    "several times the memory.",
    disproved_by="counters of the drive (iostat) that show as many operations as the tool did",
    source="fio's manual: direct, invalidate and end_fsync; sysbench's README, fileio; dd(1): conv=fsync, oflag=direct",
    about="place",
)
def drive_test_through_cache(bench: Bench) -> Iterator[Found]:
    memory = max((one for one in bench.claims if one.about == "memory" and one.bytes), key=_bytes, default=None)
    if not {"cache", "direct"} & bench.factors:
        yield from gathered(seen for one in bench.measured if (seen := _through_cache(one, memory)))


def _bytes(claim: Claim) -> int:
    return claim.bytes or 0


def _through_cache(one: Published, memory: Claim | None) -> Seen | None:
    options = {re.sub(r"[-_ ]", "", name.lower()): value.strip().lower() for name, value in one.parameters.items()}
    how = _buffered(one, options)
    if how is None or one.flushed or one.unit == "flushes":
        return None
    amount = size(options.get("size", "") or options.get("filetotalsize", ""))
    evidence = [one.where.says(f"{how}; {rate(one)}")]
    text = f"{called(one)}: {rate(one)} with {how}"
    if amount and memory and memory.bytes:
        if amount > EXCEEDS * memory.bytes:
            return None
        text += f", on {amount / 2**30:,.3g} GiB beside {memory.bytes / 2**30:,.3g} GiB of memory"
        evidence.append(memory.where.says(memory.text))
    return Seen(one, text, tuple(evidence), one.rate or one.bytes_per_s or 0.0)


def _buffered(one: Published, options: Mapping[str, str]) -> str | None:
    """How the file cache was let in; None where it was not, where a flush ends the time, and where nothing says."""
    if one.tool == "fio":
        if not {"rw", "readwrite", "direct"} & set(options) or options.get("direct", "0") in YES:
            return None
        waits = ("endfsync", "fsynconclose", "fsync", "fdatasync", "sync")
        if one.unit != "reads" and any(options.get(name, "0") not in NO for name in waits):
            return None
        return "direct=0" if "direct" in options else "no direct=1"
    if one.tool == "sysbench" and one.unit in ("reads", "writes"):
        flags = options.get("fileextraflags", options.get("extrafileopenflags"))
        return None if flags is None or "direct" in flags or flags == "16384" else "buffered files"
    if one.tool == "dd":
        command = " ".join(options.values())
        through = not any(word in command for word in ("direct", "fsync", "fdatasync", "dsync", "sync"))
        return "neither oflag=direct nor conv=fsync" if options and through else None
    if one.tool == "hdparm":
        return "reads of the file cache (hdparm -T)" if "cached" in one.name.lower() else None
    return None
