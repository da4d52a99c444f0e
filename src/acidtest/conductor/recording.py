"""Puts the recording of a cell together, for every conductor."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from pydantic import Field

from acidtest import __version__
from acidtest.engine import Engine
from acidtest.engine.compare import spoken
from acidtest.journal.models import Machine, Observations, PlaceFacts, Recording, SettingInForce
from acidtest.place.facts import unseen
from acidtest.plan import Cell
from acidtest.workload import WorkloadSpec

Status = Literal["done", "invalid", "failed"]


class CellOutcome(Observations):
    """What became of a cell, as far as it came: all in its recording that the plan did not know before."""

    engine_version: str = ""  # as the rig has heard it; "" where it has not
    settings: list[SettingInForce] = Field(default_factory=list)  # of the engine
    place: PlaceFacts | None = None
    place_settings: list[SettingInForce] = Field(default_factory=list)
    memory_settings: list[SettingInForce] = Field(default_factory=list)
    machine: Machine | None = None  # where it is not this one
    workload: WorkloadSpec | None = None  # in force, where it is not the cell's
    checked_for: WorkloadSpec | None = None  # whose check stands for the one before, where it is not the cell's own
    measured_from: float | None = None  # when the measurement began, in seconds since 1970
    log_findings: list[str] = Field(default_factory=list)  # what a reader of the numbers must know of the engine's log
    # Of a cell that measures, what its status follows from beside the above.
    needs_checks: bool = True  # both checks belong to it
    died: str | None = None  # how the server ended by itself
    out_of_memory: str | None = None  # what the kernel killed for the memory limit
    wrong: str | None = None  # any other reason why its numbers must not be used

    def all_settings(self) -> list[SettingInForce]:
        """The engine's, then the place's and the memory's."""
        return [*self.settings, *self.place_settings, *self.memory_settings]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class RecordingBuilder:
    """Made when the cell begins; ``build`` when it has ended."""

    cell: Cell
    engine: Engine
    machine: Machine
    started_at: str = field(default_factory=_now)

    def build(self, outcome: CellOutcome, status: Status, reason: str | None = None) -> Recording:
        """The recording; ``reason`` says why the cell is invalid or failed."""
        cell, engine, facts = self.cell, self.engine, self.engine.last_facts()
        workload = outcome.workload or cell.workload
        place = outcome.place or unseen(cell.place.kind, cell.place.device or cell.place.path or "")
        version = {"version": outcome.engine_version or facts.version, "mode": engine.mode(cell.settings)}
        return Recording(
            cell=cell.id,
            levels=dict(cell.levels),
            repetition=cell.repetition,
            order=cell.order,
            seed=cell.seed,
            status=status,
            reason=reason,
            started_at=self.started_at,
            ended_at=_now(),
            acidtest_version=__version__,
            workload={"name": cell.workload_name, **workload.model_dump()},
            durability=cell.durability,
            durability_means=_means(engine, cell, place),
            promise=engine.promise(cell.durability),
            engine=facts.model_copy(update=version),
            settings=outcome.all_settings(),
            machine=outcome.machine or self.machine,
            place=place,
            **{name: getattr(outcome, name) for name in Observations.model_fields},
        )


def _means(engine: Engine, cell: Cell, place: PlaceFacts) -> str:
    """What the level stands for, and what of it the mount options in force change."""
    means = engine.durability(cell.durability, cell.settings).means
    settings = {name: spoken(value) for name, value in cell.settings.items()}
    usual = engine.risk(cell.durability, settings)
    here = engine.risk(cell.durability, settings, place.filesystem, place.mount_options)
    if here == usual:
        return means
    return f"{means}; here the mount option sync flushes each write: {here.sentence or 'nothing of that is lost'}"
