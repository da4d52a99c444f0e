"""The machine that is cut: how its power is switched, and what tells that it was really off."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

from acidtest.errors import AcidtestError, MachineLacks
from acidtest.files import BOOT_ID, kernel_text
from acidtest.powercut.plug.messages import Greeting
from acidtest.words import harmless

TOLERANCE_S = 2.0  # clocks of two machines drift, and a message takes its time


def boot_id() -> str:
    """Raises MachineLacks."""
    try:
        return kernel_text(BOOT_ID).strip()
    except OSError as error:
        raise MachineLacks(
            f"{BOOT_ID}: cannot be read: {error.strerror}", "without it nothing tells that the machine was off"
        ) from None


def uptime_s() -> float:
    """Since the kernel started, in sleep too; see clock_gettime(2)."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True)
class Seen:
    """A greeting, and when the witness has heard it, by its own monotonic clock."""

    greeting: Greeting
    at_s: float


def not_restarted(before: Seen, after: Seen, cut_s: float) -> str:
    """Why what came back does not count as a machine whose power was cut at ``cut_s`` of the witness's clock; "" it
    does."""
    if after.greeting.boot_id == before.greeting.boot_id:
        return "the machine did not restart: its boot id is the same as before"
    passed = after.at_s - cut_s
    if after.greeting.uptime_s > passed + TOLERANCE_S:
        return (
            f"the machine did not restart: it says that it has been up for {after.greeting.uptime_s:.0f} s, and its "
            f"power was cut {passed:.0f} s before"
        )
    return ""


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
        text = " / ".join(output.read()[-2000:].decode(errors="replace").strip().splitlines()[-3:])
    if ended != 0:
        how = f"did not end within {COMMAND_S:.0f} s" if ended is None else f"ended with code {ended}"
        raise AcidtestError(
            harmless(f"{option} {command}: {how}: {text or 'it said nothing'}"),
            "repair it, see whether the machine has its power, and run the same command again",
        )
