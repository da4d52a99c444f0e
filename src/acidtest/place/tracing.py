"""By what means an engine's system calls can be watched here, and the trace instances that a killed rig leaves.

The kernel's tracing is reached through a mount of tracefs that is at no directory: nothing has to be mounted for it,
and nothing stays mounted. Its instances are everybody's, wherever tracefs is mounted; see the kernel's
Documentation/trace/ftrace.rst.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from acidtest.errors import CellFailed, MachineLacks
from acidtest.files import remove_once_idle
from acidtest.place import mounts

FIRST_PIDS = "pid:[4026531836]"  # the kernel's own process numbers, which its traces bear; PROC_PID_INIT_INO


@contextmanager
def _tracefs() -> Iterator[Path]:
    root = mounts.unseen("tracefs")
    try:
        yield Path(f"/proc/self/fd/{root}")
    finally:
        os.close(root)


def kernel_lacks() -> str:
    """What keeps the kernel's tracing from us, "" when nothing does."""
    if Path("/proc/self/ns/pid").readlink().name != FIRST_PIDS:
        return "this is a container with process numbers of its own"
    try:
        with _tracefs() as root:
            if not (root / "events" / "syscalls").is_dir():
                return "this kernel has no events for system calls (CONFIG_FTRACE_SYSCALLS)"
            return "" if os.access(root / "instances", os.W_OK) else "tracefs may not be written to"
    except CellFailed as error:
        return error.message


def means() -> Literal["kernel", "strace"]:
    """The best means that this machine has. Raises MachineLacks where there is none."""
    lacks = kernel_lacks()
    if not lacks:
        return "kernel"
    if strace():
        return "strace"
    raise MachineLacks(
        f"system calls cannot be watched: {lacks}, and strace is not installed",
        "run as root (sudo acidtest ...), or install strace: apt-get install strace (Debian)",
    )


def strace() -> str | None:
    """The program, if it is here."""
    return shutil.which("strace")


def remove(name: str) -> bool:
    """Remove the instances of this name; whether there was one. Raises OSError when one stays."""
    try:
        with _tracefs() as root:
            instances = (root / "instances" / name, root / "instances" / f"{name}-storage")
            removed = [_remove(instance) for instance in instances]
            return any(removed)
    except CellFailed as error:
        raise OSError(errno.EPERM, error.message, name) from None


def _remove(instance: Path) -> bool:
    if not instance.is_dir():
        return False
    with contextlib.suppress(OSError):
        (instance / "tracing_on").write_text("0", encoding="utf-8")
    return remove_once_idle(instance)  # its reader, killed a moment ago, may have it open still
