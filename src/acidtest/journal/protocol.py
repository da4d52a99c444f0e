"""The JSON of both halves: the twin of ``rig/protocol/src/lib.rs``, which is the specification.

The lab writes one :class:`Job` to the rig's standard input and reads one event a line from its standard output.
A test feeds the rig's own samples of every type through these models, field by field.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, TypeAdapter

from acidtest.journal.pairs import AsPairs

PROTOCOL = 2
DEFERRED = ConfigDict(defer_build=True)  # of adapters: to build them takes longer than a command that needs none


class Message(BaseModel):
    """A part of the protocol: unknown fields are refused, values never change once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


# ------------------------------------------------------------------------------------------------ lab -> rig


class Target(Message):
    """Where the rig opens its sessions. Each engine's package has its kind of it, named by ``engine``."""

    engine: str


class Identity(Message):
    """By which a server may know us: PEM files, named by their paths. The key has no passphrase."""

    certificate: str
    key: str


class Tls(Message):
    """That a session with a server is encrypted. With ``ca``, the path of a PEM file, the server's certificate must be
    signed by one of those and be made out to the host's name; without it any answer is taken for the server's."""

    ca: str | None
    identity: Identity | None


class WorkloadMessage(Message):
    """What the rig runs. Each workload's own message, with its parameters, is in its module of ``workload/``."""

    name: str


class Inspection(Message):
    name: str
    sql: str


class ClosedLoop(Message):
    kind: Literal["closed"] = "closed"
    think_ms: float


class OpenLoop(Message):
    kind: Literal["open"] = "open"
    rate_per_s: float
    arrivals: Literal["fixed", "poisson"]


class Recorded(Message):
    """Each transaction has a time of its own, which the workload knows."""

    kind: Literal["recorded"] = "recorded"


Pacing = Annotated[ClosedLoop | OpenLoop | Recorded, Field(discriminator="kind")]


class Duration(Message):
    kind: Literal["duration"] = "duration"
    seconds: float


class Count(Message):
    kind: Literal["count"] = "count"
    transactions: int


Extent = Annotated[Duration | Count, Field(discriminator="kind")]


class TerminalClassMessage(Message):
    """Terminals that are alike; without a pacing of their own they have the run's, with an empty mix the workload's."""

    name: str
    terminals: int
    pacing: Pacing | None
    mix: dict[str, float]
    parameters: dict[str, Any]


class Leg(Message):
    """How a stage begins and ends for one class: arrivals a second, or terminals at work."""

    from_: float = Field(alias="from")
    to: float


class StageMessage(Message):
    seconds: float
    legs: list[Leg]


class IdleSessions(Message):
    sessions: int
    in_transaction: bool


Connect = Literal["once", "per_transaction", "as_recorded"]


class LoadPhase(Message):
    phase: Literal["load"] = "load"
    sessions: int = 1
    one_by_one: bool = False
    from_units: int = 0  # of a workload that grows: the database has so many, and gets those after them


class CheckPhase(Message):
    phase: Literal["check"] = "check"
    at_least: list[int] | None = None
    told: AcknowledgedTotals | None = None  # all that was acknowledged, where several rigs were told a part each


class Share(Message):
    """Part ``number`` of ``of`` of a load, the first being 0."""

    number: int
    of: int


class Go(Message):
    """To a rig that is ready: the load begins then, in ns since 1970 by its machine's clock."""

    at_ns: int


class MeasureFrom(Message):
    """To a rig in a warm-up that may end early: measure from this second of the load on."""

    second: int


class RunPhase(Message):
    phase: Literal["run"] = "run"
    terminals: int
    threads: int | None = None
    pacing: Pacing
    warmup_s: float
    may_start_early: bool = False  # at the second that a MeasureFrom names
    extent: Extent
    retries: int
    acknowledge_to: str | None = None
    classes: list[TerminalClassMessage] = []
    stages: list[StageMessage] = []
    sleepers: IdleSessions | None = None
    connect: Connect = "once"
    share: Share | None = None  # None: all of it


class SurveyPhase(Message):
    phase: Literal["survey"] = "survey"


