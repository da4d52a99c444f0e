"""A benchmark as rules see it, whoever made it: its sides, and of each what its files, settings, logs and results say.

Everything has the place it was read at. What is not known is None or empty, never guessed; a rule that needs it is then
silent. ``kit`` reads one from somebody's directory, ``ours`` makes one of a journal.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, Literal, TypeVar

from acidtest import settings
from acidtest.finding import Evidence

EngineName = str  # the name of one of families.PRODUCTS
EMPTY = "is empty"  # why a file was not read
OURS = "acidtest"  # the tool that published what is a row of our own recordings


def of_one_series(version: str, other: str) -> bool:
    """Whether one of two versions is the other, or a series that it belongs to: "8.0.36" and "8.0"."""
    return bool(version and other) and (f"{version}.".startswith(f"{other}.") or f"{other}.".startswith(f"{version}."))


@dataclass(frozen=True)
class Where:
    file: str
    line: int | None = None

    def says(self, text: str) -> Evidence:
        return Evidence(text, self.file, self.line)


@dataclass(frozen=True)
class Binary:
    """A program or library of an engine."""

    where: Where
    engine: EngineName
    bits: int
    machine: str  # "x86", "x86-64"
    system: Literal["Linux", "Windows"]
    version: str  # "3.0.5.33220"; "" where it does not say
    debug: bool
    client: bool = False  # a library by which programs reach an engine, or what watches it: none itself
    called: str = ""  # of ours: the engine's name in the experiment
    identity: str = ""  # of ours, of a build of the user's: which files it is and how they run


@dataclass(frozen=True)
class Setting:
    """One setting that somebody has set. Names are lower case; values as written, without quotes."""

    name: str
    value: str
    where: Where
    written: str = ""  # the name as it stands there
    section: str = ""  # that it stands in: the group of a my.cnf

    def says(self) -> Evidence:
        return self.where.says(f"{self.written or self.name} = {self.value}")


# Where settings are written, the later before the earlier: what a server said of itself beats whatever it was given.
Source = Literal["file", "environment", "command line", "statement", "dump"]
SOURCES: tuple[Source, ...] = ("file", "environment", "command line", "statement", "dump")


@dataclass(frozen=True)
class Include:
    """A line by which a configuration makes its engine read another file, or all files of a folder."""

    where: Where
    path: str  # as it is written; of Firebird with "*" in it
    folder: bool = False
    at: int = 0  # how many settings stand before it


DUMP_WHOLE = 50  # settings; a dump of fewer is of those that somebody asked for
PARTS = ("databases.conf", "postgresql.auto.conf")  # kinds of files that stand beside a main one


@dataclass(frozen=True)
class Configuration:
    """What sets an engine's settings in one place. ``settings`` holds what is set, in the order in which it is read,
    files that it includes among them; a line that is a comment sets nothing."""

    where: Where
    engine: EngineName
    kind: str  # "firebird.conf", "databases.conf", "my.cnf", "postgresql.conf", "postgresql.auto.conf"
    settings: tuple[Setting, ...]
    comments: tuple[Setting, ...] = ()  # those that stand in a comment, as a file's author leaves a default
    source: Source = "file"
    side: str = ""  # what it is one of within a file that describes several, as a service of a compose file
    version: str = ""  # of the engine, where the place says it, as an image's tag or a dump does
    prose: bool = False  # whether a text tells of it, as a table in a README does
    reads: tuple[
        str, ...
    ] = ()  # names below the kit of files and folders that it gives to the server: a mounted my.cnf
    includes: tuple[Include, ...] = ()  # those that are not in the kit, once all files are read
    whole: bool | None = None  # whether all that it does not set is at its default; None: as its source is

    @property
    def tells_all(self) -> bool:
        """Whether what it does not set is at its default."""
        if self.includes or self.prose:
            return False
        if self.whole is not None:
            return self.whole
        main = self.source == "file" and self.kind not in PARTS
        return main or (self.source == "dump" and len(self.settings) >= DUMP_WHOLE)

    def get(self, name: str) -> Setting | None:
        """The last one of that name, which is the one that holds."""
        return next((setting for setting in reversed(self.settings) if setting.name == name), None)


@dataclass(frozen=True)
class Database:
    """A database, of whose file or statistics something is known."""

    where: Where
    name: str
    engine: EngineName
    ods: tuple[int, int] | None = None  # version of Firebird's on-disk structure
    bytes: int | None = None
    page_bytes: int | None = None
    page_buffers: int | None = None  # in the header of a Firebird database; 0: from the configuration
    forced_writes: bool | None = None
    places: tuple[tuple[str, Where], ...] = ()  # where one of these is said, if not all at ``where``

    def at(self, what: str) -> Where:
        """Where ``what`` is said: "page_bytes", "page_buffers"."""
        return dict(self.places).get(what, self.where)

    def says(self, what: str, text: str) -> Evidence:
        """``text`` where ``what`` is said, with the database's name unless it is the file's."""
        where = self.at(what)
        own = where.file.rpartition("/")[2].lower() == self.name.lower()
        return where.says(text if own else f"{self.name}: {text}")


@dataclass(frozen=True)
class LogEntry:
    """One kind of message in an engine's log that matters."""

    where: Where  # the first of them
    engine: EngineName
    # "update-conflict", "deadlock", "serialization", "error", "crash", "recovery", "corruption", "checkpoint",
    # "checkpoints-frequent", "flush-behind", "debug-build"
    kind: str
    text: str
    count: int = 1


