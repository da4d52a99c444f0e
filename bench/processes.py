"""A process, and what it took."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ran:
    """How a process ended; its children that it waited for count as it."""

    exit_code: int  # negative: the signal that ended it
    seconds: float
    cpu_seconds: float
    peak_mb: float  # of the largest process
    output: bytes
    errors: bytes


def run(command: Sequence[str]) -> Ran:
    """Runs a command without input. Who calls it must be small: Linux counts what the process was before its program
    began as its own memory."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        began = time.monotonic()
        # Nobody but wait4 may wait for the process, else its memory is not known.
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=dict(os.environ)
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        output.seek(0)
        errors.seek(0)
        return Ran(
            process.returncode,
            seconds,
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss / 1024,
            output.read(),
            errors.read(),
        )
