"""What fails under load, the drive or what uses it, by the name that ``place.disk_failure`` gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Wrong:
    """What storage does wrong while its power stays on. The engine is stopped, the file system unmounted and mounted
    again, so that what is read then is what the medium holds, and the engine is started on it."""

    # In the language of docs/DISK.md. {block}: one block at random of a file that the load has written; {files}:
    # all such files; {seed}: the trial's. "": the file system is filled.
    fault: str
    # load: under load, for ``seconds``; write: from then on until it has struck, or the engine has stopped; block: done
    # to the medium when the engine has stopped; reading: while what is left is read.
    at: Literal["load", "write", "block", "reading"]
    seconds: float = 0.0
    gone: bool = False  # the device, so that no engine can be stopped in order


@dataclass(frozen=True)
class Failure:
    """One way to fail. Unless ``builds_states`` or ``wrong``, what ``ends`` does so under load, and at least once."""

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
    wrong: Wrong | None = None  # no power fails: the storage does this

    @property
    def on_replica(self) -> bool:
        """Whether it is the replica, where there is one, that has to give back what was acknowledged."""
        return self.loses_disk or self.cuts_replica

    @property
    def tries_power(self) -> bool:
        """Whether power fails, so that it is to be seen first that the disk loses something then."""
        return self.ends == "power" and not self.builds_states and self.wrong is None

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
        Failure("read-error", wrong=Wrong("(fail ENODATA (and reads {block}))", "reading")),
        Failure("rot", wrong=Wrong("(rot 8 (and reads {block} once))", "block")),
        Failure("lost-write", wrong=Wrong("(lose (and writes {files} (randomly 0.5 {seed}) once))", "write", 2.0)),
        Failure(
            "misdirected-write",
            wrong=Wrong("(misdirect 64K (and writes {files} (randomly 0.5 {seed}) once))", "write", 2.0),
        ),
        Failure("full-disk", wrong=Wrong("", "load", 10.0)),
        Failure("slow-disk", wrong=Wrong("(slow 10)", "load", 4.0)),
        Failure("stopped-disk", wrong=Wrong("(stop 5s once)", "load", 10.0)),
        Failure("vanished-disk", wrong=Wrong("(vanish once)", "load", 4.0, gone=True)),
    )
}