@dataclass(frozen=True)
class Draw:
    """A call in a routine whose answer is another one each time, or a column of the row that a trigger is for."""

    where: Where
    what: str  # "RAND()", "GEN_ID(ORDER_NO, 1)"; the column's name
    sort: Literal["random", "sequence", "clock", "column"]


@dataclass(frozen=True)
class Write:
    """A statement in a routine that changes or locks rows. Names are upper case, as of all of a routine."""

    where: Where
    verb: Literal["insert", "update", "delete", "lock"]
    table: str
    keys: tuple[Draw, ...] = ()  # what decides which rows these are, but for rows that the routine itself has inserted
    columns: tuple[tuple[str, tuple[Draw, ...]], ...] = ()  # of an insert: what of it is drawn; "*": of no known column
    of_row: bool = False  # in a trigger: whether of its table only the row is meant that it is fired for


@dataclass(frozen=True)
class Routine:
    """A stored procedure, function or trigger, as its source says."""

    where: Where
    name: str
    kind: Literal["procedure", "function", "trigger"] = "procedure"
    table: str = ""  # that a trigger is for
    calls: str = ""  # the function that a trigger of PostgreSQL calls
    writes: tuple[Write, ...] = ()
    loop: int | None = None  # how often it repeats its work in one call, where a number says so
    loop_where: Where | None = None


@dataclass(frozen=True)
class Mount:
    """A mounted file system, as somebody listed it."""

    where: Where
    point: str
    filesystem: str  # "tmpfs" of memory; "bind" and "volume" of a container, whose file system is not known
    options: frozenset[str]
    side: str = ""  # whose it is within a file that describes several; as of Configuration


@dataclass(frozen=True)
class TableRow:
    """One row of a table in a text, as it stands there."""

    where: Where
    table: int  # the line of its heading
    head: tuple[str, ...]
    cells: tuple[str, ...]
    under: str = ""  # the headings that the table stands under


StatementKind = Literal[
    # What benchmark.toml declares, or a listing of the machine tells.
    "drive",
    "file-system",
    "memory",  # the value is in bytes
    "database size",  # the value is in bytes
    "drive test",  # that the drive is meant to be measured
    "turns",  # of a rotating drive; the value is a minute
    "write-cache",  # that survives a power cut, or may
    # What programs, scripts, definitions of services and results have.
    "repeated",  # that runs are made several times; the value is how often
    "best-of",  # that a tool shows the best of several runs
    "tpc-word",  # that a tool prints for a result of its own
    "reloaded",  # a setting that holds from the next start on, where a script only reloads the server
    "out of range",  # that a histogram left values out; the value is how many
    "sampled",  # that a program measures one operation several times within a run; the value is how often
    "unfixed version",  # what is taken in whatever version is the newest
    "platform",  # that a program wrote beside its figures: "arch arm64"
    "composed",  # a compose file that a script starts, by its name; "" of the usual one
    "store",  # that is started in a container, by its name in ``stores``
    "as-it-comes",  # a store that is started with nothing set, by its name in ``stores``
    "promise",  # what sets when a write of a store, whose name is ``store``, is acknowledged
    "unlogged",  # a table whose rows are in no log
    "volume-elsewhere",  # that is mounted beside the place where its image keeps the data
]


