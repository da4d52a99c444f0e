"""Insert, select, update and delete of many rows: the simple test that users of Firebird hand around."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from acidtest.journal.protocol import WorkloadMessage
from acidtest.workload.base import WorkloadSpec


class IudWorkload(WorkloadMessage):
    name: Literal["iud"] = "iud"
    rows: int


class Iud(WorkloadSpec):
    """Four kinds of transactions in turn, each on all of a terminal's rows."""

    TRANSACTION_KINDS: ClassVar[tuple[str, ...]] = ("insert", "select", "update", "delete")
    WRITING_KINDS: ClassVar[tuple[str, ...]] = ("insert", "update", "delete")

    CONDITIONS: ClassVar[Mapping[str, str]] = {
        "inserts_and_deletes_match_acknowledged": "there are other rows than acknowledged inserts and deletes leave",
        "updates_match_acknowledged": "there are not as many updated rows as were acknowledged",
        "each_terminals_rows_are_all_there": "a terminal has a part of its rows",
        "each_update_is_of_all_rows": "an update reached a part of a terminal's rows",
        "no_row_is_there_twice": "a row is there twice",
        "payloads_are_whole": "the text of a row is not whole",
    }

    kind: Literal["iud"] = "iud"
    rows: int = Field(
        default=5_000,
        ge=1,
        le=10_000_000,
        description="Each terminal inserts, reads, updates and deletes this many rows.",
    )

    def message(self) -> IudWorkload:
        return IudWorkload(rows=self.rows)

    def loaded_bytes(self) -> int:
        return self.rows * 400
