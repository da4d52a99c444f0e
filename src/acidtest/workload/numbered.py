"""Numbered transactions, which can be looked for after a power cut."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from acidtest.journal.protocol import WorkloadMessage
from acidtest.workload.base import ROW_OVERHEAD_BYTES, WorkloadSpec

TABLES = ("numbered_left", "numbered_right")


class NumberedWorkload(WorkloadMessage):
    name: Literal["numbered"] = "numbered"
    terminals: int
    parts: int
    row_bytes: int


class Numbered(WorkloadSpec):
    """Each transaction inserts its parts in two tables and sets its terminal's counter, so that half of one shows."""

    CAN_BE_SURVEYED: ClassVar[bool] = True
    ALWAYS_WRITES: ClassVar[bool] = True

    kind: Literal["numbered"] = "numbered"
    parts: int = Field(default=3, ge=1, le=256, description="rows of a transaction in each of two tables")
    row_bytes: int = Field(default=100, ge=0, le=8_000, description="text in each row")

    def message(self) -> NumberedWorkload:
        return NumberedWorkload(terminals=self.terminals, parts=self.parts, row_bytes=self.row_bytes)

    def loaded_bytes(self) -> int:
        return self.terminals * self.transaction_bytes()

    def transaction_bytes(self) -> int:
        return len(TABLES) * self.parts * (self.row_bytes + ROW_OVERHEAD_BYTES)

    def conditions(self) -> tuple[str, ...]:
        matches = (f"{table}_matches_acknowledged" for table in TABLES)
        return (*matches, *(f"counters_match_{table}" for table in TABLES))
