"""What every workload has: how it is driven, and what the rest of the lab asks of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from acidtest.journal.models import Warning
from acidtest.journal.protocol import (
    ClosedLoop,
    Count,
    Description,
    Duration,
    IdleSessions,
    Maintenance,
    OpenLoop,
    Pacing,
    RunPhase,
    WorkloadMessage,
)
from acidtest.keys import MILLISECONDS, SECONDS, TRANSACTIONS_PER_SECOND, Fixed, Form, Model, Unset
from acidtest.words import counted
from acidtest.workload.shape import Stage, TerminalClass, implied, stage_messages

STEADY_WINDOW_S = (8, 30)  # at least, at most; in fewer seconds nobody can tell whether a rate is steady

ASSUMED_RATE_MAX_PER_S = 20_000  # of a run that is timed, for the room that its rows take: on the generous side
NOT_WATCHED = "threads of the engine do the work, and their calls cannot be tied to a transaction"
ROW_OVERHEAD_BYTES = 100  # beside the text of a row: its key, its header, its part of an index


@dataclass(frozen=True)
class Needs:
    """A key of a workload acts only where another key of it has one of these values."""

    key: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return " or ".join(f'{self.key} = "{value}"' for value in self.values)


@dataclass(frozen=True)
class Runner:
    """What is to run a workload."""

    family: str
    release: tuple[int, ...]  # of the known series that it is run as: (5, 0)
    private: bool  # made and started by acidtest, on this machine
    raw: bool  # its database is a block device
    in_guest: bool = False


@dataclass(frozen=True)
class Question:
    """What is asked of a workload's own report after a run."""

    title: str
    columns: tuple[str, ...]
    of: str  # a table, view or procedure of its database, or a query in parentheses
    by_kind: bool = False  # the first column names kinds of transactions

    @property
    def sql(self) -> str:
        return f"select {', '.join(self.columns)} from {self.of}"  # noqa: S608 - of a table of ours


@dataclass(frozen=True)
class OfTheUser:
    """A database that the user has made, in place of a load."""

    file: Path | None = (
        None  # each run has a copy of it; None: it lies on a server by URL, and runs leave it as it comes
    )
    sha256: str = ""  # of the file, when the experiment was read
    restore: tuple[str, ...] = ()  # a command that brings it back before each run; none where nothing does
    directory: Path = Path()  # where that is run
    limit_s: float = 0.0  # so long it may take


@dataclass(frozen=True)
class Refused:
    """Why a workload cannot be run there."""

    why: str  # the engine's name goes before it
    key: str = ""  # of the workload, that asks for it; "" where it is the workload itself
    remedy: str = "choose another workload"


