"""Who uses a file, a file system or a device, without a lock of our own, which could keep a program from working."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from acidtest import files
from acidtest.files import kernel_text, opened_by, processes
from acidtest.place.facts import parse_mountinfo

LOCKS = Path("/proc/locks")


def is_held(paths: Iterable[Path]) -> bool:
    """By locks that the kernel tells everybody, and by open files of the processes that we may look into."""
    inodes = set()
    for path in paths:
        with suppress(OSError):
            stated = path.stat()
            inodes.add((stated.st_dev, stated.st_ino))
    return bool(inodes) and (_is_locked(inodes) or _is_open(inodes))


def _is_locked(inodes: set[tuple[int, int]]) -> bool:
    """``1: POSIX  ADVISORY  WRITE 3568 fd:00:2531452 0 EOF``: the device's numbers in hex; see proc_locks(5)."""
    with suppress(OSError):
        for line in kernel_text(LOCKS).splitlines():
            for word in line.split():
                major, _, rest = word.partition(":")
                minor, _, inode = rest.partition(":")
                with suppress(ValueError):
                    if inode and (os.makedev(int(major, 16), int(minor, 16)), int(inode)) in inodes:
                        return True
    return False


def _is_open(inodes: set[tuple[int, int]]) -> bool:
    others = (process for process in processes() if int(process.name) != os.getpid())
    return any((opened.st_dev, opened.st_ino) in inodes for process in others for opened in opened_by(process))


def users_of(point: Path) -> list[str]:
    """Processes that have something on the file system mounted at ``point`` open, run from it or are in it:
    ``"bash (123)"``."""
    device = point.stat().st_dev
    return [_named(process) for process in processes() if any(one.st_dev == device for one in _has(process))]


def users_of_device(device: Path) -> list[str]:
    """Processes that have this block device open, or see it mounted in a mount namespace that is not ours."""
    number, ours = device.stat().st_rdev, (files.PROC / "self" / "ns" / "mnt").stat().st_ino

    def uses(process: Path) -> bool:
        if any(one.st_rdev == number and stat.S_ISBLK(one.st_mode) for one in _has(process)):
            return True
        with suppress(OSError):
            if (process / "ns" / "mnt").stat().st_ino != ours:
                mounted = parse_mountinfo(kernel_text(process / "mountinfo"))
                return any(mount.source == str(device) for mount in mounted)
        return False

    return [_named(process) for process in processes() if uses(process)]


def _has(process: Path) -> Iterator[os.stat_result]:
    """What it has open, is in or runs from; of a process that we may not look into, or that is gone, nothing."""
    for link in ("cwd", "root", "exe"):
        with suppress(OSError):
            yield (process / link).stat()
    yield from opened_by(process)


def _named(process: Path) -> str:
    with suppress(OSError):
        return f"{kernel_text(process / 'comm').strip()} ({process.name})"
    return f"({process.name})"  # it has ended since
