"""The access hint of posix_fadvise(2) on the open files of an unmodified engine, given from outside.

The kernel keeps the hint with the open file description, not with the file: given on a descriptor of our own it would
change nothing for the engine. pidfd_getfd(2) hands us a second descriptor of the engine's very description, and the
hint given on that is what the engine's reads go by. docs/ACCESS-HINTS.md has the ways that were weighed.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

from acidtest.errors import MachineLacks

SYS_PIDFD_GETFD = 438  # the same on every architecture
ADVICE = {
    "normal": os.POSIX_FADV_NORMAL,
    "random": os.POSIX_FADV_RANDOM,
    "sequential": os.POSIX_FADV_SEQUENTIAL,
}

_libc = ctypes.CDLL(None, use_errno=True)


class Hint:
    """One hint, given again and again: a server's processes open files when they first need them."""

    def __init__(self, access: str, paths: Iterable[Path]) -> None:
        """``paths`` are the database's files, and directories with nothing but such files below them."""
        self._advice = ADVICE[access]
        self._wanted = {str(path.resolve()) for path in paths}  # as /proc/PID/fd tells them
        self._below = tuple(f"{path}/" for path in self._wanted)
        self._given: set[tuple[int, int]] = set()

    @property
    def descriptors(self) -> int:
        """Descriptors of the database's files, of all processes, that have had the hint."""
        return len(self._given)

    def give(self, pids: Iterable[int]) -> None:
        """Give it on every descriptor of these processes that has a file of the database open now."""
        for pid in pids:
            try:
                numbers = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208 - paths would take three times as long
                descriptors = [int(number) for number in numbers if self._is_ours(_target(pid, number))]
                process = os.pidfd_open(pid) if descriptors else -1
            except OSError:
                continue  # it has ended
            try:
                for number in descriptors:
                    if advise(process, number, self._advice):
                        self._given.add((pid, number))
            finally:
                if process >= 0:
                    os.close(process)

    def _is_ours(self, target: str) -> bool:
        return target in self._wanted or target.startswith(self._below)


def _target(pid: int, number: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/fd/{number}")  # noqa: PTH115 - as above
    except OSError:
        return ""


def advise(process: int, number: int, advice: int) -> bool:
    """Give ``advice`` on descriptor ``number`` of the process behind a pidfd; whether it is still open there."""
    descriptor = _libc.syscall(SYS_PIDFD_GETFD, process, number, 0)
    if descriptor < 0:
        return False
    try:
        os.posix_fadvise(descriptor, 0, 0, advice)
    finally:
        os.close(descriptor)  # ours; the engine keeps its own, and its locks
    return True


def may_hint() -> None:
    """Raise MachineLacks unless this kernel has pidfd_getfd(2) (Linux 5.6)."""
    try:
        process = os.pidfd_open(os.getpid())
    except (AttributeError, OSError):
        works = False
    else:
        with Path(os.devnull).open("rb") as null:
            works = advise(process, null.fileno(), os.POSIX_FADV_NORMAL)
        os.close(process)
    if not works:
        raise MachineLacks(
            "place.access: this kernel, or the container around us, does not allow pidfd_getfd",
            'leave place.access at "as-engine", or use Linux 5.6 or later',
        )
