"""A journal as a flat table for other programs: one row a cell, every column with a type, a unit and what it means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from acidtest.analysis.latency import percentile, values_needed
from acidtest.analysis.sizes import log_curve
from acidtest.analysis.survival import said_of_cut
from acidtest.journal.models import NOT_APPLICABLE, Journal, Recording
from acidtest.journal.protocol import Histogram

TEXT, NUMBER, COUNT, YES_NO = pa.string(), pa.float64(), pa.int64(), pa.bool_()
TIME = pa.timestamp("us", tz="UTC")
TYPES = {TEXT: "text", NUMBER: "number", COUNT: "integer", YES_NO: "true or false", TIME: "time, UTC"}
INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})")  # within 64 bits
DECIMAL = re.compile(r"-?(0|[1-9]\d{0,17})(\.\d+)?")
TRUTHS = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
SHARES = (0.5, 0.9, 0.95, 0.99, 0.999)
OPEN = "all latencies of an open loop count from the scheduled start"
NAME = "NAME"  # in a column's name: a factor's, a setting's, a kind of transaction's


@dataclass(frozen=True)
class Column:
    """One column. ``type`` is None where its values decide: integers, numbers or truths if all are such, else text."""

    name: str
    type: pa.DataType | None
    unit: str
    says: str
    value: Callable[[Any], Any]  # of a part of a recording

    @property
    def type_name(self) -> str:
        return TYPES[self.type] if self.type is not None else "by its values"


@dataclass(frozen=True)
class Group:
    """Columns over the same parts of recordings; a column is there where some recording has its part."""

    says: str
    parts: Callable[[Recording], Mapping[str, Any]]  # by name; one without a name where there is but one
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Filled:
    """A column of one journal."""

    name: str
    type: pa.DataType
    unit: str
    says: str
    values: list[Any]  # None where a recording does not have it


def _at(part: Any, path: str) -> Any:
    """What stands at ``path``, attribute by attribute; None where one of them is."""
    for name in path.split("."):
        part = getattr(part, name) if part is not None else None
    return part


def _one(path: str) -> Callable[[Recording], Mapping[str, Any]]:
    """The part at ``path``, where there is one."""
    return lambda recording: {"": part} if (part := _at(recording, path)) is not None else {}


def _of(name: str, type_: pa.DataType, unit: str, says: str, path: str = "") -> Column:
    """A column whose value is an attribute, of the column's name where no other is given."""
    return Column(name, type_, unit, says, lambda part: _at(part, path or name))


def _latencies(prefix: str, what: str) -> tuple[Column, ...]:
    """Mean, percentiles and maximum of a part's latencies."""

    def at(share: float) -> Column:
        name = f"{prefix}latency_ms_p{share * 100:g}".replace(".", "_")
        says = f"time in which {share * 100:g} % of the {what} ended; empty for fewer than {values_needed(share):,}"
        return Column(name, NUMBER, "ms", says, lambda part: percentile(part.latency, share).value_ms)

    mean, longest = (f"{prefix}latency_ms_{name}" for name in ("mean", "max"))
    return (
        Column(mean, NUMBER, "ms", f"mean time of the {what}; {OPEN}", lambda part: _ms(part.latency, "mean_ns")),
        *map(at, SHARES),
        Column(longest, NUMBER, "ms", f"longest time of the {what}", lambda part: _ms(part.latency, "max_ns")),
    )


def _ms(histogram: Histogram, name: str) -> float | None:
    return float(getattr(histogram, name)) / 1e6 if histogram.count else None


def _level(level: str) -> str | None:
    return None if level == NOT_APPLICABLE else level


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