class AskPhase(Message):
    phase: Literal["ask"] = "ask"
    questions: list[str]


Phase = Annotated[LoadPhase | CheckPhase | RunPhase | SurveyPhase | AskPhase, Field(discriminator="phase")]


class KernelMeans(Message):
    kind: Literal["kernel"] = "kernel"
    instance: str


class StraceMeans(Message):
    kind: Literal["strace"] = "strace"
    program: str


Means = Annotated[KernelMeans | StraceMeans, Field(discriminator="kind")]


class Observe(Message):
    """How system calls are watched; without processes, those of an engine embedded in the rig."""

    means: Means
    processes: list[int]
    directory: str


class Counting(Message):
    """How the engine is asked, on a session beside the terminals', for what it counts itself.

    ``session`` answers the number by which the engine tells the session that asks from the others; ``counted`` answers
    rows: such a number, or NULL for the whole database, and then the counters, in the order of ``names``.
    """

    session: str
    counted: str
    names: list[str]


class Sampling(Message):
    """How the engine is asked for where it stands, on a session beside the terminals'; see ``protocol.rs``.

    Each of ``questions`` answers rows of a figure's name and the figure; ``names`` are those that are wanted.
    """

    questions: list[str]
    names: list[str]


class Job(Message):
    protocol: int = PROTOCOL
    seed: int
    target: SerializeAsAny[Target]
    workload: SerializeAsAny[WorkloadMessage]
    inspect: list[Inspection]
    phases: list[Phase]
    observe: Observe | None = None
    count: Counting | None = None
    sample: Sampling | None = None


class DirectoryTarget(Message):
    kind: Literal["directory"] = "directory"
    path: str


class DeviceTarget(Message):
    kind: Literal["device"] = "device"
    path: str


ProbeTarget = Annotated[DirectoryTarget | DeviceTarget, Field(discriminator="kind")]

FlushMethod = Literal["plain", "sync_file_range", "direct", "fsync", "fdatasync", "dsync", "direct_dsync"]
ProbePattern = Literal["overwrite", "append", "overwrite_random", "read", "read_random"]


class ProbeStep(Message):
    method: FlushMethod
    pattern: ProbePattern
    block_bytes: int
    writers: int
    one_file: bool
    extent: Extent


class ProbeJob(Message):
    protocol: int = PROTOCOL
    seed: int
    target: ProbeTarget
    overwrite_bytes: int
    append_bytes: int
    steps: list[ProbeStep]


class PagesJob(Message):
    """A Firebird database whose pages are read from its file."""

    protocol: int = PROTOCOL
    path: str


# ------------------------------------------------------------------------------------------------ rig -> lab


class AcknowledgedTotals(Message):
    """What the engine has acknowledged to rigs: commits, in all and by kind, and those whose fate is unknown.

    ``units`` are those of the workload's own that both wrote; None where they are not known.
    """

    committed: int
    unknown: int
    kinds: list[int]
    units: tuple[int, int] | None


class DescribedKind(Message):
    """One kind of transaction of a workload of the user's own."""

    name: str
    weight: float
    writes: bool


class Description(Message):
    """What the rig finds when it reads a workload of the user's own, before anything is run: ``acidtest-rig describe``.

    Rows and their bytes are by table. With an error the workload cannot run; each names its file and line.
    """

    kinds: tuple[DescribedKind, ...]
    conditions: tuple[str, ...]
    loaded_rows: tuple[tuple[str, int], ...]
    row_bytes: tuple[tuple[str, int], ...]
    warnings: tuple[str, ...]
    refused: tuple[tuple[str, str], ...] = ()  # what engines of one dialect cannot do: the dialect, and where and why
    errors: tuple[str, ...]


class Setting(Message):
    name: str
    value: str | None


class Condition(Message):
    name: str
    holds: bool
    detail: str


class ClassCount(Message):
    class_: str = Field(alias="class")
    count: int


class ErrorSample(Message):
    class_: str = Field(alias="class")
    message: str


class Counts(Message):
    committed: int
    rolled_back: int
    conflicts: int
    retries: int
    given_up: int
    errors: int
    classes: list[ClassCount]


