"""What shows, while sessions are open, which configuration Firebird 3 took: it has no RDB$CONFIG to be asked.

DeadlockTimeout stands in its lock table. FileSystemCacheThreshold shows in how the database file is open: a page cache
of that size or more makes Firebird open it with O_DIRECT (``src/jrd/os/posix/unix.cpp``). TempCacheLimit shows nowhere.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acidtest.files import kernel_text
from acidtest.formats import firebird_locks


@dataclass(frozen=True)
class Seen:
    """None where nothing was seen."""

    deadlock_timeout_s: int | None = None
    direct: bool | None = None  # whether the database file is open past the file cache

    @property
    def is_all(self) -> bool:
        return self.deadlock_timeout_s is not None and self.direct is not None

    def or_else(self, later: Seen) -> Seen:
        """What was seen, and of the rest what was seen later."""
        return Seen(
            later.deadlock_timeout_s if self.deadlock_timeout_s is None else self.deadlock_timeout_s,
            later.direct if self.direct is None else self.direct,
        )


def look(locks: Path, database: Path, processes: Sequence[int]) -> Seen:
    """Read the lock table in the directory ``locks``, and how ``processes`` have the file ``database`` open."""
    return Seen(_deadlock_timeout_s(locks), _direct(database, processes))


def _deadlock_timeout_s(locks: Path) -> int | None:
    for file in locks.glob("fb_lock_*"):
        with contextlib.suppress(OSError, firebird_locks.NotALockTable):
            return firebird_locks.scan_interval_s(file.read_bytes())
    return None


def _direct(database: Path, processes: Sequence[int]) -> bool | None:
    flags: list[int] = []
    with contextlib.suppress(OSError):
        identity = _identity(database)
        for process in processes:
            with contextlib.suppress(OSError):  # it may end at any moment, and close a file
                for descriptor in Path(f"/proc/{process}/fd").iterdir():
                    with contextlib.suppress(OSError):
                        if _identity(descriptor) == identity:
                            flags.append(_flags(Path(f"/proc/{process}/fdinfo/{descriptor.name}")))
    return any(flag & os.O_DIRECT for flag in flags) if flags else None


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _flags(path: Path) -> int:
    """Of an open file, from fdinfo; see proc_pid_fdinfo(5)."""
    return next(int(line.split()[1], 8) for line in kernel_text(path).splitlines() if line.startswith("flags:"))
