"""``[place]``: where the databases live, and which of its keys mean something to which kind of place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import Field

from acidtest.experiment.model import Model


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


_ANYWHERE = frozenset({"kind", "path"})
_IMAGES = frozenset({"size_mb", "sparse"})
_FILE_SYSTEMS = frozenset({"filesystem", "mkfs", "mount", "block_size", "stripe_kb", "stripe_disks"})
_JOURNALS = frozenset({"journal", "journal_mb", "journal_path"})
_QUEUES = frozenset({"scheduler", "scheduler_tunables", "queue", "read_ahead_kb", "nr_requests", "write_cache"})
_GUESTS = frozenset({"guest_memory_mb", "guest_cpus", "guest_accelerator"})
_DISKS = frozenset({"disk", "disk_parameters", "disk_cache_mb", "disk_sector", "disk_faults", "disk_medium"})

# Of this machine's memory and file cache, neither of which a guest's engine uses. Power cuts do not look after them.
OF_MEMORY = frozenset({"memory_mb", "start", "access"})
# What acts at a power cut only. Of ``disk_faults`` it is ``tear``: see ``without_cuts``.
OF_CUTS = frozenset({"disk_failure", "disk_states", "disk_keeps"})

# What each kind of place takes. A key that is not here is without effect there.
KEYS_OF_KIND: Mapping[str, frozenset[str]] = {
    "directory": _ANYWHERE | OF_MEMORY,
    "loop": _ANYWHERE | _IMAGES | _FILE_SYSTEMS | _JOURNALS | _QUEUES | OF_MEMORY,
    "device": _ANYWHERE | {"device"} | _FILE_SYSTEMS | _JOURNALS | _QUEUES | OF_MEMORY,
    "raw": _ANYWHERE | {"device"} | _IMAGES | _QUEUES | OF_MEMORY,
    "guest": _ANYWHERE | {"size_mb"} | _FILE_SYSTEMS | _QUEUES | _GUESTS,
    "disk": _ANYWHERE | {"size_mb"} | _FILE_SYSTEMS | _JOURNALS | _QUEUES | _DISKS | OF_MEMORY | OF_CUTS,
}
RAW = "raw"  # in place of a file system, where a guest's disk or a simulated one has none


@dataclass(frozen=True)
class Need:
    """What a key needs beside its kind of place: another key that has, or has not, a value."""

    key: str
    value: object
    differs: bool = False

    def met(self, values: Mapping[str, Any]) -> bool:
        return bool(values[self.key] == self.value) != self.differs

    def __str__(self) -> str:
        if self.value is None:
            return self.key if self.differs else f"a place without {self.key}"
        return f'{self.key} {"other than" if self.differs else "="} "{self.value}"'


# Keys that mean something only beside others.
NEEDS: Mapping[str, tuple[Need, ...]] = {
    "size_mb": (Need("device", None),),
    "sparse": (Need("device", None),),
    "disk_parameters": (Need("disk", "none", differs=True),),
    "disk_states": (Need("disk_failure", "crash-states"),),
    "disk_keeps": (Need("disk_failure", "crash-states", differs=True),),
} | {
    key: (
        Need("filesystem", RAW, differs=True),
        *([Need("stripe_kb", None, differs=True)] if key == "stripe_disks" else []),
        *([Need("journal", "external")] if key == "journal_path" else []),
    )
    for key in (_FILE_SYSTEMS | _JOURNALS) - {"filesystem"}
}
DECIDING = ("kind", *dict.fromkeys(need.key for needs in NEEDS.values() for need in needs))


@cache
def keys_of(deciding: tuple[object, ...]) -> frozenset[str]:
    """The keys that mean something to a place whose ``DECIDING`` keys have these values."""
    values = dict(zip(DECIDING, deciding, strict=True))
    known = KEYS_OF_KIND.get(str(values["kind"]), frozenset())
    for key in values.keys() - known:
        values[key] = PlaceSpec.model_fields[key].default  # it decides nothing where it means nothing
    return frozenset(key for key in known if all(need.met(values) for need in NEEDS.get(key, ())))


def without_cuts(faults: str) -> str:
    """Of ``disk_faults`` those that act also where no power is cut."""
    parts = (" ".join(part.split()) for part in faults.split(","))
    return ", ".join(part for part in parts if part and part.split()[0] != "tear")
