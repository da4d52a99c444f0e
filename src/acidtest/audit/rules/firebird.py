"""Firebird's caches, page sizes, server modes and read consistency, and the file cache of Windows below it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from acidtest import settings
from acidtest.audit.bench import Bench, Database, Side, Statement, Where
from acidtest.audit.rules.builds import INVESTIGATION, all_named, listed, named
from acidtest.audit.rules.settings import files, held
from acidtest.families import PRODUCTS
from acidtest.finding import Evidence, Found, rule
from acidtest.words import counted

BUFFERS_MIN = 50  # the smallest that Firebird takes
BUFFERS_CLASSIC_MAX = 2048  # a connection; above it the copies of pages cost more to keep alike than they save
BUFFERS_SUPER_MIN = 8192  # the least that the investigation takes for reasonable
DRIVE_NAMES = ("drive", "disk", "diskio")
READ_CONSISTENCY = (4, 0)  # the first version that has it


@dataclass(frozen=True)
class Known:
    """One database of Firebird, by all that is known of it: its header page, statistics, or both."""

    side: Side
    name: str
    sources: tuple[Database, ...]

    @property
    def buffers(self) -> int:
        return next((source.page_buffers for source in self.sources if source.page_buffers), 0)

    @property
    def page_bytes(self) -> int:
        return next((source.page_bytes for source in self.sources if source.page_bytes), 0)

    def says(self, text: str) -> tuple[Evidence, ...]:
        """Where the number of buffers stands."""
        return tuple(source.says("page_buffers", text) for source in self.sources if source.page_buffers)


def _factors(bench: Bench) -> set[str]:
    return {factor.lower() for factor in bench.factors}


def databases(bench: Bench) -> list[Known]:
    """All of Firebird's, each once."""
    known = []
    for side in bench.sides:
        names: dict[str, list[Database]] = defaultdict(list)
        for database in side.databases:
            if database.engine == "firebird":
                names[database.name.lower().removesuffix(".header")].append(database)
        known += [Known(side, name, tuple(of)) for name, of in names.items()]
    return known


def _by_buffers(bench: Bench, wanted: Callable[[Known], bool]) -> Iterator[tuple[int, list[Known]]]:
    """Those whose header asks for a number of buffers, and that are wanted, by that number."""
    known = sorted(
        (database for database in databases(bench) if database.buffers and wanted(database)),
        key=lambda one: one.buffers,
    )
    return ((buffers, list(of)) for buffers, of in groupby(known, key=lambda one: one.buffers))


def _listed(of: Iterable[Known]) -> str:
    return listed(one.name for one in of)


def _says(of: Iterable[Known]) -> tuple[Evidence, ...]:
    return tuple(evidence for one in of for evidence in one.says(counted(one.buffers, "buffer")))


@rule(
    "page-size-differs",
    severity="invalid",
    says="The databases that are compared have different page sizes: other index depths, other caches.",
    remedy="Create every database with the same page size, or make it a factor.",
    disproved_by="headers of the measured databases with one page size",
    source=INVESTIGATION,
)
def page_size_differs(bench: Bench) -> Iterator[Found]:
    if "page_size" in bench.factors:
        return
    known = [database for side in bench.sides for database in side.databases if database.page_bytes]
    for engine in dict.fromkeys(side.engine for side in known):  # pages of different engines are different things
        of = [side for side in known if side.engine == engine]
        sizes = sorted({one.page_bytes for one in of if one.page_bytes})
        if len(sizes) > 1:
            listed = " and ".join(f"{size:,}" for size in sizes)
            text = f"Page sizes of {listed} bytes are compared on {PRODUCTS[engine].title}."
            yield Found(text, tuple(one.says("page_bytes", f"{one.page_bytes:,} bytes a page") for one in of))


