"""What switches the machine off and on: commands of the user's, on the witness."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

from acidtest.errors import AcidtestError
from acidtest.words import harmless

COMMAND_S = 120.0
POLL_S = 0.05


@dataclass(frozen=True)
class Switch:
    """A socket that can be switched. Each command is the shell's, and is done when it has ended with code 0."""

    off: str
    on: str

    def switch_off(self, meanwhile: Callable[[float], None]) -> None:
        """``meanwhile`` is called for so many seconds again and again. Raises AcidtestError."""
        _run("--switch-off", self.off, meanwhile)

    def switch_on(self) -> None:
        """Raises AcidtestError."""
        _run("--switch-on", self.on, time.sleep)


def _run(option: str, command: str, meanwhile: Callable[[float], None]) -> None:
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            end = time.monotonic() + COMMAND_S
            while process.poll() is None and time.monotonic() < end:
                meanwhile(POLL_S)
            ended = process.poll()
        finally:
            if process.poll() is None:  # with whatever it has started
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        said = " / ".join(output.read()[-2000:].decode(errors="replace").strip().splitlines()[-3:])
    if ended != 0:
        how = f"did not end within {COMMAND_S:.0f} s" if ended is None else f"ended with code {ended}"
        raise AcidtestError(
            harmless(f"{option} {command}: {how}: {said or 'it said nothing'}"),
            "mend it, see whether the machine has its power, and run the same command again",
        )
