"""Scans: one table read whole, again and again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field

from acidtest.journal.protocol import WorkloadMessage
from acidtest.keys import MEGABYTES
from acidtest.workload.base import WorkloadSpec

ASSUMED_MB_PER_S = {"natural": 300.0, "sorted": 60.0, "indexed": 40.0}
ASSUMED_COPY_MB_PER_S = 300.0

Read = Literal["natural", "sorted", "indexed"]
READINGS: tuple[Read, ...] = get_args(Read)


class ScanWorkload(WorkloadMessage):
    name: Literal["scan"] = "scan"
    size_mb: int
    read: Read


class Scan(WorkloadSpec):
    """A transaction is one read. Nothing is written."""

    MESSAGE = ScanWorkload
    USUAL_COUNT = 3  # a read of a whole table is long
    UNIT = "reads"
    CAN_BE_SPLIT = False
    TRANSACTION = "reads"
    UNIT_OF_SIZE = "size_mb"
    LOAD_S = 0.02
    NOT_LOADED = frozenset({"read"})  # in whichever way it will be read

    CONDITIONS: ClassVar[Mapping[str, str]] = {
        **{f"plan_is_{name}": f"the engine's plan reads the table in another way than {name}" for name in READINGS},
        "each_read_finds_what_was_loaded": "a read found other rows than were loaded",
    }

    kind: Literal["scan"] = "scan"
    size_mb: Annotated[int, MEGABYTES] = Field(
        default=100, ge=1, le=10_000_000, description="The values of the table take this much."
    )
    read: Read = Field(default="natural", description="The table is read as it lies there, sorted, or along an index.")

    def loaded_bytes(self) -> int:
        return self.size_mb * 1_300_000

    def history_bytes(self) -> int:
        return self.size_mb * 1_200_000 if self.read == "sorted" else 0  # what is sorted outside of memory

    def run_s(self, commits_per_s: float) -> float:
        if self.count is None:
            return super().run_s(commits_per_s)
        return self.count * self.size_mb / ASSUMED_MB_PER_S[self.read]

    def copy_s(self) -> float:
        return self.size_mb / ASSUMED_COPY_MB_PER_S

    def transaction_read_mb(self) -> float | None:
        return self.size_mb

    def transaction_sorted_mb(self) -> float | None:
        return self.size_mb if self.read == "sorted" else None

    def conditions(self) -> tuple[str, ...]:
        plans = {f"plan_is_{read}" for read in READINGS}
        return tuple(name for name in self.CONDITIONS if name not in plans or name == f"plan_is_{self.read}")
