"""The statements of sysbench's ``oltp_read_write``, so that a result can be set beside sysbench's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from acidtest.journal.protocol import WorkloadMessage
from acidtest.workload.base import WorkloadSpec


class OltpWorkload(WorkloadMessage):
    name: Literal["oltp"] = "oltp"
    tables: int
    table_rows: int


class Oltp(WorkloadSpec):
    """Point selects, ranges, two updates, a delete and an insert a transaction."""

    MESSAGE = OltpWorkload
    UNIT_OF_SIZE = "tables"
    LOAD_S = 2.0
    ALWAYS_WRITES = True

    CONDITIONS: ClassVar[Mapping[str, str]] = {
        "rows_are_unchanged_in_number": "there are more or fewer rows than were loaded",
        "ids_are_those_loaded": "a row has a number that was not loaded",
        "k_never_falls": "a counter has fallen",
        "texts_are_whole": "the text of a row is not whole",
    }

    kind: Literal["oltp"] = "oltp"
    tables: int = Field(default=1, ge=1, le=1_000, description="There are this many tables, all alike.")
    table_rows: int = Field(default=100_000, ge=1, le=1_000_000_000, description="Each table has this many rows.")

    def loaded_bytes(self) -> int:
        return self.tables * self.table_rows * 400
