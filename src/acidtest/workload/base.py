"""What every workload has: how it is driven, and what the rest of the lab asks of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from acidtest.journal.models import Warning
from acidtest.journal.protocol import (
    ClosedLoop,
    Count,
    Duration,
    OpenLoop,
    Pacing,
    RunPhase,
    WorkloadMessage,
)
from acidtest.keys import MILLISECONDS, SECONDS, TRANSACTIONS_PER_SECOND, Unset

ASSUMED_RATE_MAX_PER_S = 20_000  # of a run that is timed, for the room that its rows take: on the generous side
ROW_OVERHEAD_BYTES = 100  # beside the text of a row: its key, its header, its part of an index


class WorkloadSpec(BaseModel, ABC):
    """How one workload is driven, in the keys of an experiment's ``[workload.NAME]``.

    Without ``rate_per_s`` the loop is closed, with it open.

    A workload is a subclass in a module of its own, with its parameters as fields, and an entry in the registry.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    UNIT: ClassVar[str] = "commits"  # what its rates count
    TRANSACTION: ClassVar[str] = "commits"  # what so many of its transactions are called: "500 pairs"
    UNIT_OF_SIZE: ClassVar[str] = ""  # the field of which its database has so many; "" where it has one size
    LOAD_S: ClassVar[float] = 1.0  # assumed, for one unit of size
    NOT_LOADED: ClassVar[frozenset[str]] = frozenset()  # fields of the message that the loaded database is the same for
    CAN_BE_SURVEYED: ClassVar[bool] = False  # its transactions can be looked for after a power cut
    # What a drive must keep at each commit: each of its transactions changes rows, or each of these kinds of them.
    ALWAYS_WRITES: ClassVar[bool] = False
    WRITING_KINDS: ClassVar[tuple[str, ...]] = ()
    # What every check of its database reports, by name, and what is wrong where it does not hold. Workloads that have
    # a name in common have its words in common.
    CONDITIONS: ClassVar[Mapping[str, str]]

    kind: Annotated[str, Unset("the table's name")] = Field(
        description="The workload is of this kind; without the key its table's name is the kind."
    )
    terminals: int = Field(
        default=1, ge=1, le=10_000, description="This many terminals submit transactions at the same time."
    )
    threads: Annotated[int | None, Unset("half as many as there are processors")] = Field(
        default=None, ge=1, le=1_024, description="This many threads of the rig drive a server's terminals."
    )
    warmup_s: Annotated[float, SECONDS] = Field(
        default=0.0,
        ge=0,
        le=86_400,
        description="The terminals are at work for this long before the measurement begins.",
    )
    duration_s: Annotated[float | None, SECONDS, Unset("count says how much")] = Field(
        default=None, gt=0, le=604_800, description="The measurement takes this long."
    )
    count: Annotated[int | None, Unset("duration_s says how long")] = Field(
        default=None,
        ge=1,
        le=1_000_000_000,
        description="All terminals together are measured for this many transactions.",
    )
    think_ms: Annotated[float, MILLISECONDS] = Field(
        default=0.0,
        ge=0,
        le=3_600_000,
        description="A terminal waits this long between two transactions; with rate_per_s there is no such wait.",
    )
    rate_per_s: Annotated[
        float | None, TRANSACTIONS_PER_SECOND, Unset("each terminal goes on when it is done: a closed loop")
    ] = Field(
        default=None,
        gt=0,
        le=10_000_000,
        description="This many transactions arrive, whether those before them are done or not: an open loop.",
    )
    arrivals: Literal["fixed", "poisson"] = Field(
        default="poisson", description="Transactions arrive at fixed distances, or at random ones (Poisson)."
    )
    retries: int = Field(
        default=10,
        ge=0,
        le=1_000_000,
        description="A transaction that the engine refuses for another one's sake is tried again this often.",
    )
    observe: bool = Field(default=False, description="The engine's system calls are watched, which costs time.")

    @model_validator(mode="after")
    def _one_extent(self) -> Self:
        if (self.duration_s is None) == (self.count is None):
            raise ValueError('give either "duration_s" or "count"')
        if self.rate_per_s is not None and self.think_ms:
            raise ValueError('"think_ms" belongs to a closed loop and "rate_per_s" to an open one: give one of them')
        return self

    # ---------------------------------------------------------------------------------------- in the rig's words

    @abstractmethod
    def message(self) -> WorkloadMessage:
        """The workload in the rig's words."""

    def run_phase(self) -> RunPhase:
        """How it is driven, in the rig's words."""
        pacing: Pacing = (
            ClosedLoop(think_ms=self.think_ms)
            if self.rate_per_s is None
            else OpenLoop(rate_per_s=self.rate_per_s, arrivals=self.arrivals)
        )
        return RunPhase(
            terminals=self.terminals,
            threads=self.threads,
            pacing=pacing,
            warmup_s=self.warmup_s,
            extent=Count(transactions=self.count) if self.count else Duration(seconds=self.duration_s or 0),
            retries=self.retries,
        )

    # ---------------------------------------------------------------------------------------- its database

    def database(self) -> str:
        """The same text for workloads that start from the same loaded database."""
        return self.message().model_dump_json(exclude=set(self.NOT_LOADED))

    @abstractmethod
    def loaded_bytes(self) -> int:
        """About how large its loaded database is beside an empty one, on the generous side."""

    def history_bytes(self) -> int:
        """About how much a run adds to it, on the generous side."""
        transactions = self.count or (self.duration_s or 0) * (self.rate_per_s or ASSUMED_RATE_MAX_PER_S)
        return int(transactions * self.transaction_bytes())

    def transaction_bytes(self) -> int:
        """About how much one transaction adds."""
        return 20 + ROW_OVERHEAD_BYTES

    # ---------------------------------------------------------------------------------------- how long it takes

    def units(self) -> int:
        """How many units of size its database has."""
        return int(getattr(self, self.UNIT_OF_SIZE)) if self.UNIT_OF_SIZE else 1

    def load_s(self) -> float:
        """Seconds that its load is assumed to take."""
        return self.LOAD_S * self.units()

    def run_s(self, commits_per_s: float) -> float:
        """Seconds that it is assumed to be measured, where an engine commits at that rate; without the warm-up."""
        if self.duration_s is not None:
            return self.duration_s
        return (self.count or 0) / (self.rate_per_s or commits_per_s)

    def copy_s(self) -> float:
        """Seconds that copying its database is assumed to take; next to none of a small one."""
        return 0.0

    # ---------------------------------------------------------------------------------------- what it needs and shows

    def needs_procedures(self) -> bool:
        """Whether an engine without stored procedures cannot run it."""
        return False

    def warnings(self, engine: str, *, has_procedures: bool) -> list[Warning]:
        """What a reader of its results on this engine must know."""
        return []

    def conditions(self) -> tuple[str, ...]:
        """The consistency conditions that every check of its database must report, by name."""
        return tuple(self.CONDITIONS)

    def transaction_read_mb(self) -> float | None:
        """The values that one transaction reads, 10^6 bytes; None where its rate is not one of reading."""
        return None

    def transaction_sorted_mb(self) -> float | None:
        """The values that the engine sorts for one transaction, 10^6 bytes; None where no sort is measured."""
        return None


class GrowingWorkload(WorkloadSpec):
    """A workload whose database can be loaded on from size to size, as ``[growth]`` asks."""

    GROWN_DEFAULTS: ClassVar[Mapping[str, Any]] = {}  # of keys that have another default where databases grow

    def with_units(self, units: int) -> Self:
        """The same on a database of that size."""
        return self.model_copy(update={self.UNIT_OF_SIZE: units})

    @abstractmethod
    def unit_bytes(self, family: str) -> int:
        """How large one unit of size is assumed to be on an engine of this family, indexes included."""

    @abstractmethod
    def fixed_bytes(self, family: str) -> int:
        """How much is assumed to be there beside them."""

    @abstractmethod
    def shape(self) -> str:
        """The same text for workloads whose units are equally large."""
