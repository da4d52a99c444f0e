"""Numbered transactions, which can be looked for after a power cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from acidtest.journal.protocol import WorkloadMessage
from acidtest.keys import BYTES
from acidtest.workload.base import ROW_OVERHEAD_BYTES, WorkloadSpec

TABLES = ("numbered_left", "numbered_right")


class NumberedWorkload(WorkloadMessage):
    name: Literal["numbered"] = "numbered"
    terminals: int
    parts: int
    row_bytes: int


class Numbered(WorkloadSpec):
    """Each transaction inserts its parts in two tables and sets its terminal's counter, so that half of one shows."""

    MESSAGE = NumberedWorkload
    CAN_BE_SURVEYED = True
    CAN_BE_SPLIT = False
    ALWAYS_WRITES = True

    CONDITIONS: ClassVar[Mapping[str, str]] = {
        **{
            f"{table}_matches_acknowledged": f"table {table} does not have as many transactions as were acknowledged"
            for table in TABLES
        },
        **{
            f"counters_match_{table}": f"a terminal's counter is not at its last transaction in table {table}"
            for table in TABLES
        },
    }

    kind: Literal["numbered"] = "numbered"
    parts: int = Field(
        default=3, ge=1, le=256, description="A transaction inserts this many rows in each of two tables."
    )
    row_bytes: Annotated[int, BYTES] = Field(
        default=100, ge=0, le=8_000, description="Each row holds a text of this length."
    )

    def loaded_bytes(self) -> int:
        return self.terminals * self.transaction_bytes()

    def transaction_bytes(self) -> int:
        return len(TABLES) * self.parts * (self.row_bytes + ROW_OVERHEAD_BYTES)
