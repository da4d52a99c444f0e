"""Who measures on this machine: a lock that every lab sees, so that a lab of a fleet is alone and others wait for it.

Labs that are started on the machine itself share it, as they always did. A lab that a fleet has sent has the machine
alone: it begins when nobody else is at work, and until it has done nobody else begins. The locks are the kernel's
(flock(2)), so a lab that is killed holds none.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LOCKS = Path("/run/lock")
NAME = "acidtest-machine"
POLL_S = 0.05
TOLD_AFTER_S = 1.0

Tell = Callable[[str], None]


def lock_file() -> Path:
    """``$ACIDTEST_LEASE``, for containers that share a machine and its lock; else one file of the whole machine."""
    if given := os.environ.get("ACIDTEST_LEASE"):
        return Path(given)
    return (LOCKS if LOCKS.is_dir() and os.access(LOCKS, os.W_OK) else Path(tempfile.gettempdir())) / NAME


@contextmanager
def leased(*, alone: bool, who: str, tell: Tell, beside: str = "") -> Iterator[None]:
    """Hold this machine within: ``alone``, or with others that are not alone. ``tell`` hears who has it while we wait.

    Who wants it alone is next: nobody else begins while he waits. With ``beside``, a holder in whose words that stands
    lets us in: we are of one run. Raises OSError where the lock cannot be made.
    """
    path = lock_file()
    following = path.with_name(f"{path.name}-next")
    with _opened(path) as machine, _opened(following) as turn:
        kind = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
        if not (_lock(turn, kind, path, tell, beside) and _lock(machine, kind, path, tell, beside)):
            yield
            return
        if alone:
            _say(path, who)
        else:
            fcntl.flock(turn, fcntl.LOCK_UN)
        try:
            yield
        finally:
            if alone:
                _say(path, "")


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Only to be locked. A file of another user's in a directory for all may be opened, but not as one to be made."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            os.fchmod(handle, 0o666)  # whatever the umask is: others write who has the machine
        except FileExistsError:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int, kind: int, path: Path, tell: Tell, beside: str) -> bool:
    """Whether it was locked, and not held by one whom we are ``beside``."""
    began, is_told = time.monotonic(), False
    while True:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if beside and beside in holder(path):
                return False
            if not is_told and time.monotonic() - began > TOLD_AFTER_S:
                is_told = True
                tell(f"waiting for this machine, which {holder(path)} has")
            time.sleep(POLL_S)


def holder(path: Path) -> str:
    """Who has it alone, by his own words; else the processes that the kernel names."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        text = ""
    if not text and (processes := _processes(path)):
        several = "process" if len(processes) == 1 else "processes"
        return f"another acidtest ({several} {', '.join(map(str, processes))})"
    return text or "another acidtest"


def _processes(path: Path) -> list[int]:
    """Those that have locked it and are of our own view of processes; see proc_locks(5)."""
    try:
        file = path.stat()
        locks = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
    except (OSError, ValueError):
        return []
    inode = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    held = (int(of[4]) for of in locks if len(of) > 5 and of[1] == "FLOCK" and of[5] == inode)
    return sorted({process for process in held if process > 0})


def _say(path: Path, who: str) -> None:
    """Not as a file to be made: another user's in a directory for all cannot be opened so (fs.protected_regular)."""
    with contextlib.suppress(OSError):  # not ours to write: the lock holds all the same
        handle = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(handle, who.encode())
        finally:
            os.close(handle)