@dataclass(frozen=True)
class Statement:
    """Something that is declared, that a file of the kit shows, or a recording of ours."""

    where: Where
    kind: StatementKind
    text: str
    value: float | None = None
    store: str = ""  # of a promise


StepKind = Literal[
    "load",  # the data are made, restored or removed
    "run",  # something is measured
    "warm-up",
    "settle",  # what was put off is done: a checkpoint, a vacuum
    "call",  # of another script, by the end of ``text``
]


@dataclass(frozen=True)
class Step:
    """Something that a script does to measure."""

    where: Where
    kind: StepKind
    text: str  # the command
    loops: tuple[int, ...] = ()  # the lines of the loops that it is within, the outermost first
    tool: str = ""  # "pgbench"; "" of a program of the kit's own
    reads: bool = False  # whether it is known to change nothing


@dataclass(frozen=True)
class Harness:
    """A script that measures: its steps in order, those of its functions where they are called."""

    where: Where
    steps: tuple[Step, ...]


Unit = Literal["transactions", "queries", "operations", "requests", "reads", "writes", "flushes"]


@dataclass(frozen=True)
class Published:
    """One result that a tool printed or somebody wrote down. Rates are a second."""

    where: Where
    tool: str  # "pgbench", "sysbench", "hammerdb", "fio", …, "acidtest"; "" where nobody says which
    name: str  # of the run, as far as it has one
    rate: float | None = None  # transactions a second
    attempts: float | None = None  # of those, and of what was refused or failed
    tpm: float | None = None  # of HammerDB: database transactions a minute
    nopm: float | None = None  # new orders a minute
    terminals: int | None = None
    measured_s: float | None = None
    warmup_s: float | None = None
    asked_rate: float | None = None  # of an open loop; None: as fast as it goes
    latency_ms: dict[str, float] = field(default_factory=dict)  # "mean", "p50", "p95", "p99", "max"
    answered_ms: dict[str, float] = field(default_factory=dict)  # the same, of what did not fail alone
    latency_from: Literal["scheduled start", "actual start", ""] = ""
    errors: int | None = None
    tried: int | None = None  # how many were sent, where it is told
    failed_share: float | None = None  # of those, where it is told
    series: tuple[float, ...] = ()  # the rate, an interval each
    interval_s: float = 1.0  # of the series
    unit: Unit = "transactions"  # of the rate; "reads" write nothing
    flushed: bool = False  # whether the tool itself waited for the drive after each
    engine: EngineName | None = None
    threads: int | None = None  # of the tool
    ceiling_ms: float | None = None  # the longest that the tool's histogram tells from longer ones
    warehouses: int | None = None  # of TPC-C's schema
    # What was run, as far as the tool says it.
    script: str = ""  # its name for the workload: "TPC-B (sort of)", "oltp_read_write", "workloada"
    scale: float | None = None  # the tool's own measure of the data: warehouses, pgbench's scale
    query_mode: str = ""  # "simple", "extended", "prepared"
    isolation: str = ""
    reconnects: bool | None = None  # whether each transaction has a connection of its own
    repetition: int | None = None
    written: str = ""  # the rate and its unit as they stand there: "71,440 tpm"
    parameters: dict[str, str] = field(default_factory=dict)  # other options, as they are written
    planned: bool = False  # what a script or a file of properties asks for; no figure is measured
    told: bool = False  # from a table that somebody wrote, and no tool: it may sum up several runs
    under: str = ""  # in a text: the headings that it stands under
    runs: int | None = None  # how many runs this figure sums up, where it says so
    bytes_per_s: float | None = None  # of a test of a drive
    took_s: float | None = None  # of a fixed amount of work: how long all of it took
    # Of ours: those that are on the drive before the next of the same terminal begins; None: not claimed, or not known.
    durable_rate: float | None = None
    turns: Statement | None = None  # of ours: how often the drive turns, of kind "turns"; None: not known
    in_turn: tuple[float, ...] = ()  # of ours: rates of repetitions on one database that followed each other


@dataclass(frozen=True)
class InForce:
    """One setting as it holds on a side."""

    setting: Setting
    source: Source
    overridden: tuple[Setting, ...] = ()  # what it was set to elsewhere, in vain; the strongest first
    contested: tuple[Setting, ...] = ()  # to what else it is set in places of the same rank: which holds is not known


