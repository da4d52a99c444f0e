"""What a measurement waited for on its block device: reads, writes, flushes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acidtest.journal.models import DeviceWork


@dataclass(frozen=True)
class Waits:
    """Of one kind of request, over all measurements together."""

    count: int
    share: float | None  # of the time of all requests; None where there was none
    mean_ms: float | None  # of one; None where there was none


@dataclass(frozen=True)
class DeviceShares:
    """Where the time of a device's requests went. Shares of reads, writes and flushes add up to 1."""

    reads: Waits
    writes: Waits  # with their flushes, where those are not counted apart
    flushes: Waits | None  # None where they are not counted
    busy_share: float  # of the measured time, in which at least one request was under way; at most 1
    depth: float  # requests under way at a time, mean over the measured time


def shares(measured: Sequence[tuple[DeviceWork, float]]) -> DeviceShares | None:
    """``measured`` has the work and the measured seconds of each repetition; None where there is nothing to divide.

    The kernel has the time of a flush in the write that brings it along, and takes a flush that carries nothing for a
    write of no bytes: what is left to writes is their time less that of the flushes. The number of writes proper is not
    known then, so a write's mean time is over all that the kernel counts, and so a lower bound.
    """
    measured_s = sum(seconds for _, seconds in measured)
    works = [work for work, _ in measured]
    if measured_s <= 0:
        return None
    flush_s = flushes = None
    if all(work.flushes is not None and work.flush_s is not None for work in works):
        flushes, flush_s = sum(work.flushes or 0 for work in works), sum(work.flush_s or 0.0 for work in works)
    read_s = sum(work.read_s for work in works)
    write_s = max(0.0, sum(work.write_s for work in works) - (flush_s or 0.0))
    whole_s = read_s + write_s + (flush_s or 0.0)

    def waits(count: int, seconds: float) -> Waits:
        return Waits(count, seconds / whole_s if whole_s else None, seconds * 1e3 / count if count else None)

    return DeviceShares(
        reads=waits(sum(work.reads for work in works), read_s),
        writes=waits(sum(work.writes for work in works), write_s),
        flushes=None if flushes is None or flush_s is None else waits(flushes, flush_s),
        busy_share=min(1.0, sum(work.busy_s for work in works) / measured_s),
        depth=whole_s / measured_s,
    )
