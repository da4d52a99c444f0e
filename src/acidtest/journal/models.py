"""What a journal holds: one header, then one recording a cell.

``docs/FORMAT.md`` describes the same for readers of the file. ``FORMAT`` rises when a field changes meaning.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from acidtest.journal.protocol import Checked, Loaded, RunResult

FORMAT = 1

Scalar = str | int | float | bool | None
NOT_APPLICABLE = "–"  # level of a factor that a cell's engine or workload does not have
IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")


class Record(BaseModel):
    """A part of the journal; unknown fields are refused so that a newer format is noticed."""

    model_config = ConfigDict(extra="forbid")


class Warning(Record):  # noqa: A001 - the word of the design
    """A doubt about one number of a recording or of a table."""

    code: str  # stable, kebab-case: "generator-bound", "not-steady", ...
    about: str  # the number it concerns: "goodput_per_s", "latency", "settings", ...
    text: str  # one plain sentence, with the remedy if there is one


class SettingInForce(Record):
    """One setting: what the experiment asked for, what the engine answered, and whether they agree.

    ``asked`` is None when nothing was asked and the engine's value is only recorded.
    """

    name: str
    asked: str | None
    in_force: str | None
    agrees: bool
    source: str  # where it was read: "MON$DATABASE", "header page", "PRAGMA", "RDB$CONFIG", "firebird.conf"


class EngineFacts(Record):
    id: str  # "firebird-5.0", "sqlite"
    version: str  # as the engine reports it: "5.0.4.1812"
    architecture: str  # "x86-64"
    source: str  # where it came from: "PyPI firebird-embedded 5.0.4.4", "built into acidtest-rig"
    mode: str  # "embedded", "SuperServer", ...


class Machine(Record):
    cpu_model: str
    cpu_count: int
    memory_bytes: int
    kernel: str
    os: str
    virtualization: str  # "kvm", "none", "unknown"


class GuestFacts(Record):
    """The virtual machine that the rig and the engine ran in. Rates of one guest are compared with its own only."""

    kernel: str  # package and version
    kernel_sha256: str  # of the package
    qemu: str
    accelerator: str  # "tcg": the processor is emulated in software; "kvm"
    cache: str  # of QEMU's disk: "none" passes by the host's page cache
    cpus: int
    memory_mb: int

    @property
    def name(self) -> str:
        kernel = self.kernel.removeprefix("linux-image-")
        return (
            f"guest {kernel}, QEMU {self.qemu.partition(' ')[0]} {self.accelerator}, {self.cpus} × {self.memory_mb} MiB"
        )


class PlaceFacts(Record):
    """The storage as read back from mountinfo and sysfs; a fact that could not be read is "unknown"."""

    kind: str  # "directory", "loop", "device", "raw", "guest"
    path: str
    filesystem: str
    mount_point: str
    mount_options: str
    device: str
    device_model: str
    rotational: str  # "yes", "no", "unknown"
    write_cache: str  # "write back", "write through", "unknown"
    fua: str  # "yes", "no", "unknown"
    scheduler: str
    read_ahead_kb: str
    free_bytes: int
    nr_requests: str = "unknown"
    mkfs: str = ""  # the command that made the file system; "" where acidtest made none
    journal_device: str = ""  # of a file system whose journal lies apart
    image: str = ""  # the file behind a loop device, and the size that it was made with
    image_on: str = ""  # the file system, device and mount options that the image lies on
    direct_io: str = ""  # whether the image's user passes by the host's page cache: "yes", "no", "" without an image
    guest: GuestFacts | None = None  # of kind "guest"

    def alike(self) -> dict[str, Any]:
        """What two places have in common that were made alike, and two readings of the same one."""
        names = {"path", "free_bytes", *(("device", "journal_device", "mount_point") if self.image else ())}
        guest = {f"guest_{name}": getattr(self.guest, name, "") for name in GuestFacts.model_fields}
        return self.model_dump(exclude={*names, "guest"}) | guest

    @property
    def memory(self) -> str:
        """The file system, or that of the image, if it is memory: flushes cost nothing there. Else ""."""
        return next((one for one in (self.filesystem, self.image_on.partition(" ")[0]) if one in IN_MEMORY), "")

    @property
    def in_memory(self) -> bool:
        return self.memory != ""


class MemorySample(Record):
    """What memory held at one time. Counts rise from the moment the engine was started; pages are the kernel's."""

    at_s: float  # from the beginning of the measurement, to about 0.1 s; negative before it
    usage_bytes: int | None  # of the control group; None without a limit, as the next ones
    file_bytes: int | None  # file cache
    engine_bytes: int | None  # the processes' own memory and shared memory: where the engine's cache is
    swap_bytes: int | None
    refaults_file: int | None  # pages of files that were pushed out and had to be read again
    refaults_engine: int | None
    major_faults: int | None
    stalled_some_us: int | None  # time in which some process, or every one, waited for memory
    stalled_full_us: int | None
    database_bytes: int  # size of the database's files
    resident_bytes: int  # of those, in the file cache
    dirty_bytes: int | None  # of those, not yet written
    read_calls: int  # of the engine's processes that live
    storage_read_bytes: int  # what they had to have fetched from storage


