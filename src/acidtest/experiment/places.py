"""``[place]``: where the databases live, and which of its keys mean something to which kind of place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field

from acidtest.journal.models import DiskFailure
from acidtest.keys import BYTES, KIB, MIB, SECONDS, Form, Model, Unset


class PlaceSpec(Model):
    """Where the databases live, and on what storage. What is None stays as the kernel or mkfs has it."""

    kind: Literal["directory", "loop", "device", "raw", "guest", "disk", "machine"] = Field(
        default="directory",
        description="The place is a directory, or storage that acidtest makes or takes for each cell.",
    )
    path: Annotated[str | None, Unset("the directory of --out")] = Field(
        default=None, description="Databases, images and mount points are made below this directory."
    )
    device: Annotated[str | None, Unset("a loop, of kind raw; kind device needs it")] = Field(
        default=None,
        description="This block device holds the databases; the command must name it too, with --use-device.",
    )
    size_mb: Annotated[int | None, MIB, Unset("512, or twice the database if that is more")] = Field(
        default=None, ge=16, le=1 << 24, description="The loop, the simulated disk or the guest's disk has this size."
    )
    sparse: bool = Field(
        default=False, description="A loop's image takes its blocks when they are first written, not before the cell."
    )
    filesystem: Annotated[str | None, Unset("none; the kinds that take one need it")] = Field(
        default=None, description="This file system is made and mounted for each cell."
    )
    mkfs: Annotated[str, Form("as on a command line")] = Field(
        default="", description="mkfs is given these options beside acidtest's own."
    )
    mount: Annotated[str, Form("options with commas")] = Field(
        default="defaults", description="The file system is mounted with these options."
    )
    block_size: Annotated[int | None, BYTES, Unset("as mkfs has it")] = Field(
        default=None, ge=512, le=65_536, description="The file system has blocks of this size."
    )
    stripe_kb: Annotated[int | None, KIB, Unset("made for no array")] = Field(
        default=None,
        ge=4,
        le=1 << 20,
        description="The file system is made for an array with a stripe of this size on each disk.",
    )
    stripe_disks: int = Field(default=1, ge=1, le=1_024, description="This many disks of the array hold data.")
    disk_failure: DiskFailure = Field(
        default="cut",
        description="acidtest powercut does this to the simulated disk, to the kernel or to the engine's process; a "
        "flush that fails is followed by a cut, and a link that is lost by the loss of the primary's disk; from "
        "read-error on storage does wrong while its power stays on.",
    )
    replication: Literal[
        "none",
        "asynchronous",
        "semi-synchronous",
        "semi-synchronous-after-commit",
        "synchronous",
        "synchronous-apply",
        "galera",
    ] = Field(
        default="none",
        exclude_if=lambda mode: mode == "none",  # so that the digest is the one of before there was such a key
        description="acidtest powercut gives the engine a replica on a disk of its own, kept up in this mode.",
    )
    disk_states: Annotated[int | None, Unset("200, or with disk_states_s as many as it takes")] = Field(
        default=None, ge=1, le=1_000_000_000, description="At most this many crash states of a load are inspected."
    )
    disk_states_s: Annotated[float | None, SECONDS, Unset("until disk_states are inspected")] = Field(
        default=None,
        gt=0,
        le=31_536_000,
        exclude_if=lambda seconds: seconds is None,  # so that the digest is the one of before there was such a key
        description="Crash states of a load are inspected for this long.",
    )
    disk_recovery_s: Annotated[float | None, SECONDS, Unset("recovery is not timed piece by piece")] = Field(
        default=None,
        ge=5,
        le=86_400,
        exclude_if=lambda seconds: seconds is None,
        description="After a cut load is driven on what it has left, until it is as fast as before, or for this long.",
    )
    disk_keeps: Literal["none", "torn", "reordered", "all"] = Field(
        default="none", description="A power cut leaves this of the simulated disk's write cache."
    )
    journal: Literal["internal", "external", "none"] = Field(
        default="internal",
        description="The file system has its journal inside, on a loop (not beside a simulated disk), or not at all.",
    )
    journal_mb: Annotated[int | None, MIB, Unset("as mkfs has it; 128 of an external one")] = Field(
        default=None, ge=1, le=1 << 16, description="The file system's journal has this size."
    )
    journal_path: Annotated[str | None, Unset("where the other images lie")] = Field(
        default=None, description="The image of an external journal lies below this directory."
    )
    scheduler: Annotated[str | None, Form("one of this kernel's"), Unset("as the kernel has it")] = Field(
        default=None, description="The block queue is given this scheduler."
    )
    scheduler_tunables: Annotated[str, Form('as in "fifo_batch=8,writes_starved=2"')] = Field(
        default="", description="These files of queue/iosched in sysfs are set."
    )
    queue: Annotated[str, Form('as in "nomerges=2,wbt_lat_usec=0"')] = Field(
        default="", description="These other files of the block queue in sysfs are set."
    )
    read_ahead_kb: Annotated[int | None, KIB, Unset("as the kernel has it")] = Field(
        default=None, ge=0, le=1 << 20, description="The kernel reads ahead by up to this much from the block device."
    )
    nr_requests: Annotated[int | None, Unset("as the kernel has it")] = Field(
        default=None, ge=1, le=1 << 20, description="The block queue holds this many requests."
    )
    write_cache: Annotated[Literal["write back", "write through"] | None, Unset("as the drive reports it")] = Field(
        default=None,
        description='The kernel takes the drive to have such a cache; with "write through" it sends no flushes to it.',
    )
    drive_cache: Annotated[Literal["on", "off"] | None, Unset("as the drive has it")] = Field(
        default=None,
        exclude_if=lambda switched: switched is None,  # so that the digest is the one of before there was such a key
        description="The write cache of the drive that device names is switched on or off in the drive itself, and "
        "afterwards back.",
    )
    disk: Literal["none", "rotating", "sata-ssd", "nvme"] = Field(
        default="none",
        description='The simulated disk takes as long as such a drive; with "none" as long as this machine.',
    )
    disk_parameters: Annotated[str, Form('as in "rpm=5400,seek_average_ms=9"')] = Field(
        default="", description="These parameters of the simulated disk's timing differ from those of its kind."
    )
    disk_cache_mb: Annotated[int, MIB] = Field(
        default=32,
        ge=0,
        le=1 << 16,
        description="The simulated disk has a volatile write cache of this size; 0 is off.",
    )
    disk_battery: Literal["none", "good", "dead"] = Field(
        default="none",
        exclude_if=lambda battery: battery == "none",  # so that the digest is the one of before there was such a key
        description="The simulated disk's write cache is a controller's with a battery (BBU), which answers a flush "
        "at once; with a good one the cache outlives a power cut.",
    )
    disk_sector: Annotated[Literal[512, 4096], BYTES] = Field(
        default=4096,
        description="When power fails the simulated disk has written each sector of this size whole, or not.",
    )
    disk_faults: Annotated[str, Form('as in "lie-about-flush, tear every 3rd"')] = Field(
        default="", description="The simulated disk does these things wrong."
    )
    disk_medium: Literal["memory", "file"] = Field(
        default="memory", description="The content of the simulated disk lies in memory, or in a file below path."
    )
    stack: Literal["none", "dm-crypt", "lvm", "md-raid1", "dm-writecache"] = Field(
        default="none",
        exclude_if=lambda stack: stack == "none",  # so that the digest is the one of before there was such a key
        description="In a whole machine this lies between the file system and the simulated disk, or two of them.",
    )
    guest_memory_mb: Annotated[int, MIB] = Field(
        default=1024, ge=256, le=1 << 20, description="The guest has this much memory."
    )
    guest_cpus: int = Field(default=2, ge=1, le=256, description="The guest has this many processors.")
    guest_accelerator: Literal["tcg", "kvm"] = Field(
        default="tcg", description="The guest's processor is emulated in software (tcg), or is the machine's own (kvm)."
    )
    memory_mb: Annotated[int | None, MIB, Unset("no limit")] = Field(
        default=None, ge=4, le=1 << 24, description="The engine and all that it caches get no more memory than this."
    )
    swap_mb: Annotated[int, MIB] = Field(
        default=0,
        ge=0,
        le=1 << 24,
        exclude_if=lambda swap: not swap,  # so that the digest is the one of before there was such a key
        description="So much of the engine's own memory may be swapped out beside memory_mb.",
    )
    start: Literal["as-left", "cold", "warm", "cold-machine"] = Field(
        default="as-left",
        description="The run begins with what is left of the database in the file cache (with a limit: nothing), with "
        "nothing, with all of it, or with the whole machine's file cache empty.",
    )
    access: Literal["as-engine", "normal", "random", "sequential"] = Field(
        default="as-engine", description="The engine's open database files get this hint of posix_fadvise(2)."
    )

    @property
    def disk_cache_is_volatile(self) -> bool:
        """Whether a power cut takes what is in the simulated disk's write cache."""
        return self.disk_cache_mb > 0 and self.disk_battery != "good"


