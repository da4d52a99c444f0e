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
    commit: Literal["all", "each"] = "all"


class Iud(WorkloadSpec):
    """Four kinds of transactions in turn, each on all of a terminal's rows, or on one row after the other."""

    MESSAGE = IudWorkload
    TRANSACTION_KINDS = ("insert", "select", "update", "delete")
    WRITING_KINDS = ("insert", "update", "delete")

    CONDITIONS: ClassVar[Mapping[str, str]] = {
        "inserts_and_deletes_match_acknowledged": "there are other rows than acknowledged inserts and deletes leave",
        "updates_match_acknowledged": "there are not as many updated rows as were acknowledged",
        "each_terminals_rows_are_all_there": "rows of a terminal are missing",
        "each_update_is_of_all_rows": "rows of a terminal are updated that should not be, or are not",
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

    commit: Literal["all", "each"] = Field(
        default="all",
        exclude_if=lambda commit: commit == "all",  # so that the digest is the one of before there was such a key
        description="A transaction inserts, updates or deletes all rows of a terminal, or one of them.",
    )

    def loaded_bytes(self) -> int:
        return self.rows * 400
