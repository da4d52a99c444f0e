"""The JSON both halves speak: the twin of ``rig/src/protocol.rs``, which is the specification.

The lab writes one :class:`Job` to the rig's standard input and reads one event a line from its standard output.
A test feeds the rig's own samples of every type through these models, field by field.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

PROTOCOL = 1


class Message(BaseModel):
    """A part of the protocol: unknown fields are refused, values never change once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# ------------------------------------------------------------------------------------------------ lab -> rig


class SqliteTarget(Message):
    engine: Literal["sqlite"] = "sqlite"
    path: str
    setup: list[str]
    busy_timeout_ms: int


class FirebirdRemote(Message):
    host: str
    port: int
    password: str


class FirebirdTarget(Message):
    engine: Literal["firebird"] = "firebird"
    library: str
    database: str
    user: str
    remote: FirebirdRemote | None
    isolation: Literal["read_committed", "snapshot"]
    lock_resolution: Literal["wait", "no_wait"]
    lock_timeout_s: int | None


class PostgresTarget(Message):
    engine: Literal["postgres"] = "postgres"
    host: str
    port: int
    user: str
    password: str | None
    database: str
    setup: list[str]
    pipeline: bool


class MysqlTarget(Message):
    engine: Literal["mysql"] = "mysql"
    host: str
    port: int
    user: str
    password: str | None
    database: str
    setup: list[str]


Target = Annotated[SqliteTarget | FirebirdTarget | PostgresTarget | MysqlTarget, Field(discriminator="engine")]


class CommitsWorkload(Message):
    name: Literal["commits"] = "commits"
    row_bytes: int


class TpcbWorkload(Message):
    name: Literal["tpcb"] = "tpcb"
    scale: int


class TpccWorkload(Message):
    name: Literal["tpcc"] = "tpcc"
    warehouses: int
    procedures: bool
    keying: bool


class OrdersWorkload(Message):
    name: Literal["orders"] = "orders"
    products: int
    orders_per_call: int
    repeatable: bool


class IudWorkload(Message):
    name: Literal["iud"] = "iud"
    rows: int


class ScanWorkload(Message):
    name: Literal["scan"] = "scan"
    size_mb: int
    read: Literal["natural", "sorted", "indexed"]


class OltpWorkload(Message):
    name: Literal["oltp"] = "oltp"
    tables: int
    table_rows: int


Workload = Annotated[
    CommitsWorkload | TpcbWorkload | TpccWorkload | OrdersWorkload | IudWorkload | ScanWorkload | OltpWorkload,
    Field(discriminator="name"),
]


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


Pacing = Annotated[ClosedLoop | OpenLoop, Field(discriminator="kind")]


class Duration(Message):
    kind: Literal["duration"] = "duration"
    seconds: float


class Count(Message):
    kind: Literal["count"] = "count"
    transactions: int


Extent = Annotated[Duration | Count, Field(discriminator="kind")]


class LoadPhase(Message):
    phase: Literal["load"] = "load"
    sessions: int = 1
    one_by_one: bool = False


class CheckPhase(Message):
    phase: Literal["check"] = "check"


class RunPhase(Message):
    phase: Literal["run"] = "run"
    terminals: int
    threads: int | None = None
    pacing: Pacing
    warmup_s: float
    extent: Extent
    retries: int


Phase = Annotated[LoadPhase | CheckPhase | RunPhase, Field(discriminator="phase")]


class Job(Message):
    protocol: int = PROTOCOL
    seed: int
    target: Target
    workload: Workload
    inspect: list[Inspection]
    phases: list[Phase]


# ------------------------------------------------------------------------------------------------ rig -> lab


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


class Histogram(Message):
    """HDR histogram, three significant figures, no upper clamp; values in nanoseconds.

    ``buckets`` holds ``(value, count)`` ascending, ``value`` the highest that the bucket holds.
    """

    count: int
    min_ns: int
    max_ns: int
    mean_ns: float
    buckets: list[tuple[int, int]]


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


class RunResult(Message):
    """What one run phase measured; see ``protocol.rs`` for each field."""

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

    @property
    def new_order_per_min(self) -> float | None:
        """TPC-C-like new-order transactions a minute; None of a workload without them. Never to be called tpmC."""
        new_orders = [kind.committed for kind in self.kinds if kind.name == "new_order"]
        return new_orders[0] / self.measured_s * 60 if new_orders and self.measured_s > 0 else None


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


class Failed(Message):
    event: Literal["failed"] = "failed"
    doing: str
    message: str


class Done(Message):
    event: Literal["done"] = "done"


Event = Annotated[Hello | Settings | Progress | Loaded | Checked | Result | Failed | Done, Field(discriminator="event")]

EVENT: TypeAdapter[Hello | Settings | Progress | Loaded | Checked | Result | Failed | Done] = TypeAdapter(Event)
