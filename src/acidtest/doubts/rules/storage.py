"""Our own recordings: what the storage says of itself. It concerns every durable number."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.doubts.drive import has_volatile_cache, without_barriers
from acidtest.finding import Found, rule
from acidtest.journal.models import PlaceFacts


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