class Memory(Record):
    """The memory that a cell was given, how its file cache began, and what it held over time."""

    limit_bytes: int | None  # in force; None: without a limit
    limit_source: str | None  # "cgroup v1", "cgroup v2"
    swap: str | None  # how swapping was held off, as read back
    peak_bytes: int | None  # the most the control group held, by the kernel's account
    killed: int  # processes that the kernel killed because of the limit
    start: str  # in force when the engine was started: "as-left", "cold", "warm", "cold-machine"
    resident_bytes_at_start: int  # of the database's files in the file cache, just before the engine was started
    residency_source: str  # "cachestat", "mincore"
    pressure_source: str | None  # "control group", or "machine" where the group has no figure of its own
    access: str  # the hint on the engine's open database files: "as-engine", "normal", "random", "sequential"
    hinted_descriptors: int  # that had the hint; the kernel cannot be asked for it
    cache_bytes: int | None  # the engine's own page cache, from its settings in force; None where it is not known
    samples: list[MemorySample]

    @property
    def twice_bytes_max(self) -> int | None:
        """Double caching: the most of the database that engine and file cache can both have held at the end.

        An upper bound: neither says which pages it holds.
        """
        if self.cache_bytes is None or not self.samples:
            return None
        return min(self.cache_bytes, self.samples[-1].resident_bytes)


def counted(kind: str) -> str:
    """What the rates of a kind of workload count."""
    return "reads" if kind == "scan" else "commits"


class Recording(Record):
    """All that one cell produced."""

    kind: Literal["recording"] = "recording"
    cell: str  # stable id, unique in the journal
    levels: dict[str, str]  # factor -> level name, in the experiment's order
    repetition: int  # 1-based
    order: int  # 1-based position in the plan's order
    seed: int
    status: Literal["done", "invalid", "failed"]
    reason: str | None  # why it is invalid or failed; None when done
    started_at: str  # ISO 8601, UTC
    ended_at: str
    acidtest_version: str
    workload: dict[str, Any]  # the parameters in force: name, scale, terminals, pacing, warmup_s, ...
    durability: str
    durability_means: str  # one line: which engine settings this level stands for
    engine: EngineFacts | None
    settings: list[SettingInForce]
    machine: Machine
    place: PlaceFacts
    database_bytes: int  # size of the database's files when the run began
    checks_before: Checked | None
    checks_after: Checked | None
    load: Loaded | None = None  # how the template was loaded that this cell's database is a copy of
    memory: Memory | None = None  # None where neither a limit nor a start nor a hint was asked for
    result: RunResult | None  # None when failed before the run ended
    warnings: list[Warning]
    engine_log: str = Field(default="")  # what the engine wrote to its own log during the cell, cut to 16 KiB


class Header(Record):
    """First line of a journal."""

    kind: Literal["header"] = "header"
    format: int = FORMAT
    acidtest_version: str
    created_at: str
    experiment: dict[str, Any]  # the experiment as validated, every default filled in
    digest: str  # of the above; a journal takes cells of this experiment only
    factors: dict[str, list[str]]  # factor -> level names, in order
    base: dict[str, str]  # factor -> level whose result is 100; may name some factors only
    cells: int  # planned cells, repetitions included


class Journal(Record):
    """A journal read into memory."""

    path: str
    header: Header
    recordings: list[Recording]
    torn_bytes: int  # bytes of a last line cut off by a crash; 0 when whole
