"""Tests of drives that the file cache answers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from acidtest.audit.bench import Bench, Published, Statement
from acidtest.audit.result_text import Seen, called, gathered, rate
from acidtest.finding import Found, rule
from acidtest.settings import size

EXCEEDS = 2.0  # how much larger than memory a file must be for its cache to matter little
AT_END = "one flush at the end"
VARIABLE = re.compile(r"(?:^|\s)[\"']?(?:\$[{(]?\w|%\w+%)")
ABOVE = 20  # lines, within which a command stands over what it printed
YES = frozenset(("1", "true", "yes", "on"))
NO = frozenset(("", "0", "false", "no", "off", "none"))


@rule(
    "drive-test-through-cache",
    severity="doubtful",
    says="The test of the drive goes through the operating system's file cache: memory answers, and writes come later.",
    remedy="fio --direct=1, sysbench --file-extra-flags=direct, dd with oflag=direct or conv=fsync; or a file of "
    "several times the memory.",
    disproved_by="counters of the drive (iostat) that show as many operations as the tool did",
    source="fio's manual: direct, invalidate and end_fsync; sysbench's README, fileio; dd(1): conv=fsync, oflag=direct",
)
def drive_test_through_cache(bench: Bench) -> Iterator[Found]:
    memory = max(bench.said("memory"), key=lambda one: one.value or 0, default=None)
    if not {"cache", "direct"} & bench.factors:
        asked = _asked(bench)
        # Of jobs whose results are not in the kit, what they ask for.
        jobs = [plan for plan in bench.plans if plan.tool == "fio"] if not bench.measured else []
        seen = [found for one in (*bench.measured, *jobs) if (found := _through_cache(one, memory, asked))]
        told = gathered(found for found in seen if AT_END not in found.text)
        yield from (replace(one, noted=not bench.measured) for one in told)
        # What is flushed at the end is on the drive by then, and was taken at the speed of memory.
        yield from (replace(one, noted=True) for one in gathered(found for found in seen if AT_END in found.text))


Asked = Mapping[str, Sequence[Published]]  # by tool


def _asked(bench: Bench) -> Asked:
    """What scripts, job files and texts of the kit ask fio and dd for."""
    by_tool: dict[str, list[Published]] = defaultdict(list)
    for one in bench.published:
        if one.planned and one.tool in ("fio", "dd"):
            by_tool[one.tool].append(one)
    return by_tool


def _options(one: Published) -> dict[str, str]:
    return {re.sub(r"[-_ ]", "", name.lower()): value.strip().lower() for name, value in one.parameters.items()}


def _told(one: Published, options: Mapping[str, str], asked: Sequence[Published]) -> Mapping[str, str] | None:
    """The options of a result with those that it was asked for with, which what the tool prints does not tell: of the
    job of its name, of those in its own file, or of all if none says otherwise. None where nobody knows them."""
    if "direct" in options:
        return options
    name = one.name.rpartition(" ")[0].lower()
    named = [of for of in asked if name and name in (of.name.lower(), of.parameters.get("name", "").lower())]
    here = [of for of in asked if of.where.file == one.where.file]
    line = one.where.line or 0
    above = [of for of in here if 0 < line - (of.where.line or 0) <= ABOVE]
    last = sorted(above, key=lambda of: of.where.line or 0)[-1:]
    for of_kind in (last, named, here, list(asked)):
        held = [_options(of) for of in of_kind]
        # What a variable stands for may be this option.
        if any(of.get("direct", "0") not in NO for of in held) or any(VARIABLE.search(of.written) for of in of_kind):
            return None
        if held:
            return {**held[0], **options}
    return None


def _through_cache(one: Published, memory: Statement | None, asked: Asked) -> Seen | None:
    options: Mapping[str, str] | None = _options(one)
    if one.tool == "fio":
        options = _told(one, options or {}, asked.get("fio", ()))
    how = _buffered(one, options) if options is not None else None
    if how is None or options is None or one.flushed or one.unit == "flushes":
        return None
    amount = size(options.get("size", "") or options.get("filetotalsize", ""))
    what = f"{one.tool} is asked for" if one.planned else rate(one)
    evidence = [one.where.says(f"{how}; {what}")]
    text = f"{called(one)}: {what} with {how}"
    if amount and memory and memory.value:
        if amount > EXCEEDS * memory.value:
            return None
        text += f", on {amount / 2**30:,.3g} GiB beside {memory.value / 2**30:,.3g} GiB of memory"
        evidence.append(memory.where.says(memory.text))
    return Seen(one, text, tuple(evidence), one.rate or one.bytes_per_s or 0.0)


def _buffered(one: Published, options: Mapping[str, str]) -> str | None:
    """How the file cache was let in; None where it was not, where a flush ends the time, and where nothing says."""
    if one.tool == "fio":
        if not {"rw", "readwrite", "direct"} & set(options) or options.get("direct", "0") in YES:
            return None
        how = "direct=0" if "direct" in options else "no direct=1"
        if one.unit != "reads" and any(options.get(name, "0") not in NO for name in ("fsync", "fdatasync", "sync")):
            return None
        if one.unit != "reads" and any(options.get(name, "0") not in NO for name in ("endfsync", "fsynconclose")):
            return f"{how} and {AT_END}"
        return how
    if one.tool == "sysbench" and one.unit in ("reads", "writes"):
        flags = options.get("fileextraflags", options.get("extrafileopenflags"))
        return None if flags is None or "direct" in flags or flags == "16384" else "buffered files"
    if one.tool == "dd":
        command = " ".join(options.values())
        known = {"if", "of"} & set(options)
        through = not any(word in command for word in ("direct", "fsync", "fdatasync", "dsync", "sync"))
        return "neither oflag=direct nor conv=fsync" if known and through else None
    return None
