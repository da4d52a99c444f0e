"""What one power cut has shown: what the checkers judge, and what its recording keeps beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from acidtest.journal.models import (
    Fate,
    FilesLeft,
    Integrity,
    PlaceFacts,
    RecoveryTimes,
    Replicated,
    SettingInForce,
    StorageFailure,
)
from acidtest.journal.protocol import Checked, DiskCut
from acidtest.powercut.acknowledgement_log import Acknowledgement


@dataclass
class CutEvidence:
    """What one cut has shown so far. What is None could not be looked at, or did not happen."""

    # Of the trial, before any cut; None where it was not tried.
    disk_loses: bool | None = None  # whether a cut was seen to lose anything that was written and not flushed
    broken_without_cut: list[str] | None = None  # what does not hold although nothing was cut

    nothing_left: bool = False  # the disk is lost for good, and there is no replica
    # Of a program's check; None of an engine, and where it was not tried.
    blind_to_loss: str | None = None  # why its answers prove nothing, on a disk that had lost all items; "" they do
    unstruck: str | None = None  # of storage that does wrong: why nothing is known of the engine by it; "" something is
    buffered: str | None = None  # why its acknowledgements may be older than they look; "" each came by itself
    planted: str | None = None  # what it answered for an item that was never written; "" that it is missing
    # Of a real plug; None of a simulated disk, and where no power was cut.
    restarted: str | None = None  # why it is not known that the machine was off; "" it was
    witnessed: str | None = None  # why what the witness has kept cannot be relied on; "" it can
    unnoticed_loss: str | None = None  # why the comparison proves nothing; "" it has noticed a loss that was planted

    # Of what came back. The errors are in the words of the system, the engine or the rig.
    inspection_error: str | None = None  # the lab could not look, which says nothing of the engine
    mount_error: str | None = None  # the file system does not give its data back
    start_error: str | None = None  # nor does the engine: it ended by itself while it started
    read_error: str | None = None  # or answered with an error
    missing_lines: int = 0  # of the acknowledgement log
    is_program: bool = False  # it has no conditions, and no check of its files beside what its user's check says
    is_numbered: bool = True  # whether the workload numbers its commits, so that each can be looked for
    fate: Fate | None = None
    conditions: tuple[str, ...] = ()  # of the workload, by name: each of them is to be checked
    checked: Checked | None = None
    integrity: Integrity | None = None
    filesystem_check: Literal["clean", "errors", "unknown"] = "unknown"
    filesystem_message: str = ""  # of its own program, where it is not clean

    # Kept with the verdict.
    file_sizes: dict[str, int] | None = None  # as they were mounted, before anything was started on them
    files: FilesLeft | None = None  # the same, compared with what was there before
    settings: list[SettingInForce] = field(default_factory=list)
    place: PlaceFacts | None = None
    engine_version: str = ""
    database_bytes: int = 0
    at_s: float = 0.0
    cut: DiskCut | None = None
    acknowledged: list[Acknowledgement] | None = None  # before the cut
    filesystem_repaired: bool = False
    filesystem_mending_said: str = ""  # by its own program, before the mount
    filesystem_recovery_s: float | None = None
    engine_recovery_s: float | None = None
    cut_ns: int = 0  # when power failed, of CLOCK_MONOTONIC
    clean_mount_s: float = 0.0  # before the load
    clean_start_s: float | None = None
    recovery: RecoveryTimes | None = None
    untimed: str = ""  # why recovery could not be timed, where that was asked for
    after_failed_flush: Literal["stopped", "went on", "hung"] | None = None
    failed_flush_error: str = ""
    acknowledged_after_failed_flush: int | None = None
    replication: Replicated | None = None
    storage: StorageFailure | None = None
    first_missing_ns: int | None = None  # when that was acknowledged which is missing, of CLOCK_MONOTONIC
    unkept: str = ""  # why the file of a state that lost could not be written

    def mounted(self, seconds: float, *, repaired: bool, said: str) -> None:
        """The file system that was cut gives its data back; see ``place.cuttable.Recovery``."""
        self.filesystem_recovery_s, self.filesystem_repaired, self.filesystem_mending_said = seconds, repaired, said
