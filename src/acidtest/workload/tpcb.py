"""TPC-B-like: branches, tellers and accounts. Never to be compared with published TPC results."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from acidtest.journal.protocol import WorkloadMessage
from acidtest.workload.base import WorkloadSpec


class TpcbWorkload(WorkloadMessage):
    name: Literal["tpcb"] = "tpcb"
    scale: int


class Tpcb(WorkloadSpec):
    """After TPC Benchmark B, revision 2.0."""

    UNIT_OF_SIZE: ClassVar[str] = "scale"
    LOAD_S: ClassVar[float] = 2.0
    ALWAYS_WRITES: ClassVar[bool] = True

    kind: Literal["tpcb"] = "tpcb"
    scale: int = Field(default=1, ge=1, le=20_000, description="branches, each with 100,000 accounts")

    def message(self) -> TpcbWorkload:
        return TpcbWorkload(scale=self.scale)

    def loaded_bytes(self) -> int:
        return self.scale * 20_000_000

    def conditions(self) -> tuple[str, ...]:
        return (
            "branches_cardinality",
            "tellers_cardinality",
            "accounts_cardinality",
            "history_matches_acknowledged",
            "each_branch_equals_its_tellers",
            "each_branch_equals_its_history",
            "each_account_equals_its_history",
            "branches_sum_equals_history",
            "tellers_sum_equals_history",
            "accounts_sum_equals_history",
        )
