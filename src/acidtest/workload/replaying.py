"""Makes of a log what the rig replays: a file with one statement a line, and what is to be known before it begins.

The log is read as a stream. What is kept in memory is a little for each session, and nothing for a statement.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ConfigDict, ValidationError

from acidtest.errors import BadInput
from acidtest.families import FIREBIRD, MYSQL
from acidtest.files import state_directory
from acidtest.formats import regular
from acidtest.formats.logs import FORMATS, HEAD_BYTES, Entry, Format, lines, recognised
from acidtest.words import counted, harmless
from acidtest.workload import logged

MADE_BY = 1  # raised when what is made of a log changes
SESSIONS_MAX = 1_000_000
AT_ONCE_MAX = 10_000  # sessions, each a terminal
PLACES_SHOWN = 5
KEPT_DAYS = 30
NOT_IN_ORDER_US = 60_000_000
NOTHING_LEFT = "nothing in it can be replayed"
LISTED = ", ".join(one.name for one in FORMATS)


class NotReplayed(BaseModel):
    """Statements that are left out, and why."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    why: str
    count: int
    places: tuple[str, ...]  # the first, as file:line


class LogFacts(BaseModel):
    """What a log holds."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    format: str
    family: str
    length_s: float
    sessions: int
    terminals: int  # the most sessions at once
    transactions: int
    statements: int
    statement_bytes: int
    failed: int  # statements
    tell_rows: int  # statements of which the log tells how many rows they answered
    tell_time: int  # and how long they took
    not_replayed: tuple[NotReplayed, ...]
    notes: tuple[str, ...]  # what else its reader must know


@dataclass(frozen=True)
class Made:
    """A log as it can be replayed."""

    events: Path
    facts: LogFacts
    hashes: dict[str, str]  # of each file, by its name


@dataclass(slots=True)
class _Session:
    number: int
    begins_us: int
    ends_us: int
    is_open: bool = False  # a transaction
    autocommit: bool = True
    connected: bool = False  # the log shows its beginning


@dataclass
class _Makes:
    family: str
    database: str | None
    out: IO[bytes]
    names: list[str] = field(default_factory=list)
    sessions: dict[str, _Session] = field(default_factory=dict)
    left_out: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    databases: Counter[str] = field(default_factory=Counter)
    users: set[str] = field(default_factory=set)
    transactions: int = 0
    statements: int = 0
    bytes: int = 0
    failed: int = 0
    tell_rows: int = 0
    tell_time: int = 0
    others: list[str] = field(default_factory=list)  # databases that are not replayed
    whole_seconds: bool = True  # so far all times are
    shortest_us: int | None = None
    ends_unbegun: int = 0
    left_open: int = 0
    reads: bool = False
    first_us: int | None = None

    # ------------------------------------------------------------------------------------------ entries

    def take(self, entry: Entry) -> None:
        if entry.act == "unusable":
            self._leave_out(entry, entry.text)
            return
        if self.first_us is None or entry.at_us < self.first_us:
            self.first_us = entry.at_us
        if self.database is not None and entry.database is not None and entry.database != self.database:
            if entry.database not in self.others and len(self.others) < PLACES_SHOWN:
                self.others.append(entry.database)
            return
        if entry.at_us % 1_000_000:
            self.whole_seconds = False
        session = self._session(entry)
        if entry.user:
            self.users.add(entry.user)
        session.ends_us = max(session.ends_us, entry.at_us + (entry.took_us or 0))
        match entry.act:
            case "open":
                session.connected = True
            case "close":
                self._roll_back(session, entry)
                self.sessions[f"{entry.session} ended {session.number}"] = self.sessions.pop(entry.session)
            case "begin":
                self._roll_back(session, entry)
                self._write(session, entry, "b")
                session.is_open = True
            case "commit" | "rollback":
                self._end(session, entry, "c" if entry.act == "commit" else "r")
            case "statement":
                if entry.database is not None:
                    self.databases[entry.database] += 1
                self._statement(session, entry)

    def _session(self, entry: Entry) -> _Session:
        known = self.sessions.get(entry.session)
        if known is None:
            if len(self.sessions) >= SESSIONS_MAX:
                raise BadInput(
                    f"{self.names[-1]}: has more than {counted(SESSIONS_MAX, 'session')}",
                    "replay a part of it: cut the log",
                )
            begins_us = entry.at_us
            if entry.began_us is not None and self.first_us is not None:
                begins_us = max(self.first_us, min(entry.began_us, entry.at_us))
            known = self.sessions[entry.session] = _Session(len(self.sessions), begins_us, entry.at_us)
            known.connected = (
                entry.began_us is not None and self.first_us is not None and entry.began_us >= self.first_us
            )
        return known

    def _statement(self, session: _Session, entry: Entry) -> None:
        text = logged.bare(entry.text, self.family)
        several = logged.pieces(text, self.family)
        effects = [logged.effect(logged.bare(piece, self.family), self.family) for piece in several]
        for piece in several:
            if why := logged.refusal(logged.bare(piece, self.family), self.family):
                self._leave_out(entry, why)
                return
        if entry.parameters is None and logged.lacks_parameters(text, self.family):
            self._leave_out(entry, logged.WITHOUT_PARAMETERS)
            return
        if any(value is not None and value.endswith("...") for value in entry.parameters or ()):
            self._leave_out(entry, "a parameter ends in ..., as one does that the log has cut short")
            return
        entry.text = text
        self.reads = self.reads or text[:6].lower() == "select"
        if entry.took_us is not None:
            self.shortest_us = entry.took_us if self.shortest_us is None else min(self.shortest_us, entry.took_us)
        if len(several) == 1:
            self._single(session, entry, effects[0])
        else:
            self._several(session, entry, effects)

    def _single(self, session: _Session, entry: Entry, effect: str) -> None:
        match effect:
            case "begin" if session.is_open and self.family == MYSQL.name:
                self._end(session, entry, "c", bare=True)
                self._begin(session, entry, "b")
            case "begin" if not session.is_open:
                self._begin(session, entry, "b")
            case "commit" | "rollback":
                entry.text = ""
                self._end(session, entry, "c" if effect == "commit" else "r")
            case "chain":
                if session.is_open:
                    self._write(session, entry, "c")
                    self.transactions += 1
                    session.is_open = False
                    self._begin(session, Entry(entry.session, "begin", entry.at_us, entry.line, "begin"), "b")
            case "two-phase":
                self._leave_out(entry, logged.TWO_PHASE)
                self._roll_back(session, entry)
            case "defines" if session.is_open:
                self._write(session, entry, "c")
                self.transactions += 1
                session.is_open = False
            case "autocommit-off" | "autocommit-on":
                session.autocommit = effect == "autocommit-on"
                if session.autocommit and session.is_open:
                    self._end(session, entry, "c", bare=True)
                self._write(session, entry, "s")
            case _:
                if not session.autocommit and not session.is_open and effect != "defines":
                    self._begin(session, Entry(entry.session, "begin", entry.at_us, entry.line), "i")
                self._write(session, entry, "p" if entry.parameters else "s")

    def _several(self, session: _Session, entry: Entry, effects: Sequence[str]) -> None:
        """A text of several statements goes as it stands; what counts is whether a transaction is open behind it."""
        is_open, ended = session.is_open, ""
        for effect in effects:
            if effect == "begin":
                is_open = True
            elif effect in ("commit", "rollback", "defines"):
                is_open, ended = False, effect
        if session.is_open and ended:
            self._write(session, entry, "r" if ended == "rollback" else "c")
            self.transactions += 1
            session.is_open = False
            if is_open:  # and another one begins within the text, which the rig cannot distinguish
                self._begin(session, Entry(entry.session, "begin", entry.at_us, entry.line), "i")
        elif not session.is_open and is_open:
            self._begin(session, entry, "b")
        else:
            self._write(session, entry, "s")

    def _begin(self, session: _Session, entry: Entry, what: str) -> None:
        self._write(session, entry, what)
        session.is_open = True

    def _end(self, session: _Session, entry: Entry, what: str, *, bare: bool = False) -> None:
        if not session.is_open:
            self.ends_unbegun += 1
            return
        end = Entry(entry.session, "commit", entry.at_us, entry.line) if bare else entry
        end.text = ""
        self._write(session, end, what)
        self.transactions += 1
        session.is_open = False

    def _roll_back(self, session: _Session, entry: Entry) -> None:
        """What the log leaves open is rolled back, as the engine does when a session ends."""
        if session.is_open:
            self._end(session, Entry(entry.session, "rollback", entry.at_us, entry.line), "r")

    def _leave_out(self, entry: Entry, why: str) -> None:
        count, places = self.left_out.get(why, (0, []))
        if len(places) < PLACES_SHOWN:
            places.append(f"{self.names[-1]}:{entry.line}")
        self.left_out[why] = (count + 1, places)

    def _write(self, session: _Session, entry: Entry, what: str) -> None:
        if not session.is_open and what in "sp":
            self.transactions += 1
        if what != "i":
            self.statements += 1
            self.bytes += len(entry.text)
            self.failed += entry.failed
            self.tell_time += entry.took_us is not None
            self.tell_rows += entry.rows is not None and what in "sp"
        rows = entry.rows if what in "sp" else None
        line = [
            session.number, entry.at_us, what, entry.text, entry.parameters, rows, entry.failed, entry.took_us,
            len(self.names) - 1, entry.line,
        ]  # fmt: skip
        self.out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    # ------------------------------------------------------------------------------------------ the end

    def finish(self) -> list[list[int]]:
        """Rolls back what the log leaves open, writes the last line, and answers the sessions of each terminal."""
        for session in self.sessions.values():
            if session.is_open:
                self.left_open += 1
                self._roll_back(session, Entry("", "rollback", session.ends_us, 0))
        lasting = sorted(self.sessions.values(), key=lambda session: session.number)
        base_us = self.first_us or 0
        lanes = _lanes(lasting)
        whole = {
            "base_us": base_us,
            "sessions": [(session.begins_us, session.ends_us) for session in lasting],
            "lanes": lanes,
            "files": self.names,
        }
        self.out.write(json.dumps(whole, separators=(",", ":")).encode() + b"\n")
        return lanes


def _lanes(sessions: Sequence[_Session]) -> list[list[int]]:
    """The sessions of each terminal, one after another: as few terminals as there are sessions at once."""
    lanes: list[list[int]] = []
    busy: list[tuple[int, int]] = []  # until when, and which
    free: list[int] = []
    for session in sorted(sessions, key=lambda session: (session.begins_us, session.number)):
        while busy and busy[0][0] < session.begins_us:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane = len(lanes)
            lanes.append([])
        lanes[lane].append(session.number)
        heapq.heappush(busy, (session.ends_us, lane))
    return lanes


def make(paths: Sequence[Path], database: str | None) -> Made:
    """What can be replayed of the log in these files, in their order; of one database alone where that is named.

    It is made once for files of the same content. Raises BadInput where a file cannot be read or has no format that is
    known, where the log is of several databases and none is named, and where nothing is left to replay.
    """
    names = [path.name for path in paths]
    told = names if len(set(names)) == len(names) else [f"{at}/{name}" for at, name in enumerate(names, start=1)]
    hashes = {name: _hash(path) for name, path in zip(told, paths, strict=True)}
    key = hashlib.sha256(json.dumps([MADE_BY, list(hashes.items()), database]).encode()).hexdigest()
    directory = state_directory() / "replay"
    events, facts_at = directory / f"{key}.jsonl", directory / f"{key}.json"
    with suppress(OSError, ValidationError, UnicodeDecodeError):
        facts = LogFacts.model_validate_json(facts_at.read_text(encoding="utf-8"))
        os.utime(events)
        return Made(events, facts, hashes)
    directory.mkdir(parents=True, exist_ok=True)
    _forget_old(directory)
    handle, temporary = tempfile.mkstemp(dir=directory, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as out:
            facts = made(paths, database, out)
        Path(temporary).replace(events)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    whole = facts_at.with_suffix(f".{os.getpid()}.part")
    whole.write_text(facts.model_dump_json(), encoding="utf-8")
    whole.replace(facts_at)
    return Made(events, facts, hashes)


def _forget_old(directory: Path) -> None:
    """What nobody has replayed for a month is made again when it is asked for."""
    before = time.time() - KEPT_DAYS * 86_400
    for path in directory.iterdir():
        with suppress(OSError):
            if path.stat().st_mtime < before:
                path.unlink()


def _hash(path: Path) -> str:
    try:
        with regular.opened(path) as file:
            digest = hashlib.sha256()
            while block := file.read(1 << 20):
                digest.update(block)
            return digest.hexdigest()
    except regular.Unreadable as error:
        raise BadInput(f"{path}: {error}", "name the log's file, or several in their order") from None


def _format(path: Path) -> Format:
    with regular.opened(path) as file:
        found = recognised(file.read(HEAD_BYTES))
    if found is None:
        raise BadInput(
            f"{path}: is no log whose statements are known here",
            f"what can be replayed: {LISTED} (acidtest help docs/REPLAY.md)",
        )
    return found


def read(path: Path, of: Format) -> Iterator[Entry]:
    """The entries of one file."""
    with regular.opened(path) as file:
        yield from of.read(lines(file))


def made(paths: Sequence[Path], database: str | None, out: IO[bytes]) -> LogFacts:
    """Write what can be replayed into ``out``. Raises BadInput as ``make`` does."""
    formats = [_format(path) for path in paths]
    if other := next((path for path, one in zip(paths, formats, strict=True) if one != formats[0]), None):
        raise BadInput(f"{other}: is another kind of log than {paths[0]} ({formats[0].name})", "name logs of one kind")
    of = formats[0]
    makes = _Makes(of.family, database, out)
    before: tuple[Path, int] | None = None
    for path in paths:
        makes.names.append(harmless(path.name, 200))
        first, last = None, 0
        for entry in read(path, of):
            if entry.at_us:
                first = entry.at_us if first is None else first
                last = max(last, entry.at_us)
            makes.take(entry)
        if before and first is not None and first < before[1] - NOT_IN_ORDER_US:
            raise BadInput(f"{path}: begins before {before[0]} ends", "name the files in the order of their times")
        before = (path, last)
    if database is None and len(makes.databases) > 1:
        most = makes.databases.most_common(5)
        shown = ", ".join(f"{harmless(name, 60)} ({counted(many, 'statement')})" for name, many in most)
        raise BadInput(
            f"{paths[0]}: is of {counted(len(makes.databases), 'database')}: {shown}",
            'name one: log_database = "NAME"',
        )
    if database is not None and not makes.databases[database]:
        raise BadInput(
            f"{paths[0]}: has no statement of database {harmless(database, 60)}; "
            f"it is of {', '.join(harmless(name, 60) for name in makes.others[:5]) or 'none that it names'}",
            "correct log_database",
        )
    lanes = makes.finish()
    return _facts(makes, of, lanes, paths)


def _facts(makes: _Makes, of: Format, lanes: Sequence[Sequence[int]], paths: Sequence[Path]) -> LogFacts:
    left_out = tuple(
        NotReplayed(why=why, count=count, places=tuple(places))
        for why, (count, places) in sorted(makes.left_out.items(), key=lambda pair: -pair[1][0])
    )
    if not makes.statements:
        why = f": {left_out[0].why}" if left_out else ": it has no statement"
        raise BadInput(f"{paths[0]}: {NOTHING_LEFT}{why}", "acidtest help docs/REPLAY.md says what a log must have")
    if len(lanes) > AT_ONCE_MAX:
        raise BadInput(
            f"{paths[0]}: has {counted(len(lanes), 'session')} at once, and a replay at most {AT_ONCE_MAX:,}",
            "replay a part of it",
        )
    ends_us = max(session.ends_us for session in makes.sessions.values())
    return LogFacts(
        format=of.name,
        family=of.family,
        length_s=(ends_us - (makes.first_us or 0)) / 1e6,
        sessions=len(makes.sessions),
        terminals=len(lanes),
        transactions=makes.transactions,
        statements=makes.statements,
        statement_bytes=makes.bytes,
        failed=makes.failed,
        tell_rows=makes.tell_rows,
        tell_time=makes.tell_time,
        not_replayed=left_out,
        notes=tuple(_notes(makes, of)),
    )


def _notes(makes: _Makes, of: Format) -> Iterator[str]:
    unseen = sum(not session.connected for session in makes.sessions.values())
    if unseen:
        yield (
            f"{counted(unseen, 'session')} of {len(makes.sessions):,} began before the log, or it does not show their "
            "beginning: what they had set, prepared or locked is missing."
        )
    if makes.ends_unbegun:
        yield (
            f"{counted(makes.ends_unbegun, 'end')} of transactions whose beginning the log does not have: their "
            "statements are replayed each as a transaction of its own."
        )
    if makes.left_open:
        yield f"{counted(makes.left_open, 'transaction')} were open where the log ends: they are rolled back."
    if makes.shortest_us is not None and makes.shortest_us >= 1000 and makes.tell_time * 2 > makes.statements:
        yield (
            f"The shortest statement took {makes.shortest_us / 1000:,.0f} ms: the log seems to have slow statements "
            "only (log_min_duration_statement, long_query_time), and what was faster is missing."
        )
    if not makes.reads:
        yield "The log has no query: it may be of changes only (log_statement = mod), and what was read is missing."
    if not makes.tell_rows:
        yield f"A {of.name} does not tell how many rows a statement answered: differences in rows cannot be seen."
    if of.name == "MySQL general log":
        yield "A general log does not tell which statements failed: one that fails now may have failed then too."
    if makes.whole_seconds:
        yield "Its times are whole seconds: what began within one is replayed at its beginning, one after another."
    if len(makes.users) > 1:
        yield f"Its sessions are of {counted(len(makes.users), 'user')}; the replay has one user."
    if of.family == FIREBIRD.name:
        yield "A trace tells the options of a transaction; the replay begins each as the experiment's settings say."
