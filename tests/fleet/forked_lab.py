"""A lab in a process that has been forked: what a fork imports beyond what is there already is paid each time."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.reduction import DupFd
from pathlib import Path

from acidtest.fleet import lab

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000  # see linux/sched.h


def run(
    files: Sequence[DupFd], environment: Mapping[str, str], files_there: Mapping[Path, Path], *, is_root: bool
) -> None:
    """With these as standard streams. The host has other files than this machine: ``files_there``, by their paths."""
    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file.detach(), number)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    os.environ.clear()
    os.environ.update(environment)
    if files_there:
        _unshare(CLONE_NEWNS)
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        for path, there in files_there.items():
            subprocess.run(["mount", "--bind", there, path], check=True)
    if not is_root:
        _unshare(CLONE_NEWUSER)  # takes root away and leaves what may be read
    lab.FLUSHED_S = 0.01
    lab.main()


def _unshare(what: int) -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(what) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
