"""What fails under load, the drive or what uses it, by the name that ``place.disk_failure`` gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Failure:
    """One way to fail. Unless ``builds_states``, what ``ends`` does so under load, and at least once."""

    name: str
    fault: str = ""  # one that the disk gets under load, in the words of docs/SIMULATED-DISK.md, a while before the cut
    cuts_recovery: bool = False  # power fails again while the engine recovers
    # The power; the kernel, whose file cache is lost while the drive keeps its own; or the engine's process alone.
    ends: Literal["power", "kernel", "engine"] = "power"
    builds_states: bool = False  # no power fails: one load is logged, and states that a cut could have left are built


FAILURES: Mapping[str, Failure] = {
    failure.name: failure
    for failure in (
        Failure("cut"),
        Failure("cut-in-recovery", cuts_recovery=True),
        Failure("failed-flush", fault="eio on flush 1"),  # the flush ends with EIO
        Failure("dropped-flush", fault="drop on flush 1"),  # so it does, and what the write cache held is gone with it
        Failure("kernel-crash", ends="kernel"),
        Failure("kill", ends="engine"),
        Failure("crash-states", builds_states=True),
    )
}
