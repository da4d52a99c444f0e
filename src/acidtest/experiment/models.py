"""An experiment as typed models: what the user wrote, with every default filled in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, SecretStr

from acidtest.experiment.model import Model, Scalar
from acidtest.experiment.places import PlaceSpec
from acidtest.workload import AnyWorkload, own_keys


class Level(Model):
    """One value of a factor. ``set`` holds settings by dotted name; a plain value sets the factor itself."""

    name: str = Field(min_length=1, max_length=80)
    set: dict[str, Scalar] = Field(default_factory=dict)


class ServerSpec(Model):
    """A server that is not ours, by its connection URL. The password never leaves memory: no journal holds it."""

    family: str  # of families.SERVERS
    host: str  # a name or an address, or the path of a Unix socket or of the directory that holds it
    port: int = Field(ge=1, le=65_535)
    user: str = Field(min_length=1)
    password: SecretStr | None = Field(default=None, exclude=True)
    database: str = Field(min_length=1)
    # Where tables go on PostgreSQL; None: to a schema of acidtest's, in a database that holds no other tables.
    schema_name: str | None = Field(default=None, pattern=r"^[a-z_][a-z0-9_]{0,62}$")


class GrowthSpec(Model):
    """Databases of several sizes, each loaded and measured where it was loaded."""

    sizes: list[str] = Field(min_length=1, description='"9.04 GB", "40 warehouses", "2x memory": of place.memory_mb')
    load: Literal["incremental", "fresh"] = Field(
        default="incremental", description="one database that grows, or each size loaded from nothing"
    )
    statistics: bool = Field(default=True, description="tables and indexes are looked into at each size")


# Version 0.1 wrote these keys of every workload, whichever it was. The digest still has them, so that a journal begun
# by that version can be resumed; keys that came later are not among them.
KEYS_OF_0_1: Mapping[str, Any] = {
    "scale": 1, "row_bytes": 100, "warehouses": 1, "warehouse_percent": 100, "procedures": False, "keying": False,
    "roaming": False, "products": 10_000, "orders_per_call": 100, "repeatable": False, "rows": 5_000, "size_mb": 100,
    "read": "natural", "tables": 1, "table_rows": 100_000, "parts": 3,
}  # fmt: skip


class Experiment(Model):
    """One experiment. Every factor is listed here, also those with one level."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")
    title: str = ""
    question: str = ""
    seed: int = Field(default=1, ge=0, le=2**53)
    repetitions: int = Field(default=5, ge=1, le=1000)
    base: dict[str, str] = Field(default_factory=dict)
    factors: dict[str, list[Level]]
    exclude: list[dict[str, list[str]]] = Field(default_factory=list)
    workload: dict[str, AnyWorkload]
    settings: dict[str, dict[str, Scalar]] = Field(default_factory=dict)
    place: PlaceSpec = PlaceSpec()
    growth: GrowthSpec | None = None
    servers: dict[str, ServerSpec] = Field(default_factory=dict)
    waive: dict[str, str] = Field(default_factory=dict)  # rule of the audit -> why its findings do not count here
    # What the user wrote, by its path: ("place", "mount"), ("factors", "engine"). None of it may be without effect.
    # With --quick it is what stands in [quick] alone, for the rest is there for the whole size. Empty of a recorded
    # experiment.
    given: frozenset[tuple[str, ...]] = Field(default=frozenset(), exclude=True)
    whole: Experiment | None = Field(default=None, exclude=True)  # of which this is what one command does

    def to_run(self) -> Experiment:
        """Without the workload of power cuts, where there are others: that is for ``acidtest powercut``."""
        return self._with_workloads([name for name, spec in self.workload.items() if not spec.CAN_BE_SURVEYED])

    def to_cut(self) -> Experiment:
        """The workload of power cuts alone, where there is one: the others are for ``acidtest run``."""
        return self._with_workloads([name for name, spec in self.workload.items() if spec.CAN_BE_SURVEYED])

    def _with_workloads(self, names: list[str]) -> Experiment:
        levels = [level for level in self.factors["workload"] if level.set.get("workload", level.name) in names]
        if not levels:
            return self
        if levels == self.factors["workload"]:
            return self
        return self.model_copy(update={"factors": self.factors | {"workload": levels}, "whole": self})

    @classmethod
    def recorded(cls, dumped: Mapping[str, Any]) -> Experiment:
        """An experiment as a journal holds it, written by this version or an earlier one. Raises ValidationError."""
        workloads = {name: own_keys(table) for name, table in dumped["workload"].items()}
        return cls.model_validate({**dumped, "workload": workloads})

    def digest(self) -> str:
        """Tells experiments apart: SHA-256 over everything that shapes a result (not title, question and waivers)."""
        shaping: dict[str, Any] = self.model_dump(mode="json", exclude={"title", "question", "waive"})
        shaping["workload"] = {name: KEYS_OF_0_1 | table for name, table in shaping["workload"].items()}
        return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()