class ArrivalCounts(Message):
    scheduled: int
    late: int
    unfinished: int
    unfinished_wait_ms_max: float
    lateness: Histogram | None = None  # None in a journal written before it was counted


class Histogram(Message):
    """HDR histogram, three significant figures, no upper clamp; values in nanoseconds.

    ``buckets`` holds ``(value, count)`` ascending, ``value`` the highest that the bucket holds.
    """

    count: int
    min_ns: int
    max_ns: int
    mean_ns: float
    buckets: AsPairs


class Second(Message):
    at_s: float
    length_s: float
    committed: int
    conflicts: int
    errors: int
    latency_ns_p50: int
    latency_ns_p99: int
    latency_ns_max: int


class Kind(Message):
    """One kind of transaction; ``limit_ms`` is the time in which nine of ten must be answered."""

    name: str
    committed: int
    rolled_back: int
    conflicts: int
    given_up: int
    errors: int
    latency: Histogram
    limit_ms: float | None


class Cpu(Message):
    process_user_s: float
    process_system_s: float
    sampled_transactions: int
    generator_us_per_transaction: float
    session_us_per_transaction: float
    clock_read_ns: float


class Tally(Message):
    """What a part of a run came to; the parts add up to the whole."""

    counts: Counts
    arrivals: ArrivalCounts | None
    latency: Histogram
    service: Histogram
    kinds: list[Kind]


class ClassResult(Message):
    name: str
    terminals: int
    tally: Tally


class StageResult(Message):
    """A transaction belongs to the stage in which it was due (open loop) or ended (closed loop).

    ``from_`` and ``to`` are arrivals a second or terminals at work, as planned.
    """

    at_s: float
    length_s: float
    from_: float = Field(alias="from")
    to: float
    tally: Tally


class IdleSessionsSeen(Message):
    """Sleeping sessions: how many were opened, how many still answered after the measurement."""

    sessions: int
    in_transaction: bool
    awake_at_end: int
    lost: str | None


class Connections(Message):
    """Sessions that were opened during the run, and how many of those were asked for their settings."""

    opened: int
    inspected: int


class RunResult(Message):
    """What one run phase measured; see ``rig/protocol`` for each field."""

    terminals: int
    threads: int = 0  # 0 in a journal written before it was counted
    warmup_s: float
    measured_s: float
    counts: Counts
    arrivals: ArrivalCounts | None
    throughput_per_s: float
    goodput_per_s: float
    latency: Histogram
    service: Histogram
    kinds: list[Kind] = []
    series: list[Second]
    cpu: Cpu
    error_samples: list[ErrorSample]
    # Of journals written before there were any: none.
    classes: list[ClassResult] = []
    stages: list[StageResult] = []
    sleepers: IdleSessionsSeen | None = None
    connections: Connections | None = None

    @property
    def new_order_per_min(self) -> float | None:
        """TPC-C-like new-order transactions a minute; None of a workload without them. Never to be called tpmC."""
        new_orders = [kind.committed for kind in self.kinds if kind.name == "new_order"]
        return new_orders[0] / self.measured_s * 60 if new_orders and self.measured_s > 0 else None


class SharedSecond(Message):
    """One second of a part of a load; ``latencies`` are values in ns with their counts, ascending."""

    second: int  # 0 is the first of the measurement, -1 the last of the warm-up
    committed: int
    conflicts: int
    errors: int
    latencies: list[tuple[int, int]]
    latency_ns_max: int


class Ready(Message):
    """The sessions of a run phase with a share are open; a Go is waited for."""

    event: Literal["ready"] = "ready"


class Shared(Message):
    """What a rig with a share brings back beside its result."""

    event: Literal["shared"] = "shared"
    began_late_ns: int  # after the moment of Go
    stood_still_ns_max: int  # in which the process did not come to what it does ten times a second
    told: AcknowledgedTotals
    seconds: list[SharedSecond]


class Hello(Message):
    event: Literal["hello"] = "hello"
    protocol: int
    rig_version: str
    pid: int
    engine_version: str


