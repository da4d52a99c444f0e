"""The items of a program of the user's: what its ``load`` acknowledges, and its ``check`` looks for.

No file names this workload: ``[program]`` of an experiment stands for it, and no rig drives it.
"""

from __future__ import annotations

from typing import Literal

from acidtest.journal.protocol import WorkloadMessage
from acidtest.workload.base import WorkloadSpec


class ProgramItems(WorkloadSpec):
    """Power fails after one of its first ``count`` items."""

    UNIT = "items"
    TRANSACTION = "items"
    CAN_BE_SURVEYED = True
    CAN_BE_SPLIT = False
    CAN_BE_WATCHED = False
    ALWAYS_WRITES = True

    kind: Literal["program"] = "program"
    room_mb: int = 200  # MiB, at most, of its data

    def message(self) -> WorkloadMessage:
        raise AssertionError("no rig drives a program")

    def loaded_text(self) -> str:
        return self.kind

    def loaded_bytes(self) -> int:
        return self.room_mb << 20

    def history_bytes(self) -> int:
        return 0

    def takes(self, key: str) -> bool:
        return key == "count"