@dataclass(frozen=True)
class Side:
    """One of those that are compared: an engine in one version and configuration."""

    name: str
    engine: EngineName | None = None
    version: str = ""
    binaries: tuple[Binary, ...] = ()
    configurations: tuple[Configuration, ...] = ()
    databases: tuple[Database, ...] = ()
    log: tuple[LogEntry, ...] = ()
    mounts: tuple[Mount, ...] = ()

    @property
    def servers(self) -> tuple[Binary, ...]:
        """The programs and libraries that are the engine."""
        return tuple(binary for binary in self.binaries if not binary.client)

    def settings(self, name: str) -> Iterator[Setting]:
        """What holds of what is set for the whole server under that name: one, or none."""
        holds = self.in_force(name)
        return iter([holds.setting] if holds and not holds.contested else [])

    @property
    def tells_all(self) -> bool:
        """Whether what nothing sets on this side is at its default: somebody has collected its whole configuration."""
        dumped = any(
            configuration.source == "dump" and configuration.tells_all for configuration in self.configurations
        )
        missing = any(
            configuration.includes or configuration.whole is False
            for configuration in self.configurations
            if configuration.source == "file"
        )
        return dumped or (not missing and any(configuration.tells_all for configuration in self.configurations))

    @cached_property
    def set_anywhere(self) -> Mapping[str, list[tuple[int, Configuration, Setting]]]:
        """All that is set anywhere, by name, in order."""
        by_name: dict[str, list[tuple[int, Configuration, Setting]]] = defaultdict(list)
        for order, configuration in enumerate(self.configurations):
            for setting in configuration.settings:
                by_name[setting.name].append((order, configuration, setting))
        return by_name

    @cached_property
    def _known(self) -> dict[str, InForce | None]:
        """What was asked before."""
        return {}

    def in_force(self, name: str) -> InForce | None:
        """What holds of what is set for the whole server; None where nobody sets it."""
        name = name.lower()
        if name not in self._known:
            self._known[name] = self._decided(name)
        return self._known[name]

    def _decided(self, name: str) -> InForce | None:
        asked: list[tuple[tuple[int, ...], Configuration, Setting]] = []
        for order, one, setting in self.set_anywhere.get(name, ()):
            if self._reads(one, setting):
                rank = not one.prose, SOURCES.index(one.source), one.kind == "postgresql.auto.conf", order
                asked.append((tuple(map(int, rank)), one, setting))
        if not asked:
            return None
        asked.sort(key=lambda each: each[0])  # stable: of one place the last holds
        best, place, holds = asked[-1]
        # Files are read one after the other; of statements and starts nobody knows which came last.
        rivals = tuple(
            setting
            for other, one, setting in asked
            if other[:-1] == best[:-1]
            and (place.prose or place.source != "file")
            and (one is not place or place.source == "statement")
            and self._differ(setting, holds)
        )
        return InForce(holds, place.source, tuple(setting for _, _, setting in reversed(asked[:-1])), rivals)

    def _differ(self, one: Setting, other: Setting) -> bool:
        engine = settings.of(self.engine)
        return engine.alike(one.name, one.value) != engine.alike(other.name, other.value)

    def _reads(self, one: Configuration, setting: Setting) -> bool:
        """Whether this server reads this line: a group of a my.cnf may be of servers of one version or kind."""
        if one.kind != "my.cnf" or not setting.section:
            return True
        kind, _, version = setting.section.partition("-")
        if kind == "client":  # of "client-server"
            return self.engine != "mysql"
        if kind.startswith("mariadb") and self.engine == "mysql":
            return False
        return not (version and self.version) or f"{self.version}.".startswith(f"{version}.")


@dataclass(frozen=True)
class DeclaredMachine:
    """A machine as its owner describes it. ``facts`` are "processor", "memory_gb", "drive" and the like, as written."""

    where: Where
    name: str
    facts: tuple[Setting, ...] = ()

    def get(self, name: str) -> Setting | None:
        return next((fact for fact in self.facts if fact.name == name), None)


@dataclass(frozen=True)
class DeclaredSide:
    """One of those that are compared, as the author of the study names it."""

    where: Where
    name: str
    engine: EngineName | None = None
    version: str = ""
    files: tuple[str, ...] = ()  # files and folders of the kit that are of this side
    machine: str = ""  # the name of one of the machines; "" where none is named


