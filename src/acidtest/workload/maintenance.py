"""What an administrator does to a database: backup, restore, incremental backup, sweep. Each is one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from acidtest.families import FIREBIRD
from acidtest.journal.models import Warning
from acidtest.journal.protocol import Maintenance as Done
from acidtest.journal.protocol import WorkloadMessage
from acidtest.keys import BYTES, PERCENT, Unset
from acidtest.workload.base import Needs, Refused, Runner, WorkloadSpec
from acidtest.workload.tpcb import Tpcb
from acidtest.workload.tpcc import Tpcc

Operation = Literal["backup", "restore", "incremental_backup", "sweep"]
ASSUMED_MB_PER_S = {"backup": 60.0, "restore": 20.0, "incremental_backup": 150.0, "sweep": 60.0}
ASSUMED_SET_UP_MB_PER_S = 15.0  # and as much again for what is restored and checked afterwards
CHANGED_PERCENT = 20  # where an operation is about what was changed
COPIES = 3  # of the database: a backup, what was restored, what is restored to look into it

# By what they are of: the workloads whose loaded database it may be.
DATA: Mapping[str, type[WorkloadSpec]] = {"tpcb": Tpcb, "tpcc": Tpcc}


class MaintenanceWorkload(WorkloadMessage):
    name: Literal["maintenance"] = "maintenance"
    data: Literal["tpcb", "tpcc"]
    scale: int
    operation: Operation
    level: int
    changed_percent: int
    page_bytes: int
    parallel: int
    compress: bool
    garbage_collect: bool
    replace: bool
    flush: bool


class Maintenance(WorkloadSpec):
    """Backup, restore, incremental backup and sweep of a loaded database, each verified."""

    USUAL_COUNT = 1
    UNIT = "operations"
    CAN_BE_SPLIT = False
    CAN_WAIT = False
    TRANSACTION = "operations"
    UNIT_OF_SIZE = "scale"
    CAN_BE_WATCHED = False
    NOT_LOADED = frozenset(
        {"operation", "level", "changed_percent", "page_bytes", "parallel", "compress", "garbage_collect", "replace",
         "flush"}
    )  # fmt: skip
    NEEDS: ClassVar[Mapping[str, Needs]] = {
        "level": Needs("operation", ("incremental_backup",)),
        "changed_percent": Needs("operation", ("backup", "incremental_backup", "sweep")),
        "page_size": Needs("operation", ("restore",)),
        "parallel": Needs("operation", ("backup", "restore", "sweep")),
        "compress": Needs("operation", ("backup", "restore")),
        "garbage_collect": Needs("operation", ("backup",)),
        "replace": Needs("operation", ("restore",)),
    }

    RESTORED: ClassVar[Mapping[str, str]] = {
        "restored_is_valid": "the engine's own check finds a restored database damaged",
        "restored_keeps_conditions": "a condition of the loaded workload does not hold in a restored database",
        "restored_equals_source": "a restored database does not hold the rows of its source",
    }
    PAGES: ClassVar[Mapping[str, str]] = {
        "restored_page_size_is_as_asked": "the restored database has pages of another size than was asked for",
    }
    SWEPT: ClassVar[Mapping[str, str]] = {
        "swept_is_valid": "the engine's own check finds the swept database damaged",
        "sweep_removes_old_versions": "old versions of rows are still there, or there were none to remove",
        "sweep_moves_the_oldest_transaction": "the oldest transaction of interest is where it was",
    }
    CONDITIONS: ClassVar[Mapping[str, str]] = {
        **{name: words for spec in DATA.values() for name, words in spec.CONDITIONS.items()},
        **RESTORED,
        **PAGES,
        **SWEPT,
    }

    kind: Literal["maintenance"] = "maintenance"
    operation: Operation = Field(
        default="backup",
        description="This is done to the database: a logical backup (gbak), a restore of one, an incremental backup "
        "(nbackup), a sweep.",
    )
    data: Literal["tpcb", "tpcc"] = Field(
        default="tpcb", description="The database is the one that this workload loads."
    )
    scale: int = Field(
        default=1, ge=1, le=20_000, description="It has so many branches of tpcb, or so many warehouses of tpcc."
    )
    level: int = Field(
        default=0,
        ge=0,
        le=1,
        description="An incremental backup is of all pages (0), or of those changed since one of level 0 (1).",
    )
    changed_percent: Annotated[
        int | None, PERCENT, Unset(f"{CHANGED_PERCENT} for a sweep and an incremental backup of level 1, otherwise 0")
    ] = Field(
        default=None,
        ge=0,
        le=100,
        description="Before the run so many percent of the largest table's rows are changed; for a backup or a sweep "
        "another transaction changes as many others and is rolled back, so that both leave old versions.",
    )
    page_size: Annotated[int | None, BYTES, Unset("that of the database that was backed up")] = Field(
        default=None, ge=4096, le=32_768, description="The restored database has pages of this size."
    )
    parallel: int = Field(default=1, ge=1, le=64, description="So many workers of the engine share the operation.")
    compress: bool = Field(default=False, description="The backup's file is compressed as it is written (gbak -zip).")
    garbage_collect: bool = Field(
        default=True, description="A backup removes the old versions that it comes upon; false is gbak -g."
    )
    replace: bool = Field(default=False, description="It is restored over a database that is there.")
    flush: bool = Field(
        default=True,
        description="An operation has ended when what it has written is on the drive; false: when the engine says that "
        "it is done, and a part may be in the file cache only.",
    )

    @model_validator(mode="after")
    def _alone(self) -> Self:
        if self.terminals != 1:
            raise ValueError('"terminals" must be 1: one administrator is at work')
        if self.page_size is not None and self.page_size & (self.page_size - 1):
            raise ValueError(f'"page_size" must be 4096, 8192, 16384 or 32768, not {self.page_size}')
        if (once := self._found_once()) and (self.count != 1 or self.warmup_s):
            raise ValueError(
                f'what {once} needs is there once in each cell: leave "count", "duration_s" and "warmup_s" out, '
                'and raise "repetitions"'
            )
        return self

    def _found_once(self) -> str:
        """What the operation is where it uses up what was made for it, so that a second would be another; else ""."""
        if self.operation == "sweep":
            return "a sweep"
        if self._level() == 1:
            return "an incremental backup of level 1"
        return "a restore with replace" if self.operation == "restore" and self.replace else ""

    def _level(self) -> int:
        return self.level if self.operation == "incremental_backup" else 0

    def _changed_percent(self) -> int:
        if self.changed_percent is not None:
            return self.changed_percent
        return CHANGED_PERCENT if self.operation == "sweep" or self._level() == 1 else 0

    def _data(self) -> WorkloadSpec:
        spec = DATA[self.data]
        return spec.model_validate({"count": 1, spec.UNIT_OF_SIZE: self.scale})

    def message(self) -> MaintenanceWorkload:
        return MaintenanceWorkload(
            data=self.data,
            scale=self.scale,
            operation=self.operation,
            level=self._level(),
            changed_percent=self._changed_percent(),
            page_bytes=self.page_size or 0,
            parallel=self.parallel,
            compress=self.compress,
            garbage_collect=self.garbage_collect,
            replace=self.replace,
            flush=self.flush,
        )

    def loaded_bytes(self) -> int:
        return self._data().loaded_bytes()

    def history_bytes(self) -> int:
        """Each operation leaves what it has made, until the cell's end."""
        return (COPIES + self._operations() - 1) * self.loaded_bytes()

    def _operations(self) -> int:
        if self.count is not None:
            return self.count
        return 1 + int((self.duration_s or 0) / self._operation_s())

    def _operation_s(self) -> float:
        return max(0.1, self.loaded_bytes() / 1e6 / ASSUMED_MB_PER_S[self.operation])

    def load_s(self) -> float:
        return self._data().load_s()

    def run_s(self, commits_per_s: float) -> float:
        return super().run_s(1 / self._operation_s()) + 2 * self.loaded_bytes() / 1e6 / ASSUMED_SET_UP_MB_PER_S

    def copy_s(self) -> float:
        return self.loaded_bytes() / 300e6

    def refused(self, on: Runner) -> Refused | None:
        if on.family != FIREBIRD.name:
            return Refused("has no services that back up, restore and sweep, as workload maintenance needs them")
        if not on.private:
            return Refused("is a server by URL, and workload maintenance writes backups beside the database")
        if on.raw:
            return Refused("workload maintenance needs a database that is a file, and this is a raw device")
        if self.parallel > 1 and on.release < (5, 0):
            return Refused("has no parallel workers before 5.0", "parallel", "set parallel = 1")
        if self.compress and on.release < (4, 0):
            return Refused("gbak compresses from 4.0 on", "compress", "set compress = false")
        if self.page_size == 32_768 and on.release < (4, 0):
            return Refused("pages of 32768 bytes are there from 4.0 on", "page_size", "choose a smaller page_size")
        return None

    def warnings(self, engine: str, *, has_procedures: bool) -> list[Warning]:
        if self.flush:
            return []
        text = (
            "The time ends with the engine's answer: what was written may be in the file cache only, and a power cut "
            "would take it (flush = false)."
        )
        return [Warning(code="not-flushed", about="goodput_per_s", text=text)]

    def doubts(self, done: Done | None) -> list[Warning]:
        if done is None or not done.operations or self.parallel == 1:
            return []
        seen = [operation.workers for operation in done.operations if operation.workers is not None]
        asked = f"{self.parallel} parallel workers were asked for, and"
        if not seen:
            text = f"{asked} nothing shows how many there were: nobody may look into a database while it is restored."
        elif min(seen) < self.parallel:
            text = (
                f"{asked} {min(seen)} were seen at once: a small database gives them little to do, and a worker that "
                "is quickly done may not have been seen."
            )
        else:
            return []
        return [Warning(code="workers-not-seen", about="goodput_per_s", text=text)]

    def conditions(self) -> tuple[str, ...]:
        made = self.SWEPT if self.operation == "sweep" else self.RESTORED
        pages = self.PAGES if self.operation == "restore" else {}
        return (*self._data().conditions(), *made, *pages)
