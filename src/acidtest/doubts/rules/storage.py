"""Our own recordings: what the storage says of itself, and how often its drive turns at most.

It concerns every durable number.
"""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.analysis.expected_loss import BACKED, CACHE_OFF
from acidtest.doubts.flushes import VIRTUAL_WORDS
from acidtest.drives import TURNS_PER_S_COMMON, TURNS_PER_S_MOST
from acidtest.filesystems import WITHOUT_FLUSHES
from acidtest.finding import Found, rule
from acidtest.journal.models import Machine, PlaceFacts

ROTATING = "rotating"  # the timing of a simulated disk that turns
RPM = "rpm "  # its parameter, as the place's facts write it
UNKNOWN = "unknown"
CONTROLLER_WORDS = ("raid", "perc", "array", "logical volume", "virtual disk")  # of models; these may have a battery


@rule(
    "guest",
    severity="note",
    says="Measured in a virtual machine: compare it with rows of the same one only.",
    remedy="Compare with the same guest's rows, as the tables do.",
    source="acidtest help docs/GUEST.md",
    about="place",
)
def guest(place: PlaceFacts) -> Iterator[Found]:
    if place.guest:
        emulated = (
            " Its processor is emulated in software, many times slower: what an engine computes weighs more than it "
            "would, what the storage does less, and absolute figures mean nothing."
        )
        yield Found(
            f"Measured in a virtual machine ({place.guest.name}): compare it with rows of the same guest only."
            f"{emulated if place.guest.accelerator == 'tcg' else ''}"
        )


@rule(
    "in-memory",
    severity="doubtful",
    says="The databases lay in memory: flushes cost nothing there.",
    remedy="Give a directory on the drive you want to know about.",
    source="tmpfs(5)",
    about="place",
)
def in_memory(place: PlaceFacts) -> Iterator[Found]:
    if place.in_memory:
        yield Found(f"The databases lay on {place.memory}, which is memory: flushes cost nothing there.")


@rule(
    "write-cache-unknown",
    severity="note",
    says="What write cache the drive has could not be read: whether flushes are needed or honoured is not known.",
    remedy="acidtest probe looks at it closely.",
    source="Linux kernel, Documentation/block/writeback_cache_control.rst",
    about="place",
)
def write_cache_unknown(place: PlaceFacts) -> Iterator[Found]:
    if place.write_cache == "unknown" and not place.disk and not place.in_memory:
        yield Found(
            "What write cache the drive has could not be read: whether flushes are needed or honoured is not known."
        )


@rule(
    "no-barriers",
    severity="doubtful",
    says="The file system was mounted so that it sends its drive no flush: commits called durable lie in the drive's "
    "volatile cache.",
    remedy="Mount it without that option, or call no commit from here durable.",
    source="ext4(5), barrier; Linux kernel, Documentation/block/writeback_cache_control.rst",
    about="place",
)
def no_barriers(place: PlaceFacts) -> Iterator[Found]:
    option = without_barriers(place)
    if option and has_volatile_cache(place) and not place.in_memory:
        yield Found(
            f"The file system was mounted with {option} and sends its drive no flush: no commit here is durable."
        )


@rule(
    "write-through",
    severity="note",
    says="The drive reports no volatile write cache, so the kernel sends it no flushes.",
    remedy="Know your drive: only a power cut proves it.",
    source="Linux kernel, Documentation/block/writeback_cache_control.rst",
    about="place",
)
def write_through(place: PlaceFacts) -> Iterator[Found]:
    if place.write_cache == "write through" and not place.in_memory:
        yield Found(
            "The drive reports no volatile write cache, so the kernel sends it no flushes: durable commits are as safe "
            "as that report is true."
        )


def turns_per_s(place: PlaceFacts, machine: Machine) -> tuple[float, str] | None:
    """How often the drive turns a second at most, and the fact that says so; None where that is not known.

    A simulated disk turns as often as it was told to. A real one does not say how often, so it is taken for one of the
    fastest, with 15,000 turns a minute. A write cache that keeps its content makes turns meaningless, so nothing is
    known unless the drive itself says that its cache is volatile; nor of what a virtual machine or a controller calls a
    drive, of an image (whose drive's cache is not in its recording), of a mapped device or an array (which may have a
    fast drive among them), and of a file system whose journal lies elsewhere.
    """
    if place.disk:
        timing, *details = place.disk.split(", ")
        if timing != ROTATING or BACKED in details:
            return None
        rpm = next(
            (float(detail.removeprefix(RPM)) for detail in details if detail.startswith(RPM)), 60 * TURNS_PER_S_COMMON
        )
        return rpm / 60, f"simulated disk: {place.disk}"
    if place.kind not in ("directory", "device", "raw") or place.image or place.journal_device or place.in_memory:
        return None
    if place.rotational != "yes" or not has_volatile_cache(place) or place.device_model == UNKNOWN:
        return None
    if machine.virtualization != "none" or any(
        word in place.device_model.lower() for word in (*VIRTUAL_WORDS, *CONTROLLER_WORDS)
    ):
        return None
    return TURNS_PER_S_MOST, f"{place.device_model} ({place.device}): rotates, with a volatile write cache"


def has_volatile_cache(place: PlaceFacts) -> bool:
    """Whether the drive itself says that a power cut takes what is in its write cache."""
    if place.disk:
        return not {CACHE_OFF, BACKED} & set(place.disk.split(", "))
    return place.write_cache == "write back"


def without_barriers(place: PlaceFacts) -> str:
    """The mount option by which the file system sends its drive no flush, or that of the one beneath an image; ""
    where there is none."""
    mounted = place.mount_options.split(",")
    beneath = place.image_on.partition("(")[2].rstrip(")").replace(",", " ").split()
    return next((option for option in sorted(WITHOUT_FLUSHES) if option in mounted or option in beneath), "")
