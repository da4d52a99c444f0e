"""Insert, select, update and delete of many rows: the simple test that users of Firebird hand around."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from acidtest.journal.protocol import WorkloadMessage
from acidtest.workload.base import WorkloadSpec


class IudWorkload(WorkloadMessage):
    name: Literal["iud"] = "iud"
    rows: int


class Iud(WorkloadSpec):
    """Four kinds of transactions in turn, each on all of a terminal's rows."""

    WRITING_KINDS: ClassVar[tuple[str, ...]] = ("insert", "update", "delete")

    kind: Literal["iud"] = "iud"
    rows: int = Field(default=5_000, ge=1, le=10_000_000, description="inserted, read, updated, deleted")

    def message(self) -> IudWorkload:
        return IudWorkload(rows=self.rows)

    def loaded_bytes(self) -> int:
        return self.rows * 400

    def conditions(self) -> tuple[str, ...]:
        return (
            "inserts_and_deletes_match_acknowledged",
            "updates_match_acknowledged",
            "each_terminals_rows_are_all_there",
            "each_update_is_of_all_rows",
            "no_row_is_there_twice",
            "payloads_are_whole",
        )
