"""Looks into a database that acidtest did not make: a file, or a server by its URL. Nothing is written to either.

A Firebird database is read page by page from its file: whoever attaches to it takes transaction numbers, which is
writing to its header page. A SQLite database is opened by SQLite in a way that cannot write, see
``engine/sqlite/inspection.py``. A server is asked in a session that may only read.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from acidtest import __version__
from acidtest.conductor.engines import server
from acidtest.conductor.foreign import asking, started
from acidtest.conductor.rig import SILENCE_S, Standing, answered, converse
from acidtest.engine import catalogue, foreign
from acidtest.engine.base import Ask
from acidtest.engine.firebird import inspection as firebird
from acidtest.engine.inspection import InspectionResult, Scan
from acidtest.engine.sqlite import inspection as sqlite
from acidtest.errors import BadInput, CellFailed, message_of
from acidtest.experiment import server_of
from acidtest.experiment.servers import INSPECTED
from acidtest.families import FIREBIRD, SERVERS, SQLITE
from acidtest.formats import firebird_header
from acidtest.journal.inspected import Inspected, Reading, ReadPass
from acidtest.journal.protocol import AskPhase, Pages, PagesJob, Progress, Target
from acidtest.place import Ledger, filecache
from acidtest.place.holders import is_held
from acidtest.words import counted

PIECE_BYTES = 1 << 20
HEAD_BYTES = 1024
SLOW_BYTES_PER_S = 1e6  # no reading of a whole database is slower
SCHEMES = ", ".join(f"{scheme}://" for scheme in SERVERS)
# What is being done, the part that is done of it, and the seconds that are left; None where that is not known.
Watch = Callable[[str, float | None, float | None], None]


@dataclass(frozen=True)
class Options:
    read: bool | None  # whether it is read whole to time that; None: unless another program has it open
    limit_s: float  # of each of the two readings
    pages_s: float | None = None  # of a server that counts its pages; None: as long as that takes


def inspect(where: str, options: Options, watch: Watch) -> Inspected:
    """Look into ``where``. Raises BadInput and CellFailed, without any password in their words."""
    with closing(Ledger()) as ledger:
        if "://" in where:
            return _server(where, options, watch, ledger)
        return _file(Path(where), options, watch, ledger)


# ------------------------------------------------------------------------------------------------ files


def _file(path: Path, options: Options, watch: Watch, ledger: Ledger) -> Inspected:
    head = _head(path)
    beside = [path, *(path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))]
    held, before = is_held(beside), path.stat()
    notes = []
    if sqlite.is_database(head):
        family, how = SQLITE.name, sqlite.opening(path, is_held=held)
        look = partial(_look_into_sqlite, path, how, ledger)
    elif _is_firebird(head):
        family, look = FIREBIRD.name, partial(_look_into_firebird, path, watch, ledger)
    else:
        raise BadInput(
            f"{path}: is neither a Firebird nor a SQLite database, by its first bytes",
            f"name a database's file, or a server by its URL ({SCHEMES})",
        )
    reading, said = None, "it was not asked for"
    if options.read or (options.read is None and not held):
        reading, said = _timed(path, options.limit_s, watch), ""
    elif options.read is None:
        said = "another program has it open, and to take it out of the file cache would slow that down; --read does it"
    began = time.monotonic()
    result = look()
    after = path.stat()
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
        notes.append("It was written to while it was looked into: figures of different parts are of different moments.")
    elif held:
        notes.append("Another program has it open. What that holds in its own cache is not in these figures.")
    took = time.monotonic() - began
    size = filecache.residency([path]).file_bytes
    if result.statistics is not None:
        result.statistics.bytes, result.statistics.took_s = size, took
    return _inspected(str(path), family, result, notes).model_copy(
        update={
            "is_held": held,
            "facts": {"file_bytes": size, **result.facts},
            "reading": reading,
            "reading_said": said,
        }
    )


def _head(path: Path) -> bytes:
    """The file's first bytes. Raises BadInput where there is none that can be read."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise BadInput(f"{path}: is a directory", "name the database's file in it")
        if not (stat.S_ISREG(mode) or stat.S_ISBLK(mode)):
            raise BadInput(f"{path}: is no file", "name a database's file")
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}", "name a database's file that may be read") from None