LEVELS = Group(
    "Of each factor",
    lambda recording: recording.levels,
    (Column(f"level_{NAME}", None, "", f"level of factor {NAME}; empty where it does not apply to the cell", _level),),
)
CELL = Group(
    "Of every cell",
    lambda recording: {"": recording},
    (
        _of("cell", TEXT, "", "id, unique in the table"),
        _of("repetition", COUNT, "", "of the combination of levels, from 1"),
        _of("order", COUNT, "", "position in the run, from 1"),
        _of("seed", COUNT, "", "seed of the random choices; the same for all cells of one repetition"),
        _of("status", TEXT, "", "done, invalid (its figures must not be used) or failed"),
        _of("reason", TEXT, "", "why it is invalid or failed"),
        Column("started_at", TIME, "", "when the cell began", lambda r: _time(r.started_at)),
        Column("ended_at", TIME, "", "when it had ended", lambda r: _time(r.ended_at)),
        _of("acidtest_version", TEXT, "", "version of acidtest that ran the cell"),
        Column("workload", TEXT, "", "name of the workload", lambda r: r.workload.get("name")),
        _of("durability", TEXT, "", "durability level: none, os or drive"),
        _of("engine", TEXT, "", "id of the engine", "engine.id"),
        _of("engine_version", TEXT, "", "version as the engine reports it", "engine.version"),
        _of("filesystem", TEXT, "", "file system beneath the database, as read back", "place.filesystem"),
        _of("device", TEXT, "", "block device beneath the file system", "place.device"),
        _of("mount_options", TEXT, "", "mount options in force", "place.mount_options"),
        _of("write_cache", TEXT, "", "write cache of the drive: write back, write through, unknown",
            "place.write_cache"),
        _of("scheduler", TEXT, "", "scheduler of the block queue", "place.scheduler"),
        _of("cpu_model", TEXT, "", "processor of the machine", "machine.cpu_model"),
        _of("kernel", TEXT, "", "kernel of the machine", "machine.kernel"),
        _of("database_bytes", COUNT, "bytes", "size of the database's files when the run began"),
    ),
)  # fmt: skip
RUN = Group(
    "Of cells that ran to their end",
    _one("result"),
    (
        _of("terminals", COUNT, "", "clients that submitted transactions"),
        Column("threads", COUNT, "", "threads of the load generator", lambda result: result.threads or None),
        _of("warmup_s", NUMBER, "s", "length of the warm-up, which is not measured"),
        _of("measured_s", NUMBER, "s", "length of the measurement"),
        _of("throughput_per_s", NUMBER, "1/s", "attempts that ended in a second, committed or not"),
        _of("goodput_per_s", NUMBER, "1/s", "transactions committed in a second; of scan, reads of the whole table"),
        _of("new_order_per_min", NUMBER, "1/min", "new-order transactions of tpcc committed in a minute"),
        _of("committed", COUNT, "", "transactions that were committed", "counts.committed"),
        _of("rolled_back", COUNT, "", "transactions that their workload rolls back", "counts.rolled_back"),
        _of("conflicts", COUNT, "", "attempts refused because of another transaction", "counts.conflicts"),
        _of("retries", COUNT, "", "attempts after a conflict", "counts.retries"),
        _of("given_up", COUNT, "", "transactions given up after their last retry", "counts.given_up"),
        _of("errors", COUNT, "", "attempts that failed for another reason", "counts.errors"),
        *_latencies("", "transactions"),
        _of("cpu_user_s", NUMBER, "s", "processor time of the rig, with an embedded engine", "cpu.process_user_s"),
        _of("cpu_system_s", NUMBER, "s", "processor time of the rig in the kernel", "cpu.process_system_s"),
        _of("generator_us_per_transaction", NUMBER, "µs", "processor time of the load generator itself",
            "cpu.generator_us_per_transaction"),
        _of("session_us_per_transaction", NUMBER, "µs", "processor time of the calls to the engine",
            "cpu.session_us_per_transaction"),
    ),
)  # fmt: skip
SIZES = Group(
    "Of a measurement during which sizes were looked at",
    lambda recording: {"": recording.sizes} if recording.sizes and recording.result else {},
    (
        Column("database_bytes_max", COUNT, "bytes", "the most that tables and indexes took during the measurement",
               lambda sizes: max(sample.database_bytes for sample in sizes.samples)),
        Column("log_bytes_max", COUNT, "bytes", "the most that the engine's log took during the measurement",
               lambda sizes: max((size for _, size in log_curve(sizes)), default=None)),
    ),
)  # fmt: skip
KINDS = Group(
    "Of each kind of transaction, where there are several",
    lambda recording: {kind.name: kind for kind in recording.result.kinds} if recording.result else {},
    (
        _of(f"{NAME}_committed", COUNT, "", f"{NAME} transactions that were committed", "committed"),
        _of(f"{NAME}_rolled_back", COUNT, "", f"{NAME} transactions that their workload rolls back", "rolled_back"),
        _of(f"{NAME}_conflicts", COUNT, "", f"attempts at {NAME} refused because of another transaction", "conflicts"),
        _of(f"{NAME}_given_up", COUNT, "", f"{NAME} transactions given up after their last retry", "given_up"),
        _of(f"{NAME}_errors", COUNT, "", f"attempts at {NAME} that failed for another reason", "errors"),
        *_latencies(f"{NAME}_", f"{NAME} transactions"),
        _of(f"{NAME}_limit_ms", NUMBER, "ms", f"time in which nine of ten {NAME} transactions must be answered",
            "limit_ms"),
    ),
)  # fmt: skip
ENGINE_COUNTS = Group(
    "Of each of the engine's own counters, where it was asked for them",
    lambda recording: (
        {counter.name: counter for counter in recording.engine_counts.counters} if recording.engine_counts else {}
    ),
    (
        _of(f"engine_{NAME}", COUNT, "", f"{NAME} of the terminals' sessions, by the engine's own count", "sessions"),
        _of(f"engine_{NAME}_database", COUNT, "", f"{NAME} in the whole database, by the engine's own count",
            "database"),
    ),
)  # fmt: skip
ENGINE_COUNTED = Group(
    "Of a cell with such counters",
    _one("engine_counts"),
    (
        _of("engine_committed", COUNT, "", "transactions over which the engine's counters were read", "committed"),
        _of("engine_uncertain", COUNT, "", "of those, as many may be counted in part", "uncertain"),
        _of("engine_not_counted", TEXT, "", "why the engine's counters are missing", "not_counted"),
    ),
)
ARRIVALS = Group(
    "Of an open loop",
    _one("result.arrivals"),
    (
        _of("arrivals_scheduled", COUNT, "", "transactions that were to begin", "scheduled"),
        _of("arrivals_late", COUNT, "", "transactions that began late, because all terminals were busy", "late"),
        _of("arrivals_unfinished", COUNT, "", "transactions that had not ended when the measurement did", "unfinished"),
        _of("arrivals_unfinished_wait_ms_max", NUMBER, "ms", "the longest that one of these had waited",
            "unfinished_wait_ms_max"),
    ),
)  # fmt: skip