class WorkloadSpec(Model, ABC):
    """How one workload is driven, in the keys of an experiment's ``[workload.NAME]``.

    Without ``rate_per_s`` the loop is closed, with it open.

    A workload is a subclass in a module of its own, with its parameters as fields, and an entry in the registry.
    """

    UNIT: ClassVar[str] = "commits"  # what its rates count
    TRANSACTION: ClassVar[str] = "commits"  # what so many of its transactions are called: "500 operations"
    UNIT_OF_SIZE: ClassVar[str] = ""  # the field of which its database has so many; "" where it has one size
    LOAD_S: ClassVar[float] = 1.0  # assumed, for one unit of size
    MESSAGE: ClassVar[type[WorkloadMessage]]  # its fields are the workload's, unless ``message`` says otherwise
    USUAL_COUNT: ClassVar[int | None] = None  # of transactions, where neither count nor duration is given
    NOT_LOADED: ClassVar[frozenset[str]] = frozenset()  # fields of the message that the loaded database is the same for
    NEEDS: ClassVar[Mapping[str, Needs]] = {}  # of keys of its own that do not always act
    HAS_TIMES: ClassVar[bool] = False  # its transactions have times of their own, so that no rate can be asked for
    CAN_BE_SURVEYED: ClassVar[bool] = False  # its transactions can be looked for after a power cut
    # Its terminals may be those of several rigs: nothing that they share is in the rig's memory.
    CAN_BE_SPLIT: ClassVar[bool] = True
    CAN_WAIT: ClassVar[bool] = True  # its warm-up may end when the rate is steady
    CAN_BE_WATCHED: ClassVar[bool] = True  # the engine's calls can be tied to its transactions
    # As ``always_writes`` and ``writing_kinds`` answer.
    ALWAYS_WRITES: ClassVar[bool] = False
    WRITING_KINDS: ClassVar[tuple[str, ...]] = ()
    TRANSACTION_KINDS: ClassVar[tuple[str, ...]] = ()  # as results name them; none where there is but one
    # What every check of its database reports, by name, and what is wrong where it does not hold. Workloads that have
    # a name in common have its words in common. None where the user's own conditions have the user's words.
    CONDITIONS: ClassVar[Mapping[str, str]] = {}

    kind: Annotated[str, Unset("the table's name")] = Field(
        description="The workload is of this kind; without the key its table's name is the kind."
    )
    terminals: int = Field(
        default=1, ge=1, le=10_000, description="This many terminals submit transactions at the same time."
    )
    threads: Annotated[int | None, Unset("half as many as there are processors")] = Field(
        default=None, ge=1, le=1_024, description="This many threads of the rig drive a server's terminals."
    )
    warmup_s: Annotated[float, SECONDS] = Field(
        default=0.0,
        ge=0,
        le=86_400,
        description="The terminals are at work for this long before the measurement begins.",
    )
    warmup_limit_s: Annotated[int | None, SECONDS, Unset("warmup_s says when")] = Field(
        default=None,
        ge=10,
        le=86_400,
        exclude_if=lambda limit: limit is None,
        description="The measurement begins when the rate is steady, after warmup_s at the earliest and this long at "
        "the latest.",
    )
    duration_s: Annotated[float | None, SECONDS, Unset("count says how much")] = Field(
        default=None, gt=0, le=604_800, description="The measurement takes this long."
    )
    count: Annotated[int | None, Unset("duration_s says how long")] = Field(
        default=None,
        ge=1,
        le=1_000_000_000,
        description="All terminals together are measured for this many transactions.",
    )
    think_ms: Annotated[float, MILLISECONDS] = Field(
        default=0.0,
        ge=0,
        le=3_600_000,
        description="A terminal waits this long between two transactions; with rate_per_s there is no such wait.",
    )
    rate_per_s: Annotated[
        float | None, TRANSACTIONS_PER_SECOND, Unset("each terminal goes on when it is done: a closed loop")
    ] = Field(
        default=None,
        gt=0,
        le=10_000_000,
        description="This many transactions arrive, whether those before them are done or not: an open loop.",
    )
    arrivals: Literal["fixed", "poisson"] = Field(
        default="poisson", description="Transactions arrive at fixed distances, or at random ones (Poisson)."
    )
    retries: int = Field(
        default=10,
        ge=0,
        le=1_000_000,
        description="A transaction that the engine refuses for another one's sake is tried again this often.",
    )
    observe: bool = Field(default=False, description="The engine's system calls are watched, which costs time.")
    # What came after version 0.1 is left out where it is not asked for: a journal of that version can be resumed.
    stages: Annotated[
        Sequence[Stage],
        Form("[{ seconds = 30, rate_per_s = 100 }, { seconds = 60, rate_per_s = 100, to = 1000 }]"),
        Unset("the load does not change"),
        Fixed("make it two workloads, each a table with stages"),
    ] = Field(
        default=(),
        exclude_if=lambda stages: not stages,
        description="The measurement has these parts, each with its rate or its number of terminals.",
    )
    classes: Annotated[
        Sequence[TerminalClass],
        Form('[[workload.NAME.classes]] name = "caller", terminals = 1'),
        Unset("all terminals are alike"),
        Fixed("make it two workloads, each a table with classes"),
    ] = Field(
        default=(),
        exclude_if=lambda classes: not classes,
        description="The terminals are of these classes, at work at the same time, each with results of its own.",
    )
    sleeping_sessions: int = Field(
        default=0,
        ge=0,
        le=10_000,
        exclude_if=lambda many: not many,
        description="This many sessions beside the terminals' are open during the run and do nothing.",
    )
    sleeping_in_transaction: bool = Field(
        default=False,
        exclude_if=lambda held: not held,
        description="Each of them has a transaction open, for which the engine must keep old versions of rows.",
    )
    connect: Literal["once", "per_transaction"] = Field(
        default="once",
        exclude_if=lambda connect: connect == "once",
        description="A terminal keeps one session, or opens one for each transaction and closes it afterwards.",
    )

    sample_engine: bool = Field(
        default=True,
        exclude_if=lambda asked: asked,
        description="The engine is asked about once a second of the measurement for where it stands, for stalls.",
    )

    @model_validator(mode="before")
    @classmethod
    def _take_what_is_implied(cls, given: Any) -> Any:
        """Stages and classes say how long, how many and how fast: what is given beside them must not differ."""
        if not isinstance(given, Mapping):
            return given
        found = implied(given)
        who = {"duration_s": "stages take", "rate_per_s": "stages have a mean rate of", "terminals": "there are"}
        for key, value in found.items():
            if given.get(key, value) is not None and given.get(key, value) != value:
                raise ValueError(f"{key}: {who[key]} {value:g} in stages and classes: leave {key} out")
        if "count" in given and given["count"] is not None and "duration_s" in found:
            raise ValueError("count: stages say how long the measurement takes: leave count out")
        whole = {**given, **found}
        if cls.USUAL_COUNT is not None and not whole.keys() & {"duration_s", "count"}:
            whole["count"] = cls.USUAL_COUNT
        return whole

    @model_validator(mode="after")
    def _one_extent(self) -> Self:
        if (self.duration_s is None) == (self.count is None):
            raise ValueError('give either "duration_s" or "count"')
        if self.observe and not self.CAN_BE_WATCHED:
            raise ValueError(f'"observe" must be false: {NOT_WATCHED}')
        if self.rate_per_s is not None and self.think_ms:
            raise ValueError('"think_ms" belongs to a closed loop and "rate_per_s" to an open one: give one of them')
        return self

    @model_validator(mode="after")
    def _waits_for_a_steady_rate(self) -> Self:
        if self.warmup_limit_s is None:
            return self
        if not self.CAN_WAIT or self.stages:
            why = "a load with stages is to change" if self.CAN_WAIT else "this kind of workload has its own beginning"
            raise ValueError(f"warmup_limit_s: {why}: leave it out")
        window = self.steady_window_s()
        if (needed := max(self.warmup_s, window + window // 2)) >= self.warmup_limit_s:
            raise ValueError(f"warmup_limit_s: nothing can be told of the rate before {needed:g} s: give more")
        return self

    def steady_window_s(self) -> int:
        """How many of a warm-up's last seconds are judged, where it ends with a steady rate: as many as are measured,
        within bounds."""
        least, most = STEADY_WINDOW_S
        return min(most, max(least, int(self.duration_s or 0)))

    @model_validator(mode="after")
    def _stages_and_classes_fit(self) -> Self:
        if len({stage.is_open for stage in self.stages}) > 1:
            raise ValueError("stages: some have rate_per_s and some have terminals: give all of them the same")
        if self.stages and not any(stage.begins or stage.ends for stage in self.stages):
            raise ValueError("stages: none has anything to do: give one a rate or terminals above 0")
        if twice := next((n for n, many in Counter(class_.name for class_ in self.classes).items() if many > 1), None):
            raise ValueError(f'classes: two are called "{twice}": give one another name')
        for class_ in self.classes:
            if unknown := next((kind for kind in class_.mix if kind not in self.mixed_kinds()), None):
                kinds = ", ".join(self.mixed_kinds()) or "none: its transactions are not mixed by weight"
                raise ValueError(
                    f'classes: mix of "{class_.name}": {unknown} is no kind of this workload; its kinds: {kinds}'
                )
        if self.classes and self.rate_per_s is not None:
            raise ValueError("rate_per_s: each class has its own: write rate_per_s into the classes")
        if self.stages and self.classes and any((c.rate_per_s is None) == self.stages[0].is_open for c in self.classes):
            wanted = "rate_per_s in each class" if self.stages[0].is_open else "no rate_per_s in any class"
            raise ValueError(f"stages: what they say is shared out over the classes, which needs {wanted}")
        if (most := max((max(stage.begins, stage.ends) for stage in self.stages), default=0)) > self.terminals and (
            not self.stages[0].is_open
        ):
            raise ValueError(
                f"stages: up to {most:g} are at work, and the classes have {counted(self.terminals, 'terminal')}"
            )
        return self

    def mixed_kinds(self) -> tuple[str, ...]:
        """The kinds of transactions that a class of terminals may weigh, by name."""
        return ()

    # ---------------------------------------------------------------------------------------- its keys

    @classmethod
    def completed(cls, table: Mapping[str, Any], base: Path) -> dict[str, Any]:
        """The keys of ``table``, which an experiment in the directory ``base`` has, with what files of the user's say.

        Raises BadInput for what is wrong with those.
        """
        return dict(table)

    def takes(self, key: str) -> bool:
        """Whether a level may set ``key`` of it: a field, or an entry of one that is a table: "weights.buy"."""
        return key in type(self).model_fields

    def parameter(self, key: str) -> object:
        """What such a key is at."""
        return getattr(self, key)

    def names_of(self, key: str) -> tuple[str, ...]:
        """The entries that the table ``key`` may have."""
        return ()

    def varied(self, levels: Mapping[str, object]) -> Self:
        """The same with what ``levels`` set, by key as in ``takes``. Raises ValidationError."""
        keys = self.model_dump()
        keys |= {name: getattr(self, name) for name, field in type(self).model_fields.items() if field.exclude}
        for key, value in levels.items():
            table, _, entry = key.partition(".")
            keys[table] = {**keys[table], entry: value} if entry else value
        return type(self).model_validate(keys, strict=True)

    # ---------------------------------------------------------------------------------------- in the rig's words

    def message(self) -> WorkloadMessage:
        """The workload in the rig's words."""
        own = self.MESSAGE.model_fields.keys() - {"name"}
        return self.MESSAGE(**{name: getattr(self, name) for name in own})

    def run_phase(self) -> RunPhase:
        """How it is driven, in the rig's words."""
        pacing: Pacing = (
            ClosedLoop(think_ms=self.think_ms)
            if self.rate_per_s is None
            else OpenLoop(rate_per_s=self.rate_per_s, arrivals=self.arrivals)
        )
        return RunPhase(
            terminals=self.terminals,
            threads=self.threads,
            pacing=pacing,
            warmup_s=self.warmup_s if self.warmup_limit_s is None else self.warmup_limit_s,
            may_start_early=self.warmup_limit_s is not None,
            extent=Count(transactions=self.count) if self.count else Duration(seconds=self.duration_s or 0),
            retries=self.retries,
            classes=[class_.message(self.arrivals) for class_ in self.classes],
            stages=stage_messages(self.stages, self.classes),
            sleepers=IdleSessions(sessions=self.sleeping_sessions, in_transaction=self.sleeping_in_transaction)
            if self.sleeping_sessions
            else None,
            connect=self.connect,
        )

    # ---------------------------------------------------------------------------------------- its database

    def loaded_text(self) -> str:
        """The same text for workloads that start from the same loaded database."""
        return self.message().model_dump_json(exclude=set(self.NOT_LOADED))

    @abstractmethod
    def loaded_bytes(self) -> int:
        """About how large its loaded database is beside an empty one, on the generous side."""

    def history_bytes(self) -> int:
        """About how much a run adds to it, on the generous side."""
        transactions = self.count or (self.duration_s or 0) * (self.rate_per_s or ASSUMED_RATE_MAX_PER_S)
        return int(transactions * self.transaction_bytes())

    def transaction_bytes(self) -> int:
        """About how much one transaction adds."""
        return 20 + ROW_OVERHEAD_BYTES

    # ---------------------------------------------------------------------------------------- how long it takes

    def units(self) -> int:
        """How many units of size its database has."""
        return int(getattr(self, self.UNIT_OF_SIZE)) if self.UNIT_OF_SIZE else 1

    def load_s(self) -> float:
        """Seconds that its load is assumed to take."""
        return self.LOAD_S * self.units()

    def run_s(self, commits_per_s: float) -> float:
        """Seconds that it is assumed to be measured, where an engine commits at that rate; without the warm-up."""
        if self.duration_s is not None:
            return self.duration_s
        return (self.count or 0) / (self.rate_per_s or commits_per_s)

    def of_the_user(self) -> OfTheUser | None:
        """The database that the user has made for it; None where acidtest loads one."""
        return None

    def copy_s(self) -> float:
        """Seconds that copying its database is assumed to take; next to none of a small one."""
        return 0.0

    # ---------------------------------------------------------------------------------------- what it needs and shows

    def smaller(self) -> Iterator[Self]:
        """The same with one thing less in its load, what saves most first; none where nothing can be left out."""
        yield from ()

    def local_files(self) -> tuple[str, ...]:
        """Paths of files of the user's that it reads on the machine that it runs on."""
        return ()

    def refused(self, on: Runner) -> Refused | None:
        """Why it cannot be run there, beside procedures; None where it can."""
        return None

    def told_before(self) -> list[str]:
        """What is to be known of it before it begins, one sentence each."""
        return []

    @property
    def needs_description(self) -> bool:
        """Whether the rig must first say what is in it: before that, sizes, times and conditions are not known."""
        return False

    def with_description(self, description: Description) -> Self:
        """The same, of one that needs it, with what the rig says."""
        raise AssertionError(f"{self.kind} needs no description")

    def may_write(self) -> bool:
        """Whether some of its transactions change rows, so that what a commit costs is a part of its rate."""
        return self.UNIT == "commits"

    def always_writes(self) -> bool:
        """Whether a drive must keep something at each commit: each transaction changes rows."""
        return self.ALWAYS_WRITES

    def writing_kinds(self) -> tuple[str, ...]:
        """Else the kinds of its transactions of which each one changes rows."""
        return self.WRITING_KINDS

    def transaction_kinds(self) -> tuple[str, ...]:
        """Its kinds of transactions, as results name them; none where there is but one."""
        return self.TRANSACTION_KINDS

    def needs_procedures(self) -> bool:
        """Whether an engine without stored procedures cannot run it."""
        return False

    def warnings(self, engine: str, *, has_procedures: bool) -> list[Warning]:
        """What a reader of its results on this engine must know."""
        return []

    def doubts(self, done: Maintenance | None) -> list[Warning]:
        """What a reader must know of an administrator's operations that were done."""
        return []

    def conditions(self) -> tuple[str, ...]:
        """The consistency conditions that every check of its database must report, by name."""
        return tuple(self.CONDITIONS)

    def questions(self) -> tuple[Question, ...]:
        """What its database itself reports of a run; none of a workload whose database reports nothing."""
        return ()

    def transaction_read_mb(self) -> float | None:
        """The values that one transaction reads, 10^6 bytes; None where its rate is not one of reading."""
        return None

    def transaction_sorted_mb(self) -> float | None:
        """The values that the engine sorts for one transaction, 10^6 bytes; None where no sort is measured."""
        return None


class GrowingWorkload(WorkloadSpec):
    """A workload whose database can be loaded on from size to size, as ``[growth]`` asks."""

    GROWN_DEFAULTS: ClassVar[Mapping[str, Any]] = {}  # of keys that have another default where databases grow

    def with_units(self, units: int) -> Self:
        """The same on a database of that size."""
        return self.model_copy(update={self.UNIT_OF_SIZE: units})

    @abstractmethod
    def unit_bytes(self, family: str) -> int:
        """How large one unit of size is assumed to be on an engine of this family, indexes included."""

    @abstractmethod
    def fixed_bytes(self, family: str) -> int:
        """How much is assumed to be there beside them."""

    @abstractmethod
    def shape(self) -> str:
        """The same text for workloads whose units are equally large."""
