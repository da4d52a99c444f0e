"""Which results are repetitions of one run."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Set
from dataclasses import replace
from statistics import fmean

from acidtest.audit import result_sides
from acidtest.audit.bench import Bench, Published, once

DRIVE_TOOLS = frozenset(("fio", "pg_test_fsync", "dd", "hdparm", "crystaldiskmark", "ioping"))
CONFIGURED = re.compile(r"conf|cnf|\bini\b|server|setup", re.IGNORECASE)  # what is numbered as sides are
RUN = re.compile(
    r"(?:run|round|iteration|trial|attempt|pass|repetition|test) {0,2}(?:no\.?|#)? {0,2}\d{1,5}\b|#\d{1,5}\b"
)
REPEATED = 3  # times: fewer show nothing of how far apart they lie
SHORT_S = 60.0  # of a run of a database: caches fill, and nothing that is put off has been done
PROSE = re.compile(r"\.(?:md|markdown|rst|adoc|html?)$", re.IGNORECASE)
NUMBERS = re.compile(r"(\d{1,9})")
# When a run began, as its file's name says: each repetition has its own.
STAMP = re.compile(
    r"(?<!\d)20\d{2}[-_.]?[01]\d[-_.]?[0-3]\d(?:[-_.T ]{1,2}[0-2]\d[-_.:h]?[0-5]\d(?:[-_.:m]?[0-5]\d)?)?(?!\d)"
)
VERSION = re.compile(r"(?:^|[^a-z])(?:v|version|pg|fb|mysql|mariadb|postgresql|firebird)[-_]?$", re.IGNORECASE)


@once
def repetitions(
    bench: Bench, drives: Collection[str] = (), *, timed: bool = False
) -> dict[tuple[object, ...], list[Published]]:
    """Rates that are of one kind as far as can be told, in order: of one file, or of files whose names differ in one
    number only, which counts from 0 or 1 on and is none of a version or of a side; with the same tool, workload,
    clients and rate. Of tools for drives only those of ``drives``; with ``timed`` also results that are
    times alone, and what a text quotes under one heading: those may be repetitions, or what is compared."""
    results = {one.where.file for one in bench.published}
    others = {*bench.unread, *(name for name, _ in bench.read)} - results
    others |= {configuration.where.file for side in bench.sides for configuration in side.configurations}
    names = (name.rpartition("/")[2] for name in others)
    sides = {number for name in names if CONFIGURED.search(name) for number in NUMBERS.findall(name)}
    by_kind: dict[tuple[object, ...], list[Published]] = defaultdict(list)
    for of_tool in bench.measured:
        one = of_tool if of_tool.rate or not of_tool.series else replace(of_tool, rate=fmean(of_tool.series))
        of_drive = one.unit in ("writes", "flushes") or one.tool in DRIVE_TOOLS
        is_one = one.rate or (timed and (one.took_s or one.latency_ms))
        if is_one and (not of_drive or one.tool in drives):
            script = one.script or _own_name(one)
            if not one.rate and not one.tool:
                script = NUMBERS.sub("#", script)  # "[3] insert" is the third of them
            kind_of = "rate" if one.rate else "took" if one.took_s else "latency"
            heading = " ".join(RUN.sub(" ", one.under.lower()).split())  # without the numbers of runs
            what = (kind_of, one.tool, one.engine, one.unit, script, one.scale, one.warehouses, heading)
            by_kind[(*what, one.terminals, one.asked_rate, one.query_mode, one.isolation, one.reconnects)].append(one)
    groups: dict[tuple[object, ...], list[Published]] = defaultdict(list)
    for kind, alike in by_kind.items():
        held = Counter(one.where.file for one in alike)
        # A file of several of one kind is a set of repetitions, and one with another number another set.
        counted = _counted((file for file, many in held.items() if many == 1), sides)
        placed = [(*counted.get(one.where.file, (one.where.file, 0)), one) for one in alike]
        for stem, _, one in sorted(placed, key=lambda of: (*of[:2], of[2].where.line or 0)):
            # A text quotes what it compares: outputs in one without headings are of no kind that can be told.
            # An excerpt that names neither workload nor clients may be of any run.
            told = (one.under and (one.script or one.terminals)) if timed else RUN.search(one.under.lower())
            quoted = PROSE.search(one.where.file) is not None and not told
            groups[*kind, stem, one.where.line if quoted else None].append(one)
    return groups


def uneven(bench: Bench) -> list[tuple[str, list[Published]]]:
    """The results of each side, or of each row whose runs are counted, of one piece of work that was repeated on one
    of them and not on another; the least often measured first."""
    named = [(side, one) for side, of in result_sides.by_side(bench, bench.measured).items() for one in of]
    named += [(other.name, other) for other in bench.others if other.told and other.repetition is not None]
    work: dict[tuple[object, ...], dict[str, list[Published]]] = defaultdict(lambda: defaultdict(list))
    for name, one in named:
        kind = one.tool, one.unit, one.script, one.scale, one.terminals, one.asked_rate, one.measured_s
        work[kind][name].append(one)
    together = {one.where: kind for kind, of in repetitions(bench, timed=True).items() for one in of}
    for of_sides in work.values():
        ranked = sorted(of_sides.items(), key=lambda of: len(of[1]))
        least, most = ranked[0][1], ranked[-1][1]
        one_kind = len({together.get(one.where) for one in most}) == 1 and most[0].where in together
        numbered = len({one.repetition for one in most if one.told}) == len(most)  # else they differ in something more
        if len(least) < REPEATED <= len(most) and (one_kind or numbered):
            return ranked
    return []


def _own_name(one: Published) -> str:
    """Its name, if that is not its file's."""
    return "" if one.name.lower() == one.where.file.rpartition("/")[2].lower() else one.name


def _counted(names: Iterable[str], of_sides: Set[str]) -> dict[str, tuple[str, int]]:
    """Of each file that is one of a counted set: what the set has in common, and its number. ``of_sides`` are numbers
    in the names of configurations: a folder that is counted as those are is a side's."""
    sets: dict[str, dict[int, str]] = defaultdict(dict)
    files = sorted(names)
    bare = {file: STAMP.sub("@", file) for file in files}
    for file in files:
        parts = NUMBERS.split(bare[file])
        for at in range(1, len(parts), 2):
            if not VERSION.search(parts[at - 1]):
                sets["".join((*parts[:at], "#", *parts[at + 1 :]))].setdefault(int(parts[at]), file)
    by_file: dict[str, tuple[str, int]] = {}
    for stem, of in sorted(sets.items(), key=lambda one: len(one[1])):
        digits = [NUMBERS.findall(bare[file][len(stem.partition("#")[0]) :])[0] for file in of.values()]
        if "/" in stem.partition("#")[2] and sum(digit in of_sides for digit in digits) > 1:
            continue
        if len(of) > 1 and min(of) < 2 and max(of) - min(of) == len(of) - 1:
            by_file |= {file: (stem, number) for number, file in of.items()}
    return by_file