CUTS = Group(
    "Of a power cut",
    _one("cut"),
    (
        Column("verdict", TEXT, "", "survived, lost, unknown, or conditions held (no commit was sought)", said_of_cut),
        Column("verdict_reason", TEXT, "", "the first reason for which it is not survived",
               lambda cut: next(iter(cut.reasons), None)),
        _of("failure", TEXT, "", "what was done to the disk"),
        _of("drive", TEXT, "", "what the disk does with flushes"),
        _of("after_failed_flush", TEXT, "", "what the engine did after a failed flush: stopped, went on, hung"),
        _of("at_s", NUMBER, "s", "time from the start of the load to the cut"),
        _of("cycle_s", NUMBER, "s", "time from the start of the load to the verdict"),
        _of("kept_bytes", COUNT, "bytes", "what the cut left of the disk's write cache"),
        _of("lost_bytes", COUNT, "bytes", "what the cut took of the disk's write cache"),
        _of("torn_writes", COUNT, "", "writes of which the cut left a part"),
        _of("filesystem_check", TEXT, "", "answer of the file system's own program: clean, errors, unknown"),
        _of("filesystem_repaired", YES_NO, "", "whether the file system could be mounted only after a repair"),
        _of("filesystem_recovery_s", NUMBER, "s", "time of the mount, with the journal's replay"),
        _of("engine_recovery_s", NUMBER, "s", "time from the engine's start to its first answer"),
        _of("recovery_mount_s", NUMBER, "s",
            "time of the mount of what the cut left, where recovery was timed piece by piece", "recovery.mount_s"),
        _of("recovery_replay_s", NUMBER, "s", "of it, what it took longer than a mount with nothing to replay",
            "recovery.replay_s"),
        _of("recovery_start_s", NUMBER, "s", "time from the engine's start until it took sessions",
            "recovery.start_s"),
        _of("recovery_redo_s", NUMBER, "s", "of it, what it took longer than a start with next to nothing to redo",
            "recovery.redo_s"),
        _of("recovery_first_commit_s", NUMBER, "s", "time from then to the first commit", "recovery.first_commit_s"),
        _of("recovery_full_speed_s", NUMBER, "s", "time from then until the load was as fast as before the cut",
            "recovery.full_speed_s"),
        _of("integrity", TEXT, "", "answer of the engine's own check: holds, broken, unknown", "integrity.holds"),
    ),
)  # fmt: skip
FATES = Group(
    "Of a power cut whose transactions are numbered",
    _one("cut.fate"),
    (
        _of("commits_acknowledged", COUNT, "", "transactions acknowledged before the cut", "acknowledged"),
        _of("commits_present", COUNT, "", "acknowledged transactions that are whole in the database", "present"),
        _of("commits_lost", COUNT, "", "acknowledged transactions that are not there or not whole", "lost"),
        _of("commits_unacknowledged", COUNT, "", "transactions there without an acknowledgement, which is allowed",
            "unacknowledged"),
        _of("transactions_torn", COUNT, "", "transactions that are there in parts", "torn"),
    ),
)  # fmt: skip
STATES = Group(
    "Of crash states",
    _one("cut.states"),
    (
        _of("crash_states_looked_at", COUNT, "", "crash states that were built and looked at", "looked_at"),
        _of("crash_states_survived", COUNT, "", "crash states that survived", "survived"),
        _of("crash_states_lost", COUNT, "", "crash states that lost something", "lost"),
        _of("crash_states_unknown", COUNT, "", "crash states of which nothing is known", "unknown"),
        _of("crash_states_images", COUNT, "", "different contents of the disk among them", "images"),
        _of("crash_states_outcomes", COUNT, "", "different ends that recovery came to", "outcomes"),
        _of("crash_states_drawn", COUNT, "", "crash states that were drawn at random", "drawn"),
        _of("crash_states_drawn_outcomes_once", COUNT, "", "ends of recovery that came up once among the drawn states",
            "drawn_outcomes_once"),
        _of("crash_states_per_s", NUMBER, "1/s", "crash states looked at in a second", "per_s"),
        _of("crash_states_writes", COUNT, "", "writes in the disk's log, from the start of the load", "writes"),
        _of("crash_states_flushes", COUNT, "", "flushes in the disk's log", "flushes"),
        _of("crash_states_shortest", TEXT, "", "file of the failing state that departs least", "shortest"),
        _of("crash_states_damaged", COUNT, "", "crash states that lost and show damage", "damaged"),
        _of("crash_states_undemanded", COUNT, "", "crash states that survived, before the first acknowledged commit",
            "survived_undemanded"),
    ),
)  # fmt: skip
LOADS = Group(
    "Of the load of the database that the cell began with",
    _one("load"),
    (
        _of("load_rows", COUNT, "", "rows loaded", "rows"),
        _of("load_s", NUMBER, "s", "time from the first table to the last index", "seconds"),
        _of("load_sessions", COUNT, "", "sessions that loaded", "sessions"),
        _of("load_rows_per_s", NUMBER, "1/s", "rows loaded in a second", "rows_per_s"),
        _of("load_mb_per_s", NUMBER, "MB/s", "millions of bytes of the rows' values loaded in a second", "mb_per_s"),
    ),
)
SETTINGS = Group(
    "Of each setting that was read back",
    lambda recording: {setting.name: setting.in_force for setting in recording.settings},
    (Column(f"setting_{NAME}", None, "", f"{NAME} in force, as the engine or the system answered it", lambda v: v),),
)
ENGINE = (ENGINE_COUNTED, ENGINE_COUNTS)
GROUPS = (LEVELS, CELL, RUN, SIZES, KINDS, *ENGINE, ARRIVALS, CUTS, FATES, STATES, LOADS, SETTINGS)


