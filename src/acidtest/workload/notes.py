"""Notes: each transaction writes one and commits."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from acidtest.journal.protocol import WorkloadMessage
from acidtest.workload.base import ROW_OVERHEAD_BYTES, WorkloadSpec


class NotesWorkload(WorkloadMessage):
    name: Literal["notes"] = "notes"
    letters: int


class Notes(WorkloadSpec):
    """There are as many notes as commits."""

    ALWAYS_WRITES: ClassVar[bool] = True

    kind: Literal["notes"] = "notes"
    letters: int = Field(default=20, ge=1, le=8_000, description="of each note")

    def message(self) -> NotesWorkload:
        return NotesWorkload(letters=self.letters)

    def loaded_bytes(self) -> int:
        return 0

    def transaction_bytes(self) -> int:
        return self.letters + ROW_OVERHEAD_BYTES

    def conditions(self) -> tuple[str, ...]:
        return ("notes_match_acknowledged",)
