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
    loses_disk: bool = False  # the disk that is cut never comes back
    cuts_replica: bool = False  # the replica's power fails with the primary's
    cuts_link: bool = False  # a while before, the link between the two carries nothing any more
    replicated: bool = False  # there may be a replica

    @property
    def on_replica(self) -> bool:
        """Whether it is the replica, where there is one, that has to give back what was acknowledged."""
        return self.loses_disk or self.cuts_replica

    @property
    def needs_replica(self) -> bool:
        """Whether it means something only where there is one."""
        return self.cuts_replica or self.cuts_link


FAILURES: Mapping[str, Failure] = {
    failure.name: failure
    for failure in (
        Failure("cut", replicated=True),
        Failure("cut-in-recovery", cuts_recovery=True),
        Failure("failed-flush", fault="eio on flush 1"),  # the flush ends with EIO
        Failure("dropped-flush", fault="drop on flush 1"),  # so it does, and what the write cache held is gone with it
        Failure("kernel-crash", ends="kernel"),
        Failure("kill", ends="engine"),
        Failure("crash-states", builds_states=True),
        Failure("lost-disk", loses_disk=True, replicated=True),
        Failure("both-powers", cuts_replica=True, replicated=True),
        Failure("lost-link", cuts_link=True, loses_disk=True, replicated=True),
    )
}
