"""Commits: one table, one insert and one commit a transaction, over and over."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from acidtest.journal.protocol import WorkloadMessage
from acidtest.workload.base import ROW_OVERHEAD_BYTES, WorkloadSpec


class CommitsWorkload(WorkloadMessage):
    name: Literal["commits"] = "commits"
    row_bytes: int


class Commits(WorkloadSpec):
    """What a commit costs and nothing else."""

    TRANSACTION: ClassVar[str] = "pairs"  # of insert and commit
    ALWAYS_WRITES: ClassVar[bool] = True

    kind: Literal["commits"] = "commits"
    row_bytes: int = Field(default=100, ge=0, le=8_000, description="text in each row")

    def message(self) -> CommitsWorkload:
        return CommitsWorkload(row_bytes=self.row_bytes)

    def loaded_bytes(self) -> int:
        return 0

    def transaction_bytes(self) -> int:
        return self.row_bytes + ROW_OVERHEAD_BYTES

    def conditions(self) -> tuple[str, ...]:
        return ("rows_match_acknowledged", "payloads_are_whole")
