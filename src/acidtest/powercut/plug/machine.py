"""What tells that a machine was really off: the kernel's boot id, and how long it has been up."""

from __future__ import annotations

import time
from dataclasses import dataclass

from acidtest.errors import MachineLacks
from acidtest.files import BOOT_ID, kernel_text
from acidtest.powercut.plug.messages import Greeting

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