def _is_firebird(head: bytes) -> bool:
    try:
        firebird_header.parse(head)
    except firebird_header.NotAHeader:
        return False
    return True


def _look_into_firebird(path: Path, watch: Watch, ledger: Ledger) -> InspectionResult:
    try:
        with closing(converse(PagesJob(path=str(path.absolute())), ledger, {})) as events:
            for event in events:
                if isinstance(event, Progress) and event.fraction:
                    left_s = event.elapsed_s * (1 - event.fraction) / event.fraction
                    watch("counting its pages", event.fraction, left_s)
                elif isinstance(event, Pages):
                    return firebird.inspect(event)
    except CellFailed as error:
        raise CellFailed(
            f"{path}: {error.message}", "acidtest help docs/INSPECT.md says which databases can be read"
        ) from None
    raise CellFailed(f"{path}: its pages were not told")


def _look_into_sqlite(path: Path, how: sqlite.Opening, ledger: Ledger) -> InspectionResult:
    with _asking(sqlite.target(path, how), ledger, {}, path.stat().st_size) as ask:
        try:
            return sqlite.inspect(ask, how)
        except CellFailed as error:
            raise CellFailed(f"{path}: {error.message.removeprefix('opening the database: ')}") from None


def _timed(path: Path, limit_s: float, watch: Watch) -> Reading:
    """The file read with its pages taken out of the file cache before, then again. Raises CellFailed."""
    try:
        left = filecache.drop([path])
        cold = _pass(path, left, None, limit_s, partial(watch, "reading it cold"))
        warm = _pass(path, filecache.residency([path]), cold.bytes, limit_s, partial(watch, "reading it warm"))
    except OSError as error:
        raise CellFailed(f"{path}: could not be read: {message_of(error)}") from None
    size = left.file_bytes
    return Reading(
        how=f"the file, from its beginning on, in pieces of {PIECE_BYTES >> 20} MiB",
        names=("cold", "warm"),
        all_bytes=size,
        passes=[cold, warm],
        is_cut=cold.bytes < size,
    )


def _pass(
    path: Path,
    cached: filecache.Residency,
    most: int | None,
    limit_s: float,
    watch: Callable[[float | None, float | None], None],
) -> ReadPass:
    """Up to ``most`` bytes, or to the end, or to the limit of time."""
    all_bytes = cached.file_bytes if most is None else most
    buffer, done, storage = bytearray(PIECE_BYTES), 0, _storage_bytes()
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        began = shown = time.monotonic()
        while done < all_bytes and (count := os.readv(descriptor, [buffer])):
            done += count
            now = time.monotonic()
            if now - began > limit_s:
                break
            if now - shown > 0.5:
                shown = now
                by_rate = (all_bytes - done) * (now - began) / done
                watch(done / all_bytes, min(by_rate, limit_s - (now - began)))
        seconds = time.monotonic() - began
    finally:
        os.close(descriptor)
    after = _storage_bytes()
    return ReadPass(
        bytes=done,
        seconds=seconds,
        cached_bytes_before=cached.resident_bytes,
        storage_bytes=None if storage is None or after is None else after - storage,
    )


def _storage_bytes() -> int | None:
    """What this process had storage read so far; see proc_pid_io(5)."""
    try:
        lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))
    except (OSError, StopIteration):
        return None


# ------------------------------------------------------------------------------------------------ servers


