"""An experiment as typed models: what the user wrote, with every default filled in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from acidtest.workload import AnyWorkload, own_keys

Scalar = str | int | float | bool


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Level(Model):
    """One value of a factor. ``set`` holds settings by dotted name; a plain value sets the factor itself."""

    name: str = Field(min_length=1, max_length=80)
    set: dict[str, Scalar] = {}


class PlaceSpec(Model):
    """Where the databases live, and on what storage. What is None stays as the kernel or mkfs has it."""

    kind: Literal["directory", "loop", "device", "raw", "guest", "disk"] = "directory"
    path: str | None = Field(default=None, description="parent directory; by default the output directory itself")
    device: str | None = Field(default=None, description="device, raw: the block device; raw without it takes a loop")
    size_mb: int | None = Field(default=None, ge=16, le=1 << 24, description="of a loop's image, MiB")
    sparse: bool = Field(default=False, description="a loop's image takes its blocks when they are first written")
    filesystem: str | None = Field(default=None, description="loop, device: what is made on it")
    mkfs: str = Field(default="", description="options for mkfs beside ours, as on a command line")
    mount: str = Field(default="defaults", description="mount options, with commas")
    block_size: int | None = Field(default=None, ge=512, le=65_536, description="of the file system, bytes")
    stripe_kb: int | None = Field(default=None, ge=4, le=1 << 20, description="on one disk of the array, KiB")
    stripe_disks: int = Field(default=1, ge=1, le=1_024, description="that hold data, of the array")
    disk_failure: Literal["cut", "cut-in-recovery", "failed-flush", "dropped-flush", "crash-states"] = Field(
        default="cut", description="disk: what acidtest powercut does to it; a flush that fails is followed by a cut"
    )
    disk_states: int = Field(default=200, ge=1, le=1_000_000, description="disk: so many crash states are looked at")
    disk_keeps: Literal["none", "torn", "reordered", "all"] = Field(
        default="none", description="disk: what a power cut leaves of the write cache"
    )
    journal: Literal["internal", "external", "none"] = "internal"
    journal_mb: int | None = Field(default=None, ge=1, le=1 << 16, description="size of the file system's journal, MiB")
    journal_path: str | None = Field(default=None, description="where an external journal's image lies")
    scheduler: str | None = Field(default=None, description="of the block queue")
    scheduler_tunables: str = Field(default="", description='files of queue/iosched: "fifo_batch=8,writes_starved=2"')
    queue: str = Field(default="", description='other files of the block queue: "nomerges=2,wbt_lat_usec=0"')
    read_ahead_kb: int | None = Field(default=None, ge=0, le=1 << 20)
    nr_requests: int | None = Field(default=None, ge=1, le=1 << 20)
    write_cache: Literal["write back", "write through"] | None = Field(
        default=None, description="write through: the kernel takes the drive's word for safe and sends no flush"
    )
    disk: Literal["none", "rotating", "sata-ssd", "nvme"] = Field(
        default="none", description="disk: what it takes its time like; none: as fast as this machine"
    )
    disk_parameters: str = Field(default="", description='disk: of its timing: "rpm=5400,seek_average_ms=9"')
    disk_cache_mb: int = Field(
        default=32, ge=0, le=1 << 16, description="disk: volatile write cache, MiB; 0: it is off"
    )
    disk_sector: Literal[512, 4096] = Field(default=4096, description="disk: written whole or not at all, bytes")
    disk_faults: str = Field(default="", description='disk: with commas: "lie-about-flush, tear every 3rd"')
    disk_medium: Literal["memory", "file"] = Field(default="memory", description="disk: where its content lies")
    guest_memory_mb: int = Field(default=1024, ge=256, le=1 << 20, description="guest: its memory, MiB")
    guest_cpus: int = Field(default=2, ge=1, le=256, description="guest: its processors")
    guest_accelerator: Literal["tcg", "kvm"] = Field(
        default="tcg", description="guest: tcg emulates the processor in software, kvm does not"
    )
    memory_mb: int | None = Field(default=None, ge=4, le=1 << 24, description="limit of the engine and what it caches")
    start: Literal["as-left", "cold", "warm", "cold-machine"] = Field(
        default="as-left", description="the database's pages in the file cache when the run begins"
    )
    access: Literal["as-engine", "normal", "random", "sequential"] = Field(
        default="as-engine", description="the hint on the engine's open database files, see posix_fadvise(2)"
    )


# Keys that mean nothing to a kind of place: a factor that sets one has the level "–" there.
_OF_FILESYSTEMS = (
    "filesystem", "mkfs", "mount", "block_size", "stripe_kb", "stripe_disks", "journal", "journal_mb", "journal_path",
)  # fmt: skip
_OF_QUEUES = ("scheduler", "scheduler_tunables", "queue", "read_ahead_kb", "nr_requests", "write_cache")
_OF_GUESTS = ("guest_memory_mb", "guest_cpus", "guest_accelerator")
_OF_HOST_MEMORY = ("memory_mb", "start", "access")
_OF_DISKS = (
    "disk",
    "disk_parameters",
    "disk_cache_mb",
    "disk_sector",
    "disk_faults",
    "disk_medium",
    "disk_failure",
    "disk_states",
    "disk_keeps",
)
_NOT_OF_GUESTS = ("device", "sparse", "journal", "journal_mb", "journal_path", *_OF_HOST_MEMORY, *_OF_DISKS)
PLACE_KEYS_WITHOUT_MEANING: dict[str, tuple[str, ...]] = {
    "directory": ("device", "size_mb", "sparse", *_OF_FILESYSTEMS, *_OF_QUEUES, *_OF_GUESTS, *_OF_DISKS),
    "loop": ("device", *_OF_GUESTS, *_OF_DISKS),
    "device": ("size_mb", "sparse", *_OF_GUESTS, *_OF_DISKS),
    "raw": (*_OF_FILESYSTEMS, *_OF_GUESTS, *_OF_DISKS),
    "guest": _NOT_OF_GUESTS,
    "guest raw": (*_NOT_OF_GUESTS, *(key for key in _OF_FILESYSTEMS if key != "filesystem")),
    "disk": ("device", "sparse", *_OF_GUESTS),
    "disk raw": ("device", "sparse", *_OF_GUESTS, *(key for key in _OF_FILESYSTEMS if key != "filesystem")),
}


def place_keys_without_meaning(kind: object, filesystem: object) -> tuple[str, ...]:
    """Keys of a place that mean nothing to one of this kind. A guest's disk, and a simulated one, may have the file
    system "raw": none."""
    raw = kind in ("guest", "disk") and filesystem == "raw"
    return PLACE_KEYS_WITHOUT_MEANING[f"{kind} raw" if raw else str(kind)]


class ServerSpec(Model):
    """A server that is not ours, by its connection URL. The password never leaves memory: no journal holds it."""

    family: str  # of families.SERVERS
    host: str  # a name or an address, or the path of a Unix socket or of the directory that holds it
    port: int = Field(ge=1, le=65_535)
    user: str = Field(min_length=1)
    password: SecretStr | None = Field(default=None, exclude=True)
    database: str = Field(min_length=1)
    # Where tables go on PostgreSQL; None: to a schema of acidtest's, in a database that holds no other tables.
    schema_name: str | None = Field(default=None, pattern=r"^[a-z_][a-z0-9_]{0,62}$")


class GrowthSpec(Model):
    """Databases of several sizes, each loaded and measured where it was loaded."""

    sizes: list[str] = Field(min_length=1, description='"9.04 GB", "40 warehouses", "2x memory": of place.memory_mb')
    load: Literal["incremental", "fresh"] = Field(
        default="incremental", description="one database that grows, or each size loaded from nothing"
    )
    statistics: bool = Field(default=True, description="tables and indexes are looked into at each size")


# Version 0.1 wrote these keys of every workload, whichever it was. The digest still has them, so that a journal begun
# by that version can be resumed; keys that came later are not among them.
KEYS_OF_0_1: Mapping[str, Any] = {
    "scale": 1, "row_bytes": 100, "warehouses": 1, "warehouse_percent": 100, "procedures": False, "keying": False,
    "roaming": False, "products": 10_000, "orders_per_call": 100, "repeatable": False, "rows": 5_000, "size_mb": 100,
    "read": "natural", "tables": 1, "table_rows": 100_000, "parts": 3,
}  # fmt: skip


class Experiment(Model):
    """One experiment. Every factor is listed here, also those with one level."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")
    title: str = ""
    question: str = ""
    seed: int = Field(default=1, ge=0, le=2**53)
    repetitions: int = Field(default=5, ge=1, le=1000)
    base: dict[str, str] = {}
    factors: dict[str, list[Level]]
    exclude: list[dict[str, list[str]]] = []
    workload: dict[str, AnyWorkload]
    settings: dict[str, dict[str, Scalar]] = {}
    place: PlaceSpec = PlaceSpec()
    growth: GrowthSpec | None = None
    servers: dict[str, ServerSpec] = {}
    waive: dict[str, str] = {}  # rule of the audit -> why its findings do not count here

    def to_run(self) -> Experiment:
        """Without the workload of power cuts, where there are others: that is for ``acidtest powercut``."""
        return self._with_workloads([name for name, spec in self.workload.items() if not spec.CAN_BE_SURVEYED])

    def to_cut(self) -> Experiment:
        """The workload of power cuts alone, where there is one: the others are for ``acidtest run``."""
        return self._with_workloads([name for name, spec in self.workload.items() if spec.CAN_BE_SURVEYED])

    def _with_workloads(self, names: list[str]) -> Experiment:
        levels = [level for level in self.factors["workload"] if level.set.get("workload", level.name) in names]
        if not levels:
            return self
        return self.model_copy(update={"factors": self.factors | {"workload": levels}})

    @classmethod
    def recorded(cls, dumped: Mapping[str, Any]) -> Experiment:
        """An experiment as a journal holds it, written by this version or an earlier one. Raises ValidationError."""
        workloads = {name: own_keys(table) for name, table in dumped["workload"].items()}
        return cls.model_validate({**dumped, "workload": workloads})

    def digest(self) -> str:
        """Tells experiments apart: SHA-256 over everything that shapes a result (not title, question and waivers)."""
        shaping: dict[str, Any] = self.model_dump(mode="json", exclude={"title", "question", "waive"})
        shaping["workload"] = {name: KEYS_OF_0_1 | table for name, table in shaping["workload"].items()}
        return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()
