"""Commits: one table, one insert and one commit a transaction, over and over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from acidtest.journal.protocol import WorkloadMessage
from acidtest.keys import BYTES
from acidtest.workload.base import ROW_OVERHEAD_BYTES, WorkloadSpec


class CommitsWorkload(WorkloadMessage):
    name: Literal["commits"] = "commits"
    row_bytes: int


class Commits(WorkloadSpec):
    """What a commit costs and nothing else."""

    MESSAGE = CommitsWorkload
    ALWAYS_WRITES = True

    CONDITIONS: ClassVar[Mapping[str, str]] = {
        "rows_match_acknowledged": "there are not as many rows as commits that were acknowledged",
        "payloads_are_whole": "the text of a row is not whole",
    }

    kind: Literal["commits"] = "commits"
    row_bytes: Annotated[int, BYTES] = Field(
        default=100, ge=0, le=8_000, description="Each row holds a text of this length."
    )

    def loaded_bytes(self) -> int:
        return 0

    def transaction_bytes(self) -> int:
        return self.row_bytes + ROW_OVERHEAD_BYTES