@rule(
    "buffers-in-header",
    severity="note",
    says="The database's header sets the size of the page cache, and overrides the configuration.",
    remedy="Run gfix -buffers 0, or state both sizes.",
    disproved_by="MON$PAGE_BUFFERS of the measured database, as the configuration has it",
    source=f"{INVESTIGATION}; Firebird's manual of gfix",
)
def buffers_in_header(bench: Bench) -> Iterator[Found]:
    for buffers, of in _by_buffers(bench, lambda one: bool(files(one.side)) or not one.side.configurations):
        asked = {one.side.name: setting for one in of for setting in one.side.settings("DefaultDbCachePages")}.values()
        over = "".join(f"; {one.value} in {one.where.file} does not hold" for one in asked)
        text = f"{_listed(of)}: {counted(buffers, 'buffer')} in the header{over}."
        yield Found(text, (*_says(of), *(one.says() for one in asked)))


@rule(
    "buffers-smallest",
    severity="invalid",
    says="The engine was given the smallest page cache there is: it carries pages between it and the file cache.",
    remedy="At least 256 buffers a connection for Classic and SuperClassic, 8,192 for SuperServer; to read from the "
    "drive, switch off the file cache, not the engine's own.",
    disproved_by="MON$PAGE_BUFFERS of the measured database, larger than that",
    source=INVESTIGATION,
)
def buffers_smallest(bench: Bench) -> Iterator[Found]:
    for buffers, of in _by_buffers(bench, lambda one: one.buffers <= BUFFERS_MIN):
        yield Found(f"{_listed(of)}: a page cache of {counted(buffers, 'page')}.", _says(of))
    for side in bench.sides:
        # A database may be given another one than the server.
        apart = any(
            configuration.kind == "databases.conf" and configuration.whole is False
            for configuration in side.configurations
        )
        for asked in side.settings("DefaultDbCachePages") if side.engine == "firebird" and not apart else ():
            if 0 < (settings.size(asked.value) or 0) <= BUFFERS_MIN:
                yield Found(f"{named(side, bench.sides)} has a page cache of {asked.value} (pages).", (asked.says(),))


@rule(
    "buffers-classic",
    severity="doubtful",
    says="Each connection of Classic and SuperClassic has a cache of its own, and this one is larger than it can use.",
    remedy="At most 2,048 buffers a connection, or SuperServer with one large cache.",
    disproved_by="a query or a log of the measured server that shows one cache for all connections",
    source=INVESTIGATION,
)
def buffers_classic(bench: Bench) -> Iterator[Found]:
    def is_too_large(one: Known) -> bool:
        return one.buffers > BUFFERS_CLASSIC_MAX and server_mode(one.side) in ("Classic", "SuperClassic")

    for buffers, of in _by_buffers(bench, is_too_large):
        sizes = dict.fromkeys(f"{buffers * one.page_bytes / 1e6:,.0f} MB" for one in of)
        each = f"({' or '.join(sizes)}) for each connection of Classic and SuperClassic"
        text = f"{_listed(of)}: {counted(buffers, 'buffer')} {each}."
        yield Found(text, _says(of))


@rule(
    "buffers-super",
    severity="note",
    says="SuperServer has one cache for all connections, and this one is small for a benchmark.",
    remedy="Give SuperServer at least 8,192 buffers; where the machine serves nothing else, most of its memory.",
    disproved_by="MON$PAGE_BUFFERS of the measured database, larger than that",
    source=INVESTIGATION,
)
def buffers_super(bench: Bench) -> Iterator[Found]:
    def is_small(one: Known) -> bool:
        return BUFFERS_MIN < one.buffers < BUFFERS_SUPER_MIN and server_mode(one.side) == "Super"

    for buffers, of in _by_buffers(bench, is_small):
        yield Found(f"{_listed(of)}: {counted(buffers, 'buffer')} under SuperServer.", _says(of))


def _tells_mode(side: Side) -> list[Where]:
    return [setting.where for setting in side.settings("ServerMode")] or [binary.where for binary in side.binaries[:1]]