def columns(journal: Journal) -> list[Filled]:
    """The columns of ``journal``, with a value for each recording."""
    found = []
    for group in GROUPS:
        parts = [group.parts(recording) for recording in journal.recordings]
        for name in dict.fromkeys(name for of in parts for name in of):
            for column in group.columns:
                values = [column.value(of[name]) if name in of else None for of in parts]
                type_ = column.type if column.type is not None else _type(values)
                found.append(
                    Filled(column.name.replace(NAME, name), type_, column.unit, column.says.replace(NAME, name), values)
                )
    return found


def table(journal: Journal) -> pa.Table:
    """All recordings, in the order of the journal; a figure that a recording does not have is null.

    A field's metadata hold its ``description`` and its ``unit``.
    """
    shown = columns(journal)
    fields = [pa.field(one.name, one.type, metadata={"description": one.says, "unit": one.unit}) for one in shown]
    about = {"experiment": str(journal.header.experiment["name"]), "acidtest_version": journal.header.acidtest_version}
    arrays = [pa.array([_as(one.type, value) for value in one.values], one.type) for one in shown]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=about))


def to_csv(journal: Journal, path: Path) -> None:
    """Write ``path`` as CSV with a header line, in UTF-8. Raises OSError."""
    with path.open("wb") as file:
        pa.csv.write_csv(table(journal), file)


def to_parquet(journal: Journal, path: Path) -> None:
    """Write ``path`` as Parquet. Raises OSError."""
    with path.open("wb") as file:
        pa.parquet.write_table(table(journal), file)


def as_json(journal: Journal) -> dict[str, Any]:
    return {
        "columns": [
            {"name": column.name, "type": str(column.type), "unit": column.unit or None, "description": column.says}
            for column in columns(journal)
        ]
    }


def _type(values: Iterable[str | None]) -> pa.DataType:
    given = [value for value in values if value is not None]
    if given and all(INTEGER.fullmatch(value) for value in given):
        return COUNT
    if given and all(DECIMAL.fullmatch(value) for value in given):
        return NUMBER
    return YES_NO if given and all(value.lower() in TRUTHS for value in given) else TEXT


def _as(type_: pa.DataType, value: Any) -> Any:
    """``value`` as ``type_`` has it; texts become what they say."""
    if not isinstance(value, str) or type_ == TEXT:
        return value
    if type_ == YES_NO:
        return TRUTHS[value.lower()]
    return int(value) if type_ == COUNT else float(value)