class Settings(Message):
    event: Literal["settings"] = "settings"
    terminal: int | None
    values: list[Setting]


class Progress(Message):
    event: Literal["progress"] = "progress"
    phase: Literal["load", "check", "warmup", "run"]
    fraction: float | None
    elapsed_s: float
    done: int
    rate_per_s: float
    at: str | None = None  # the user's statement or table at work, by file and line


class LoadSecond(Message):
    at_s: float
    length_s: float
    rows: int
    bytes: int


class Loaded(Message):
    event: Literal["loaded"] = "loaded"
    rows: int
    bytes: int
    seconds: float
    sessions: int
    series: list[LoadSecond]

    @property
    def rows_per_s(self) -> float | None:
        """None where nothing was loaded but the schema."""
        return self.rows / self.seconds if self.rows and self.seconds > 0 else None

    @property
    def mb_per_s(self) -> float | None:
        """Of the rows' values, in 10^6 bytes."""
        return self.bytes / 1e6 / self.seconds if self.rows and self.seconds > 0 else None


class Checked(Message):
    event: Literal["checked"] = "checked"
    conditions: list[Condition]
    seconds: float


class Result(RunResult):
    event: Literal["result"] = "result"


class Probed(Message):
    """What one step of a probe measured; see ``protocol.rs``."""

    event: Literal["probed"] = "probed"
    step: int
    writes: int
    measured_s: float
    writes_per_s: float
    latency: Histogram
    flush: Histogram


class Refused(Message):
    event: Literal["refused"] = "refused"
    step: int
    message: str


class Torn(Message):
    number: int
    right: int
    wrong: int
    expected: int


class SurveyedTerminal(Message):
    terminal: int
    counter: int | None
    whole: list[tuple[int, int]]
    torn: list[Torn]


class Survey(Message):
    """What a database holds of numbered transactions; see ``rig/protocol`` for each field."""

    terminals: list[SurveyedTerminal]
    strays: int


class Surveyed(Survey):
    event: Literal["surveyed"] = "surveyed"


class Answered(Message):
    event: Literal["answered"] = "answered"
    question: str
    rows: list[list[str | None]]


Layer = Literal["call", "file_system", "block", "device"]


class CallCount(Message):
    call: str
    how: str
    count: int
    errors: int
    bytes: int
    total_us: float
    max_us: float


class ObservedFile(Message):
    path: str
    flags: list[str]
    calls: list[CallCount]


class StorageCount(Message):
    layer: Layer
    what: str
    count: int
    bytes: int
    total_us: float


class Spread(Message):
    min: int
    median: int
    max: int
    mean: float


class PerCommit(Message):
    commits: int
    alike: int
    writes: Spread
    bytes: Spread
    flushes: Spread
    flush_us: Spread
    whole_us: Spread


class ObservedLine(Message):
    at_us: float
    lasted_us: float | None
    layer: Layer
    who: str
    own: bool
    what: str
    how: str
    path: str | None
    offset: int | None
    bytes: int | None
    error: str | None


class TypicalCommit(Message):
    """One commit like most of them; ``begin_ns`` is of CLOCK_MONOTONIC."""

    begin_ns: int
    lasted_us: float
    commit_at_us: float | None
    terminal: int
    alike: int
    lines: list[ObservedLine]
    left_out: int


class ObservedCalls(Message):
    """The system calls of an engine during one run phase; see ``Observed`` of ``protocol.rs`` for each field."""

    means: str
    tied_by: Literal["thread", "time", "shared_time"]
    seconds: float
    calls: int
    dropped: int
    commits: int
    files: list[ObservedFile]
    storage: list[StorageCount]
    per_commit: PerCommit | None
    typical: TypicalCommit | None


class Observed(ObservedCalls):
    event: Literal["observed"] = "observed"


class Begins(Message):
    """Right before the terminals of a run begin whose job asks for the engine's counters."""

    event: Literal["begins"] = "begins"
    numbers: list[int]  # by which the engine tells their sessions
    began_us: int  # since 1970, by the system's clock


