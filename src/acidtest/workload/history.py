"""Transactions of every kind, with a model beside them that knows each row that must be there after each commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from acidtest.journal.protocol import WorkloadMessage
from acidtest.keys import MILLISECONDS, Unset
from acidtest.workload.base import ROW_OVERHEAD_BYTES, WorkloadSpec

KINDS = ("insert", "update", "move", "delete", "savepoint", "open", "shared", "ddl")  # of transactions
PARTS = (*KINDS, "rollback", "blob")
ROW_BYTES = 1_000  # of a row that is loaded, in the mean
ROWS_PER_TRANSACTION = 8
BODY_BYTES = 2_500  # of a row that a transaction writes, in the mean


class HistoryWorkload(WorkloadMessage):
    name: Literal["history"] = "history"
    terminals: int
    rows: int
    parts: list[str]
    open_ms: int


class History(WorkloadSpec):
    """Each terminal goes through a history of its own, which the seed and the number of the terminal fix."""

    CAN_BE_SURVEYED = True
    CAN_BE_SPLIT = False
    ALWAYS_WRITES = True
    TRANSACTION_KINDS = KINDS
    NOT_LOADED = frozenset({"parts", "open_ms"})

    CONDITIONS: ClassVar[Mapping[str, str]] = {
        "commits_match_acknowledged": "the terminals' counters do not say as many commits as were acknowledged",
        "each_terminal_has_its_counter": "a terminal's counter is not there, or is none",
        "rows_are_those_of_the_history": "a row is not as the commits left it that must be there",
        "nothing_rolled_back_is_there": "what was rolled back is there",
        "commits_are_whole": "a part of a commit is there, and another part is not",
        "texts_and_bodies_are_whole": "a row holds another text or another body than was written",
        "every_path_finds_the_same": "access paths disagree about which rows there are",
        "shared_rows_are_the_sum_of_commits": "a row that all terminals add to is not the sum of the commits",
        "tables_are_those_of_the_history": "a table that a transaction made or dropped is not as its end left it",
    }

    kind: Literal["history"] = "history"
    rows: int = Field(
        default=100,
        ge=0,
        le=1_000_000,
        description="Each terminal has this many rows at first, and later between as many and four times as many.",
    )
    open_ms: Annotated[int, MILLISECONDS] = Field(
        default=300,
        ge=1,
        le=60_000,
        description="Some transactions stay open, their changes made, for up to this long; on SQLite for up to 3 ms.",
    )
    leave_out: Annotated[str, Unset("nothing is left out")] = Field(
        default="",
        exclude_if=lambda parts: not parts,
        description=f"These are left out, separated by commas: {', '.join(PARTS)}.",
    )

    @model_validator(mode="after")
    def _leaves_a_kind(self) -> Self:
        for part in self.left_out():
            if part not in PARTS:
                raise ValueError(f'leave_out: "{part}" is none of {", ".join(PARTS)}')
        if not set(KINDS) - {"ddl"} - set(self.left_out()):
            raise ValueError(f"leave_out: leaves no transactions: keep one of {', '.join(KINDS[:-1])}")
        return self

    def left_out(self) -> tuple[str, ...]:
        """The parts of a history that it does not have."""
        return tuple(filter(None, (part.strip() for part in self.leave_out.split(","))))

    def smaller(self) -> Iterator[Self]:
        if self.terminals > 1:
            yield self.varied({"terminals": self.terminals // 2})
        if self.terminals > 2:
            yield self.varied({"terminals": self.terminals - 1})
        if self.count is not None and self.count > 10:
            yield self.varied({"count": self.count // 2})
        for part in PARTS:
            if part not in self.left_out() and set(KINDS) - {"ddl", part} - set(self.left_out()):
                yield self.varied({"leave_out": ", ".join([*self.left_out(), part])})
        if self.rows:
            yield self.varied({"rows": self.rows // 2})

    def message(self) -> HistoryWorkload:
        parts = [part for part in PARTS if part not in self.left_out()]
        return HistoryWorkload(terminals=self.terminals, rows=self.rows, parts=parts, open_ms=self.open_ms)

    def loaded_bytes(self) -> int:
        return self.terminals * (self.rows * ROW_BYTES + 1_000)

    def transaction_bytes(self) -> int:
        return ROWS_PER_TRANSACTION * (BODY_BYTES + ROW_OVERHEAD_BYTES)