def server_mode(side: Side) -> str:
    """ "Super", "SuperClassic", "Classic", or "" where it is not known. Of 2.5 the programs say it, of later ones the
    setting, whose default is Super."""
    if side.version.startswith(("2.", "1.")):
        names = {binary.where.file.rpartition("/")[2].lower().removesuffix(".exe") for binary in side.binaries}
        modes = {"fbserver": "Super", "fb_inet_server": "Classic", "fb_smp_server": "SuperClassic"}
        chosen = {modes[name] for name in names if name in modes}
        return chosen.pop() if len(chosen) == 1 else ""
    asked = next(side.settings("ServerMode"), None)
    if asked is None:
        return "Super" if side.tells_all and side.version else ""
    words = {"super": "Super", "threadeddedicated": "Super", "superclassic": "SuperClassic",
             "threadedshared": "SuperClassic", "classic": "Classic", "multiprocess": "Classic"}  # fmt: skip
    return words.get(asked.value.lower(), "")


@rule(
    "server-mode-differs",
    severity="doubtful",
    says="Servers of different modes are compared as if equal: one cache for all connections, or one for each.",
    remedy="Compare the same mode, or make it a factor.",
    disproved_by="a list of the measured servers' processes and threads that shows one mode",
    source="Firebird's firebird.conf, ServerMode: one cache for all connections, or one for each",
)
def server_mode_differs(bench: Bench) -> Iterator[Found]:
    if _factors(bench) & {"server_mode", "servermode"}:
        return
    modes = [(side, mode) for side in bench.sides if side.engine == "firebird" and (mode := server_mode(side))]
    if len({mode for _, mode in modes}) > 1:
        text = ", ".join(
            f"{all_named((side for side, its in modes if its == mode), bench.sides)} is {mode}"
            for mode in dict.fromkeys(mode for _, mode in modes)
        )
        evidence = [where.says(mode) for side, mode in modes for where in _tells_mode(side)]
        yield Found(f"{text}.", tuple(evidence))


@rule(
    "read-consistency-differs",
    severity="doubtful",
    says="Read committed is another isolation level on one side: from 4.0 on a statement reads one snapshot, and is "
    "repeated after an update conflict.",
    remedy="Measure 4.0 and later with ReadConsistency on and off, and state which of them is compared.",
    disproved_by="transactions of another isolation level than read committed",
    source=f"{INVESTIGATION}; Release Notes of Firebird 4.0, Read Consistency",
)
def read_consistency_differs(bench: Bench) -> Iterator[Found]:
    if _factors(bench) & {"readconsistency", "read_consistency"}:
        return
    sides = [side for side in bench.sides if side.engine == "firebird" and side.version and side.configurations]
    sides = [side for side in sides if not any(s.value == "snapshot" for s in side.settings("isolation"))]
    have = []
    for side in sides:
        value, evidence = held(side, "readconsistency")
        if value is not None or settings.numbers(side.version) < READ_CONSISTENCY:
            have.append((side, value is not None and settings.alike(value) == "on", evidence))
    if len({on for _, on, _ in have}) > 1:
        names = [all_named((side for side, on, _ in have if on is wanted), bench.sides) for wanted in (True, False)]
        text = f"ReadConsistency is on in {names[0]}, and off or not there yet in {names[1]}."
        yield Found(text, tuple(evidence for _, on, evidence in have if on))


@rule(
    "restarts-in-log",
    severity="doubtful",
    says="The engine gave statements up after ten restarts: what was measured is work that was undone.",
    remedy="Find the rows in conflict, and why the statement is not the same when it is repeated.",
    disproved_by="a date of these entries outside of the measured time",
    source=INVESTIGATION,
)
def restarts_in_log(bench: Bench) -> Iterator[Found]:
    for side in bench.sides:
        for entry in side.log:
            if entry.kind == "update-conflict":
                text = f"{named(side, bench.sides)} gave up after all restarts, {counted(entry.count, 'time')}."
                yield Found(text, (entry.where.says(entry.text),))


