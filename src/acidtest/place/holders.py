"""Whether somebody else has a file open, without a lock of our own, which could keep its program from working."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from acidtest.files import kernel_text

LOCKS = Path("/proc/locks")
PROCESSES = Path("/proc")


def is_held(files: Iterable[Path]) -> bool:
    """By locks that the kernel tells everybody, and by open files of the processes that we may look into."""
    inodes = set()
    for file in files:
        with suppress(OSError):
            stated = file.stat()
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
    for process in PROCESSES.iterdir():
        if not process.name.isdecimal() or int(process.name) == os.getpid():
            continue
        with suppress(OSError), os.scandir(process / "fd") as descriptors:
            for descriptor in descriptors:
                with suppress(OSError):
                    stated = descriptor.stat()
                    if (stated.st_dev, stated.st_ino) in inodes:
                        return True
    return False
