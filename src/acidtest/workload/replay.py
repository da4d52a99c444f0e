"""A log of an engine, replayed: its sessions, its transactions and their times, over the database of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from acidtest.families import FAMILIES
from acidtest.journal.models import Warning
from acidtest.journal.protocol import ClosedLoop, Count, Recorded, RunPhase, WorkloadMessage
from acidtest.keys import Fixed, Form, Kept, Unset
from acidtest.words import counted
from acidtest.workload import folder as folders
from acidtest.workload import replaying
from acidtest.workload.base import Needs, Refused, Runner
from acidtest.workload.of_folder import OF_THE_USER, OfFolder, SqlDatabase, plain

# Keys that every workload has, and that a log decides.
FROM_LOG = ("terminals", "count", "duration_s", "warmup_s", "think_ms", "rate_per_s", "arrivals", "stages", "classes",
            "connect")  # fmt: skip
ASSUMED_STATEMENTS_PER_S = 2_000  # of one session in a closed loop
ASSUMED_GROWTH = 8  # in the database, for each byte of SQL


class ReplayWorkload(WorkloadMessage):
    name: Literal["replay"] = "replay"
    database: SqlDatabase
    events: str
    dialect: str
    paced: bool
    speed: float


class Replay(OfFolder):
    """A log of PostgreSQL, MySQL, MariaDB or Firebird, replayed with its sessions, transactions and times."""

    UNIT = "transactions"
    CAN_BE_SPLIT = False
    CAN_WAIT = False
    TRANSACTION = "transactions"
    HAS_TIMES = True
    NOT_LOADED = frozenset({"events", "dialect", "paced", "speed"})
    NEEDS: ClassVar[Mapping[str, Needs]] = {"speed": Needs("pace", ("recorded",))}

    kind: Literal["replay"] = "replay"
    path: Annotated[
        tuple[str, ...],
        Form(
            '"postgresql.csv", or several files in their order; they begin at the directory of the experiment\'s file'
        ),
        Fixed("make it two workloads, each a table with a path"),
    ] = Field(
        min_length=1,
        max_length=1_000,
        description="The log: a csvlog or jsonlog of PostgreSQL, a general or slow log of MySQL, a trace of Firebird.",
    )
    database: Annotated[
        str | None,
        Form('"shop/"'),
        Unset("it is yours: prepared, or database_file"),
        Fixed("make it two workloads, each a table with a database"),
    ] = Field(
        default=None,
        min_length=1,
        description="Before the log begins the database is what schema and load of this folder make; its conditions "
        "are checked before and after, also those of a database of yours.",
    )
    log_database: Annotated[
        str | None,
        Form('"shop"'),
        Unset("the log is of one database"),
        Fixed("make it two workloads, each a table with a log_database"),
    ] = Field(default=None, min_length=1, description="Of a log of several databases this one is replayed.")
    pace: Literal["recorded", "closed"] = Field(
        default="recorded",
        description="Each statement has its time in the log, or follows as soon as the one before it was answered.",
    )
    speed: float = Field(
        default=1.0, gt=0, le=10_000, description="The times of the log pass so many times as fast as they did."
    )
    retries: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="A transaction that the engine refuses for another one's sake is tried again this often.",
    )
    log: Annotated[replaying.LogFacts | None, Kept()] = Field(default=None, description="What the log holds.")
    events: Path | None = Field(default=None, exclude=True)  # None of a recorded one

    # ---------------------------------------------------------------------------------------- how it is read

    @classmethod
    def completed(cls, table: Mapping[str, Any], base: Path) -> dict[str, Any]:
        paths = table.get("path")
        named = [paths] if isinstance(paths, str) else paths
        if not isinstance(named, list | tuple) or not named or not all(isinstance(one, str) and one for one in named):
            return dict(table)  # which the model refuses
        database, log_database = table.get("database"), table.get("log_database")
        if not isinstance(database, str | None) or database == "" or not isinstance(log_database, str | None):
            return dict(table)
        if any(key in table for key in FROM_LOG) or not any(table.get(key) for key in ("database", *OF_THE_USER)):
            return dict(table)
        beginning = cls.beginning(table, base)
        folder = folders.read_database(plain(base / database)) if database else folders.nothing("the database")
        made = replaying.make([plain(base / one) for one in named], log_database or None)
        facts = made.facts
        hashes = {f"{Path(database or '').name}/{name}": digest for name, digest in folder.hashes.items()}
        return {
            **table,
            **beginning,
            "path": tuple(named),
            "folder": folder,
            "files": made.hashes | hashes | beginning["files"],
            "log": facts,
            "events": made.events,
            "terminals": facts.terminals,
            "count": max(1, facts.transactions),
            "connect": "once",
        }

    @model_validator(mode="before")
    @classmethod
    def _is_whole(cls, given: Any) -> Any:
        """Of a table of the user's, which has no facts of the log; a recorded one has them, and all keys."""
        decided = [key for key in FROM_LOG if isinstance(given, dict) and key in given]
        if decided and given.get("log") is None:
            raise ValueError(f"{', '.join(decided)}: the log says that; leave it out")
        if isinstance(given, dict) and given.get("log") is None and not any(map(given.get, ("database", *OF_THE_USER))):
            raise ValueError(
                "database: is missing, the folder whose schema and load make what the log began with; of a database of "
                "yours write prepared = true (on a server by URL), or database_file"
            )
        return given

    @field_validator("path", mode="before")
    @classmethod
    def _is_several(cls, given: Any) -> Any:
        return (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list) else given

    def takes(self, key: str) -> bool:
        return key not in FROM_LOG and super().takes(key)

    def facts(self) -> replaying.LogFacts:
        """What the log holds, of one that is read from an experiment."""
        assert self.log is not None, "an experiment's log has been read"
        return self.log

    # ---------------------------------------------------------------------------------------- in the rig's words

    def database_message(self) -> SqlDatabase:
        return self.in_words(SqlDatabase, ())

    def message(self) -> ReplayWorkload:
        assert self.events is not None, "a recorded workload has no files"
        return ReplayWorkload(
            database=self.database_message(),
            events=str(self.events),
            dialect=folders.DIALECTS[self.facts().family],
            paced=self.pace == "recorded",
            speed=self.speed,
        )

    def run_phase(self) -> RunPhase:
        facts = self.facts()
        # Terminals end when their sessions have; each opening and closing of one takes a place in the count.
        steps = facts.transactions + 2 * facts.sessions + facts.terminals
        return RunPhase(
            terminals=self.terminals,
            pacing=Recorded() if self.pace == "recorded" else ClosedLoop(think_ms=0),
            warmup_s=0,
            extent=Count(transactions=steps),
            retries=self.retries,
            connect="as_recorded",
        )

    # ---------------------------------------------------------------------------------------- its sizes and times

    def history_bytes(self) -> int:
        return ASSUMED_GROWTH * self.facts().statement_bytes

    def run_s(self, commits_per_s: float) -> float:
        facts = self.facts()
        if self.pace == "recorded":
            return facts.length_s / self.speed
        return facts.statements / facts.terminals / ASSUMED_STATEMENTS_PER_S

    # ---------------------------------------------------------------------------------------- what it needs and shows

    def local_files(self) -> tuple[str, ...]:
        return (*super().local_files(), *self.path)

    def refused(self, on: Runner) -> Refused | None:
        if (refused := super().refused(on)) is not None:
            return refused
        facts = self.facts()
        if on.in_guest:
            return Refused(
                "cannot replay a log in a guest, which does not have it", remedy="choose another kind of place"
            )
        if on.family == facts.family:
            return None
        title = FAMILIES[facts.family].products[0].title
        return Refused(
            f"cannot replay a {facts.format}: its SQL is that of {title}", remedy=f"choose an engine of {title}"
        )

    def transaction_kinds(self) -> tuple[str, ...]:
        return ()

    def may_write(self) -> bool:
        return True

    def told_before(self) -> list[str]:
        """What the log holds, whose the data is, and what cannot be replayed: for people who are about to begin."""
        facts = self.facts()
        speed = "" if self.speed == 1 else f", {self.speed:g} times as fast"
        pace = f"at its times{speed}" if self.pace == "recorded" else "without its pauses"
        first = (
            f"{', '.join(self.path[:3])}{' …' if len(self.path) > 3 else ''}: {facts.format} of "
            f"{facts.length_s:,.1f} s, {counted(facts.sessions, 'session')} ({facts.terminals:,} at once), "
            f"{counted(facts.transactions, 'transaction')}, {counted(facts.statements, 'statement')}, replayed {pace}."
        )
        return [first, *super().told_before(), *self._lacking()]

    def _lacking(self) -> list[str]:
        """What of the log is not replayed, and what else its reader must know."""
        facts = self.facts()
        left = [
            f"Not replayed, {counted(entry.count, 'entry', 'entries')}: {entry.why} ({_places(entry)})."
            for entry in facts.not_replayed
        ]
        return [*left, *facts.notes]

    def warnings(self, engine: str, *, has_procedures: bool) -> list[Warning]:
        about = super().warnings(engine, has_procedures=has_procedures)
        return about + [Warning(code="replay", about="goodput_per_s", text=text) for text in self._lacking()]


def _places(one: replaying.NotReplayed) -> str:
    more = ", …" if one.count > len(one.places) else ""
    return ", ".join(one.places) + more