def _server(url: str, options: Options, watch: Watch, ledger: Ledger) -> Inspected:
    shown = redacted(url)
    spec = server_of(url, shown)
    if spec.family not in catalogue.SERVER_INSPECTIONS:
        raise BadInput(f"{shown}: servers of this family cannot be inspected yet", "name the database's file")
    engine = server(INSPECTED, spec)
    engine.ready()
    instance = engine.adopt(Path(), {}, engine.durability_levels()[-1])
    assert isinstance(instance, foreign.ForeignInstance)
    inspection = catalogue.SERVER_INSPECTIONS[spec.family]
    bare, environment = instance.bare_target(inspection.setup), instance.environment()
    with started(instance, ledger), _asking(bare, ledger, environment) as ask:
        try:
            began = time.monotonic()
            watch("asking the server", None, None)
            result = inspection.inspect(ask)
            if inspection.count_pages is not None:
                watch("having the server count its pages", None, None)
                result = inspection.count_pages(instance, result, options.pages_s)
            took = time.monotonic() - began
            reading, said = None, "it was not asked for"
            if options.read is not False and result.scans:
                reading, said = _scanned(ask, result.scans, options.limit_s, watch), ""
            elif options.read is not False:
                said = result.scans_said
        except CellFailed as error:
            words = error.message.removeprefix("opening the database: ")
            remedy = error.remedy or "check the URL; the password may stand in ACIDTEST_PASSWORD_INSPECT or _MINE"
            raise CellFailed(f"{shown}: {words}", remedy) from None
    if result.statistics is not None:
        result.statistics.took_s = took
    return _inspected(shown, spec.family, result, []).model_copy(update={"reading": reading, "reading_said": said})


def redacted(url: str) -> str:
    """The URL without its password and parameters, also where it is no URL as it should be.

    >>> redacted("postgresql://me:se/cr@et@host/db?sslmode=require")
    'postgresql://me@host/db'
    """
    scheme, _, rest = url.partition("://")
    login, at, place = rest.rpartition("@")
    user = login.partition(":")[0].partition("/")[0]
    place = place.partition("?")[0].partition("#")[0]
    return f"{scheme}://{user}{at}{place}"


def _scanned(ask: Ask, scans: Sequence[Scan], limit_s: float, watch: Watch) -> Reading:
    """Every table counted once and once more, as far as the time reaches: the first decides how far."""
    passes: list[ReadPass] = []
    chosen = list(scans)
    for name in ("first", "second"):
        began, done, reached = time.monotonic(), 0, []
        all_bytes = sum(scan.bytes for scan in chosen) or 1
        for scan in chosen:
            spent = time.monotonic() - began
            needed_s = (done + scan.bytes) * spent / done if done else 0.0  # with this table, at the speed so far
            if spent > limit_s or (not passes and needed_s > limit_s):
                continue
            left_s = min(limit_s, (all_bytes - done) * spent / done) if done else None
            watch(f"the {name} reading", done / all_bytes, left_s)
            ask(scan.question)
            done += scan.bytes
            reached.append(scan)
        passes.append(ReadPass(bytes=done, seconds=time.monotonic() - began))
        chosen = reached
    of_all = counted(len(scans), "table")
    return Reading(
        how=f"select count(*) of {len(chosen):,} of {of_all}, one after the other, in one session",
        names=("first", "second"),
        all_bytes=sum(scan.bytes for scan in scans),
        passes=passes,
        is_cut=len(chosen) < len(scans),
    )


@contextmanager
def _asking(target: Target, ledger: Ledger, environment: Mapping[str, str], size: int = 0) -> Iterator[Ask]:
    """Questions to one session's engine, each answered with all its rows."""
    standing = Standing(ledger)
    silence_s = SILENCE_S + size / SLOW_BYTES_PER_S

    def ask(question: str) -> list[list[str | None]]:
        job = asking(target, phases=[AskPhase(questions=[question])])
        return answered(converse(job, ledger, environment, standing, silence_s=silence_s))

    try:
        yield ask
    finally:
        standing.end()


def _inspected(where: str, family: str, result: InspectionResult, notes: list[str]) -> Inspected:
    return Inspected(
        acidtest_version=__version__,
        taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
        where=where,
        family=family,
        version=result.version,
        facts=dict(result.facts),
        listed=dict(result.listed),
        statistics=result.statistics,
        statistics_said=result.statistics_said,
        notes=[*result.notes, *notes],
        damaged=result.damaged,
    )
