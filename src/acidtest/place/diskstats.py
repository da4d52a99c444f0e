"""What a block device has done, by the counters of /proc/diskstats; see Documentation/admin-guide/iostats.rst of Linux.

A flush that carries nothing is counted as a write of no bytes too, and a write's time has that of the flushes in it
that it brings along: the kernel accounts for the request that contains them.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acidtest.files import kernel_text
from acidtest.filesystems import listed
from acidtest.journal.models import DeviceSample, DeviceWork
from acidtest.place.facts import device_number, mount_of, mounts_now

SECTOR = 512  # of the counters, whatever the device's own
WRAP_MS = 1 << 32  # times are kept in 32 bits


@dataclass(frozen=True)
class Counters:
    """Since the device is there; times are sums over requests."""

    reads: int
    read_sectors: int
    read_ms: int
    writes: int
    written_sectors: int
    write_ms: int
    busy_ms: int
    flush: tuple[int, int] | None  # how many and their ms; None: this kernel or this kind of device does not count them


def device_beneath(path: Path) -> Path | None:
    """The directory in sysfs of the device that counts the requests for ``path``, a file, a directory or a device.

    A partition's disk, for flushes are counted there alone; a mapped device's disk where it has but one. None where
    there is no such device (memory, a network, an overlay), where it does not count, and where a file system spreads
    over several.
    """
    resolved = path.resolve()
    if stat.S_ISBLK(resolved.stat().st_mode):
        number = resolved.stat().st_rdev
        block = _block(f"{os.major(number)}:{os.minor(number)}")
    else:
        mount = mount_of(resolved, mounts_now())
        block = _block(device_number(mount)) if mount else None
        if block and mount and _spread(mount.filesystem, block):
            return None
    while block:
        if (block / "partition").exists():
            block = block.parent
        slaves = list((block / "slaves").glob("*"))
        if len(slaves) != 1:
            break
        block = slaves[0].resolve()
    return block if block and kernel_text(block / "queue" / "iostats", "").strip() == "1" else None


def _block(number: str) -> Path | None:
    try:
        return (Path("/sys/dev/block") / number).resolve(strict=True)
    except OSError:
        return None


def _spread(filesystem: str, block: Path) -> bool:
    """Whether the file system on it has other devices too."""
    return any(len(list(own.parent.iterdir())) > 1 for own in listed(filesystem, block.name))


def counters(block: Path) -> Counters:
    """The counters now. Raises OSError when the device is gone."""
    return parse(kernel_text(block / "stat"), flushes=(block / "mq").is_dir())


def parse(text: str, *, flushes: bool) -> Counters:
    """The numbers of a device's ``stat``, which are those of its line in /proc/diskstats after its name.

    Flushes are the 16th and 17th, since Linux 5.5. Drivers that take no requests (dm, md, zram) leave them at zero;
    those are without an ``mq`` in sysfs.
    """
    numbers = [int(word) for word in text.split()]
    reads, _, read_sectors, read_ms, writes, _, written_sectors, write_ms, _, busy_ms = numbers[:10]
    flush = (numbers[15], numbers[16]) if flushes and len(numbers) >= 17 else None
    return Counters(reads, read_sectors, read_ms, writes, written_sectors, write_ms, busy_ms, flush)


def between(device: str, before: Counters, after: Counters) -> DeviceWork:
    """What ``device`` did from one reading of its counters to a later one."""

    def seconds(first: int, last: int) -> float:
        return (last - first) % WRAP_MS / 1e3

    flushes = flush_s = None
    if before.flush and after.flush:
        flushes, flush_s = after.flush[0] - before.flush[0], seconds(before.flush[1], after.flush[1])
    return DeviceWork(
        device=device,
        reads=after.reads - before.reads,
        read_bytes=(after.read_sectors - before.read_sectors) * SECTOR,
        read_s=seconds(before.read_ms, after.read_ms),
        writes=after.writes - before.writes,
        write_bytes=(after.written_sectors - before.written_sectors) * SECTOR,
        write_s=seconds(before.write_ms, after.write_ms),
        flushes=flushes,
        flush_s=flush_s,
        busy_s=seconds(before.busy_ms, after.busy_ms),
    )


def samples(device: str, read: Sequence[tuple[float, Counters]]) -> list[DeviceSample]:
    """What ``device`` did between each reading of its counters and the next; ``read`` has each with its time in s."""
    found = []
    for (at_s, before), (until_s, after) in itertools.pairwise(read):
        work = between(device, before, after).model_dump(include=set(DeviceSample.model_fields))
        found.append(DeviceSample(at_s=at_s, length_s=until_s - at_s, **work))
    return found
