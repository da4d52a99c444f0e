"""TPC-B-like: branches, tellers and accounts. Never to be compared with published TPC results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from acidtest.journal.protocol import WorkloadMessage
from acidtest.workload.base import WorkloadSpec


class TpcbWorkload(WorkloadMessage):
    name: Literal["tpcb"] = "tpcb"
    scale: int


class Tpcb(WorkloadSpec):
    """After TPC Benchmark B, revision 2.0."""

    MESSAGE = TpcbWorkload
    UNIT_OF_SIZE = "scale"
    LOAD_S = 2.0
    ALWAYS_WRITES = True

    CONDITIONS: ClassVar[Mapping[str, str]] = {
        "branches_cardinality": "there are more or fewer branches than were loaded",
        "tellers_cardinality": "there are more or fewer tellers than were loaded",
        "accounts_cardinality": "there are more or fewer accounts than were loaded",
        "history_matches_acknowledged": "the history does not have as many transactions as were acknowledged",
        "each_branch_equals_its_tellers": "the balance of a branch is not the sum of its tellers'",
        "each_branch_equals_its_history": "the balance of a branch is not the sum of its history",
        "each_account_equals_its_history": "the balance of an account is not the sum of its history",
        "branches_sum_equals_history": "the balances of all branches are not the sum of the history",
        "tellers_sum_equals_history": "the balances of all tellers are not the sum of the history",
        "accounts_sum_equals_history": "the balances of all accounts are not the sum of the history",
    }

    kind: Literal["tpcb"] = "tpcb"
    scale: int = Field(
        default=1, ge=1, le=20_000, description="There are this many branches, each with 100,000 accounts."
    )

    def loaded_bytes(self) -> int:
        return self.scale * 20_000_000