class CountedBy(Message):
    """What one counter rose by; see ``CountedBy`` of ``protocol.rs``."""

    name: str
    sessions: int | None
    database: int | None


class Counted(Message):
    """What the engine itself counted from shortly before a measurement to its end; see ``protocol.rs``."""

    event: Literal["counted"] = "counted"
    not_counted: str | None
    from_s: float
    first_reading_s: float
    last_reading_s: float
    committed: int
    uncertain: int
    counters: list[CountedBy]


class Sample(Message):
    """One time that the engine was asked for where it stands; see ``Sample`` of ``protocol.rs``."""

    at_s: float  # from the start of the measurement
    took_s: float
    values: list[int | None]  # in the order of the names asked for


class Sampled(Message):
    """Where the engine stood during a measurement; see ``protocol.rs``."""

    event: Literal["sampled"] = "sampled"
    not_sampled: str | None
    samples: list[Sample]


class OperationDone(Message):
    """One operation of an administrator; see ``OperationDone`` of ``protocol.rs`` for each field."""

    seconds: float
    flush_s: float | None
    database_bytes: int
    backup_bytes: int | None
    workers: int | None


class Garbage(Message):
    """What old transactions have left in a database."""

    versions: int
    oldest: int
    oldest_active: int
    oldest_snapshot: int
    next: int


class Maintenance(Message):
    """What was done to a database as an administrator does, and what that has changed."""

    operations: list[OperationDone]
    before: Garbage | None
    after: Garbage | None


class Maintained(Maintenance):
    event: Literal["maintained"] = "maintained"


class Difference(Message):
    """A statement that came to something else than in its log."""

    place: str  # file:line
    statement: str
    logged: str
    replayed: str


class Replay(Message):
    """What a replayed log came to, beside its transactions; see ``Replayed`` of ``protocol.rs`` for each field."""

    sessions: int
    sessions_refused: int
    statements: int
    left_out: int
    errors_alike: int
    errors_new: int
    errors_missing: int
    rows_compared: int
    rows_differ: int
    latency: Histogram
    service: Histogram
    logged: Histogram
    differences: list[Difference]


class Replayed(Replay):
    event: Literal["replayed"] = "replayed"


class PagesOfIndex(Message):
    id: int
    name: str
    is_unique: bool
    depth: int
    leaf_buckets: int
    nodes: int
    node_bytes: int
    prefix_bytes: int
    data_bytes: int
    duplicates: int
    duplicates_max: int
    clustering: int


class PagesOfTable(Message):
    id: int
    name: str
    pointer_pages: int
    slots: int
    data_pages: int
    primary_pages: int
    swept_pages: int
    empty_pages: int
    full_pages: int
    big_record_pages: int
    used_bytes: int
    records: int
    deleted: int
    record_bytes: int
    versions: int
    version_bytes: int
    versions_max: int
    fragments: int
    fragment_bytes: int
    fragments_max: int
    blobs: int
    blob_bytes: int
    blob_pages: int
    blob_room_bytes: int
    indexes: list[PagesOfIndex]


class Pages(Message):
    """What the pages of a Firebird database say; see ``lib.rs``."""

    event: Literal["pages"] = "pages"
    page_bytes: int
    ods_major: int
    ods_minor: int
    page_buffers: int
    forced_writes: bool
    reserves_space: bool
    sql_dialect: int
    read_only: bool
    encrypted: bool
    is_shut_down: bool
    backup_locked: bool
    sweep_interval: int | None
    generation: int
    oldest: int
    oldest_active: int
    oldest_snapshot: int
    next: int
    oldest_state: Literal["active", "in_limbo", "rolled_back", "committed"] | None
    in_limbo: int
    rolled_back: int
    active: int
    states_of: int
    pages: int
    free_pages: int
    tables: list[PagesOfTable]
    damaged: str | None


class Failed(Message):
    event: Literal["failed"] = "failed"
    doing: str
    message: str


class Done(Message):
    event: Literal["done"] = "done"