_ANYWHERE = frozenset({"kind", "path"})
_IMAGES = frozenset({"size_mb", "sparse"})
_FILE_SYSTEMS = frozenset({"filesystem", "mkfs", "mount", "block_size", "stripe_kb", "stripe_disks"})
_JOURNALS = frozenset({"journal", "journal_mb", "journal_path"})
_QUEUES = frozenset({"scheduler", "scheduler_tunables", "queue", "read_ahead_kb", "nr_requests", "write_cache"})
_GUESTS = frozenset({"guest_memory_mb", "guest_cpus", "guest_accelerator"})
_DISKS = frozenset(
    {"disk", "disk_parameters", "disk_cache_mb", "disk_battery", "disk_sector", "disk_faults", "disk_medium"}
)

# Of this machine's memory and file cache, neither of which a guest's engine uses. Power cuts do not look after them.
OF_MEMORY = frozenset({"memory_mb", "swap_mb", "start", "access"})
# What acts at a power cut only. Of ``disk_faults`` it is ``tear``: see ``without_cuts``.
OF_CUTS = frozenset({"disk_failure", "disk_states", "disk_states_s", "disk_recovery_s", "disk_keeps", "replication"})

# What each kind of place takes. A key that is not here is without effect there.
KEYS_OF_KIND: Mapping[str, frozenset[str]] = {
    "directory": _ANYWHERE | OF_MEMORY,
    "loop": _ANYWHERE | _IMAGES | _FILE_SYSTEMS | _JOURNALS | _QUEUES | OF_MEMORY,
    "device": _ANYWHERE | {"device", "drive_cache"} | _FILE_SYSTEMS | _JOURNALS | _QUEUES | OF_MEMORY,
    "raw": _ANYWHERE | {"device", "drive_cache"} | _IMAGES | _QUEUES | OF_MEMORY,
    "guest": _ANYWHERE | {"size_mb"} | _FILE_SYSTEMS | _QUEUES | _GUESTS,
    "disk": _ANYWHERE
    | {"size_mb"}
    | _FILE_SYSTEMS
    | (_JOURNALS - {"journal_path"})
    | _QUEUES
    | _DISKS
    | OF_MEMORY
    | OF_CUTS,
    "machine": _ANYWHERE
    | {"size_mb", "stack", "disk_failure", "disk_keeps"}
    | _FILE_SYSTEMS
    | _QUEUES
    | _GUESTS
    | _DISKS,
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
    "drive_cache": (Need("device", None, differs=True),),
    "disk_parameters": (Need("disk", "none", differs=True),),
    "disk_battery": (Need("disk_cache_mb", 0, differs=True),),
    "swap_mb": (Need("memory_mb", None, differs=True),),
    "disk_states": (Need("disk_failure", "crash-states"),),
    "disk_states_s": (Need("disk_failure", "crash-states"),),
    "disk_recovery_s": (Need("disk_failure", "cut"), Need("replication", "none")),
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


def acts_at_cuts_only(key: str, value: object) -> bool:
    """Whether ``value`` of this key of ``[place]`` asks for something that only ``acidtest powercut`` does."""
    if key == "disk_faults":
        return any(part.split()[:1] == ["tear"] for part in str(value).split(","))
    if key == "kind":
        return value == "machine"
    return key in OF_CUTS and value != PlaceSpec.model_fields[key].default


def without_cuts(faults: str) -> str:
    """Of ``disk_faults`` those that act also where no power is cut."""
    parts = (" ".join(part.split()) for part in faults.split(","))
    return ", ".join(part for part in parts if part and part.split()[0] != "tear")