def through_file_cache(side: Side, buffers: int) -> tuple[bool, Evidence] | None:
    """Whether pages pass through the file cache with so many buffers (0: the configuration's); None where not known."""
    if side.engine != "firebird" or not side.configurations:
        return None
    value, evidence = held(side, "usefilesystemcache")
    threshold = next(side.settings("FileSystemCacheThreshold"), None)
    if value is not None and (threshold is None or next(side.settings("UseFileSystemCache"), None)):
        return settings.alike(value) == "on", evidence
    value, evidence = held(side, "filesystemcachethreshold")
    if threshold is not None:
        value, evidence = threshold.value, threshold.says()
    pages = settings.size(value) if value is not None else None
    if pages is None:
        return None
    own = next(side.settings("DefaultDbCachePages"), None)
    return (buffers or (settings.size(own.value) if own else 0) or BUFFERS_CLASSIC_MAX) < pages, evidence


def means_drive(bench: Bench) -> tuple[list[Known], list[Statement]]:
    """The databases that are to show the drive, and where that is declared. All of them, where it is only declared."""
    claims = bench.said("drive test")
    all_ = databases(bench)
    meant = [one for one in all_ if one.name.startswith(DRIVE_NAMES) or 0 < one.buffers <= BUFFERS_MIN]
    return meant or (all_ if claims else []), claims


@rule(
    "drive-test-in-file-cache",
    severity="invalid",
    says="What is called a test of the drive reads and writes the operating system's file cache: few buffers make "
    "the engine copy pages, not the drive work.",
    remedy="UseFileSystemCache = false, or before 4.0 FileSystemCacheThreshold = 1; a database larger than memory; or "
    "a tool made for drives, such as fio.",
    disproved_by="counters of the drive that grew by as many pages as the test read and wrote",
    source=INVESTIGATION,
)
def drive_test_in_file_cache(bench: Bench) -> Iterator[Found]:
    meant, claims = means_drive(bench)
    sides = {one.side.name: (one.side, one.buffers) for one in meant}
    if claims:
        sides |= {side.name: (side, 0) for side in bench.sides if side.name not in sides}
    evidence: list[Evidence] = []
    through: list[Side] = []
    for side, buffers in sides.values():
        if (cached := through_file_cache(side, buffers)) and cached[0]:
            through.append(side)
            evidence.append(cached[1])
    if through:
        evidence += [e for one in meant if one.buffers for e in one.says(counted(one.buffers, "buffer"))]
        evidence += [claim.where.says(claim.text) for claim in claims[:3]]
        yield Found(
            f"The file cache is on in {all_named(through, bench.sides)}, and the drive is meant to be measured.",
            tuple(evidence),
        )


REPAIRED = ((2, 1, 5), (2, 5, 2))  # versions from which on files are not opened with FILE_FLAG_RANDOM_ACCESS


def _asks_random(side: Side) -> bool:
    version = settings.numbers(side.version)[:3]
    repaired = any(version[:2] == first[:2] and version >= first for first in REPAIRED)
    return bool(version) and not repaired and version < REPAIRED[-1]


@rule(
    "windows-cache-unlimited",
    severity="doubtful",
    says="This version opens its files on Windows for random access, and nothing limits the file cache: it keeps every "
    "page and may drive all else out of memory.",
    remedy="2.1.5, 2.5.2 or later; or FileSystemCacheSize, a percentage of memory, from 2.5 on (2.5.0 and 2.5.1 set it "
    "to 30 themselves). To study it, place.access makes the same hint a factor.",
    disproved_by="the size of Windows' file cache while it was measured",
    source="D. Yemanov: Firebird vs Windows: file-system caching issue (2012); CORE-3791; firebird.conf of 2.5.1",
)
def windows_cache_unlimited(bench: Bench) -> Iterator[Found]:
    for side in bench.sides:
        on_windows = [binary for binary in side.binaries if binary.system == "Windows"]
        if side.engine != "firebird" or not on_windows or not _asks_random(side):
            continue
        value, limit = held(side, "filesystemcachesize")
        if value is None or not settings.size(value):
            evidence = [window.where.says(f"version {window.version or side.version}") for window in on_windows]
            text = (
                f"{named(side, bench.sides)} asks Windows for random access to its files, and sets the cache no limit."
            )
            yield Found(text, (*evidence, *([limit] if side.configurations else [])))