Event = Annotated[
    Hello
    | Settings
    | Progress
    | Loaded
    | Checked
    | Ready
    | Result
    | Shared
    | Observed
    | Begins
    | Counted
    | Sampled
    | Maintained
    | Replayed
    | Probed
    | Refused
    | Surveyed
    | Answered
    | Pages
    | Failed
    | Done,
    Field(discriminator="event"),
]

EVENT: TypeAdapter[Event] = TypeAdapter(Event, config=DEFERRED)


# ------------------------------------------------------------------------------- lab <-> the simulated disk


class DiskTiming(Message):
    name: Literal["none", "rotating", "sata-ssd", "nvme"]
    parameters: dict[str, float] = {}


DiskBattery = Literal["none", "good", "dead"]


class DiskSpec(Message):
    """First line to ``acidtest-rig disk``; see ``rig/protocol`` for each field."""

    protocol: int = PROTOCOL
    mount_point: str
    medium: str | None = None
    size_bytes: int
    sector_bytes: int = 512
    cache_bytes: int
    battery: DiskBattery = "none"
    timing: DiskTiming
    seed: int
    faults: list[str] = []
    log: str | None = None
    patient: bool = False


class StatsCommand(Message):
    command: Literal["stats"] = "stats"


class FaultCommand(Message):
    command: Literal["fault"] = "fault"
    fault: str


class UnderCommand(Message):
    command: Literal["under"] = "under"
    major: int
    minor: int


class MendCommand(Message):
    command: Literal["mend"] = "mend"


CutKeeps = Literal["none", "torn", "reordered", "all"]
GhostFlushes = Literal["succeed", "fail"]


class CutCommand(Message):
    command: Literal["cut"] = "cut"
    keep: CutKeeps
    seed: int
    flushes: GhostFlushes


class ReviveCommand(Message):
    command: Literal["revive"] = "revive"


class SnapshotCommand(Message):
    command: Literal["snapshot"] = "snapshot"


class TornWrite(Message):
    record: int
    sectors: list[int]


class DiskState(Message):
    """A state built from a log: on the snapshot, its records ``from`` up to but not ``to``, but for those left out."""

    log: str
    from_: int = Field(alias="from")
    to: int
    without: list[int] = []
    torn: list[TornWrite] = []


class LoadCommand(Message):
    command: Literal["load"] = "load"
    state: DiskState | None


class SaveCommand(Message):
    command: Literal["save"] = "save"
    file: str
    whole: bool


class EndCommand(Message):
    command: Literal["end"] = "end"


DiskCommand = Annotated[
    StatsCommand
    | FaultCommand
    | UnderCommand
    | MendCommand
    | CutCommand
    | ReviveCommand
    | SnapshotCommand
    | LoadCommand
    | SaveCommand
    | EndCommand,
    Field(discriminator="command"),
]


class DiskReady(Message):
    answer: Literal["ready"] = "ready"
    protocol: int
    pid: int
    file: str
    connection: int
    over_io_uring: bool
    unlocked: str | None


class DiskCount(Message):
    count: int
    bytes: int
    took: Histogram


class FaultCount(Message):
    fault: str
    struck: int


class DiskStats(Message):
    """What the disk did since it is there."""

    answer: Literal["stats"] = "stats"
    reads: DiskCount
    writes: DiskCount
    flushes: DiskCount
    lied_flushes: int
    ignored_write_throughs: int
    failed: int
    dirty_bytes: int
    dirty_bytes_max: int
    power: Literal["on", "stopped", "given_up", "vanished", "ghost"]
    faults: list[FaultCount]
    log_records: int


class DiskCut(Message):
    """What a cut did with what the cache held."""

    answer: Literal["cut"] = "cut"
    kept_bytes: int
    lost_bytes: int
    torn_writes: int


class DiskDone(Message):
    answer: Literal["done"] = "done"


class DiskFailed(Message):
    answer: Literal["failed"] = "failed"
    message: str


DiskAnswer = Annotated[DiskReady | DiskStats | DiskCut | DiskDone | DiskFailed, Field(discriminator="answer")]

DISK_ANSWER: TypeAdapter[DiskAnswer] = TypeAdapter(DiskAnswer, config=DEFERRED)