ClaimKind = Literal["faster", "slower", "equal"]


@dataclass(frozen=True)
class Claim:
    """What a study claims of two of its sides, or of two rows: results by their names."""

    where: Where
    sides: tuple[str, str]  # the first is "faster" than the second
    kind: ClaimKind
    by: float | None = None  # how many times as fast or as slow; of "equal" how many times they may lie apart
    metric: str = "rate"  # or "took", or a latency: "mean", "p99"
    text: str = ""  # as it was published
    published: str = ""  # where
    results: tuple[str, ...] = ()  # files and folders of the kit that it rests on


@dataclass(frozen=True)
class Declared:
    """What a study says of itself, in its ``benchmark.toml``."""

    where: Where
    title: str = ""
    varies: tuple[Setting, ...] | None = None  # what differs on purpose, as names of Settings; None: it does not say
    sides: tuple[DeclaredSide, ...] = ()
    machines: tuple[DeclaredMachine, ...] = ()
    claims: tuple[Claim, ...] = ()
    measures: Setting | None = None  # "drive": what a test is meant to show
    database_mb: Setting | None = None
    repetitions: Setting | None = None
    client: Setting | None = None  # the machine that the load comes from

    @property
    def names(self) -> frozenset[str]:
        """What differs on purpose."""
        return frozenset(vary.name for vary in self.varies or ())

    def machine(self, side: DeclaredSide) -> DeclaredMachine | None:
        return next((machine for machine in self.machines if machine.name == side.machine), None)


SAMPLE = re.compile(r"(?:^|/|[-_.])(?:samples?|examples?|templates?)(?:[/_.-]|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Bench:
    """A whole benchmark. ``factors`` are settings that differ on purpose."""

    sides: Sequence[Side]
    published: Sequence[Published] = ()
    routines: Sequence[Routine] = ()
    facts: Sequence[Statement] = ()
    rows: Sequence[TableRow] = ()  # of tables in texts
    harnesses: Sequence[Harness] = ()
    factors: frozenset[str] = frozenset()
    read: Sequence[tuple[str, str]] = ()  # files that were understood, and as what
    texts: Sequence[str] = ()  # files whose sentences are not read, those that lie highest first
    unread: Sequence[str] = ()  # files that nothing here understands
    broken: Sequence[Evidence] = ()  # files that should be understood and are not
    passed: Sequence[Evidence] = ()  # what was not opened, or not read to its end, and why
    declared: Declared | None = None  # what the study says of itself
    not_understood: Sequence[Evidence] = ()  # figures and settings that nobody parsed, each where they begin

    def said(self, kind: StatementKind) -> list[Statement]:
        """What is known of this kind."""
        return [fact for fact in self.facts if fact.kind == kind]

    @property
    def others(self) -> list[Published]:
        """The results that are not rows of ours: of those a rule over rows says the same, from every repetition."""
        return [one for one in self.published if one.tool != OURS]

    @property
    def plans(self) -> list[Published]:
        """What scripts and properties of the kit ask for: of tools whose results are there, of the only one where no
        result tells its tool, or of all where nothing is published; but for samples that come with a tool."""
        known = {one.tool for one in self.measured}
        only = all(other.planned for other in self.others)
        asked = [one for one in self.published if one.planned and not SAMPLE.search(one.where.file)]
        tools = {one.tool for one in asked if one.parameters.get("phase") is None and one.script != "initialize"}
        if not known - {""} and len(tools) == 1:
            known |= tools  # what nobody says the tool of is of the only one that is started
        return [one for one in asked if only or one.tool in known]

    @property
    def measured(self) -> list[Published]:
        """What tools printed: no row of ours, nothing that somebody wrote down, and no plan."""
        return [other for other in self.others if not (other.told or other.planned)]

    @cached_property
    def answers(self) -> dict[object, Any]:
        """See ``once``."""
        return {}


Answer = TypeVar("Answer")


def once(ask: Callable[..., Answer]) -> Callable[..., Answer]:
    """Keeps what the decorated function answers of a benchmark, its first argument: several rules ask the same. Nobody
    changes the answer."""

    @wraps(ask)
    def kept(bench: Bench, *rest: Any, **named: Any) -> Answer:
        question = (ask, rest, *named.items())
        if question not in bench.answers:
            bench.answers[question] = ask(bench, *rest, **named)
        answer: Answer = bench.answers[question]
        return answer

    return kept
