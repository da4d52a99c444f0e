"""An experiment as typed models: what the user wrote, with every default filled in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, field_validator

from acidtest.errors import BadInput
from acidtest.experiment.places import PlaceSpec, acts_at_cuts_only
from acidtest.experiment.program import ProgramSpec
from acidtest.journal.protocol import Tls
from acidtest.keys import PERCENT, Form, Model, Scalar, Unset
from acidtest.limits import Limit, limit_of
from acidtest.workload import AnyWorkload, own_keys


class Level(Model):
    """One value of a factor. ``set`` holds settings by dotted name; a plain value sets the factor itself."""

    name: str = Field(min_length=1, max_length=80, description="Tables and the page show the level by this name.")
    set: dict[str, Scalar] = Field(
        default_factory=dict,
        description="The level sets each of these: workload keys, FAMILY.SETTING and place.KEY.",
    )


Crypt = Literal["Required", "Enabled", "Disabled"]  # as firebird.conf has it of WireCrypt


class Wire(Model):
    """That a session of Firebird must be encrypted or must not be, or takes what the server has; and whether it is
    compressed."""

    crypt: Crypt
    compression: bool


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
    # Left out of the digest where there is none, as version 0.1 wrote it.
    tls: Tls | None = Field(default=None, exclude_if=lambda tls: tls is None)
    wire: Wire | None = Field(default=None, exclude_if=lambda wire: wire is None)  # of Firebird


class BuildSpec(Model):
    """An engine of the user's own, by the path of its installation."""

    family: str  # a product of families.PRODUCTS
    path: str = Field(min_length=1)  # begins at the working directory
    mode: Literal["embedded", "server"] | None = None  # of a Firebird


class GrowthSpec(Model):
    """Databases of several sizes, each loaded and measured where it was loaded."""

    sizes: Annotated[list[str], Form('"9.04 GB", "40 warehouses" or "2x memory" (of place.memory_mb)')] = Field(
        min_length=1, description="Databases are brought to these sizes."
    )
    load: Literal["incremental", "fresh"] = Field(
        default="incremental", description="One database grows from size to size, or each size is loaded from nothing."
    )
    statistics: bool = Field(default=True, description="Statistics of tables and indexes are taken at each size.")
    held_out: Annotated[
        list[str], Form("as sizes, each above all of them"), Unset("nothing is predicted before it is measured")
    ] = Field(
        default=[],
        exclude_if=lambda sizes: not sizes,  # so that the digest is the one of before there was such a key
        description="These sizes are measured last, each after its rate was predicted from the others and recorded.",
    )


class SearchSpec(Model):
    """``acidtest search``: the highest rate that holds a limit."""

    limit: Annotated[str, Form('"p99 < 10 ms", "new_order p90 < 5 s and mean < 20 ms"')] = Field(
        description="A rate holds when the latencies of its runs stay below this limit; --limit says it on the command "
        "line."
    )
    step_percent: Annotated[float, PERCENT] = Field(
        default=1.0, ge=0.2, le=20, description="Rates are tried this far apart, so that the answer is as exact."
    )
    unserved_percent: Annotated[float, PERCENT] = Field(
        default=1.0,
        ge=0,
        le=50,
        description="A rate holds only if no more of its arrivals than this are given up, fail, or are still waiting "
        "when a run ends.",
    )
    runs_max: int = Field(default=60, ge=10, le=1000, description="A combination has at most this many runs.")

    @field_validator("limit")
    @classmethod
    def _readable(cls, text: str) -> str:
        try:
            return str(limit_of(text))
        except BadInput as error:
            raise ValueError(f"{error.message}; {error.remedy}") from None

    def parsed(self) -> Limit:
        """The limit."""
        return limit_of(self.limit)


class LoadSpec(Model):
    """From how many machines the load of a cell comes."""

    machines: int = Field(
        default=1,
        ge=1,
        le=1_000,
        description="The terminals of a cell are spread over so many hosts of the fleet; the server is on another one, "
        "or by URL.",
    )


# What version 0.1 wrote of an experiment that does not say how many crash states are inspected.
STATES_OF_0_1 = 200
# Version 0.1 wrote these keys of every workload, whichever it was. The digest still has them, so that a journal begun
# by that version can be resumed; keys that came later are not among them.
KEYS_OF_0_1: Mapping[str, Any] = {
    "scale": 1, "row_bytes": 100, "warehouses": 1, "warehouse_percent": 100, "procedures": False, "keying": False,
    "roaming": False, "products": 10_000, "orders_per_call": 100, "repeatable": False, "rows": 5_000, "size_mb": 100,
    "read": "natural", "tables": 1, "table_rows": 100_000, "parts": 3,
}  # fmt: skip


class Experiment(Model):
    """One experiment. Every factor is listed here, also those with one level."""

    name: Annotated[str, Form("lower-case letters, digits, - and _, at most 64")] = Field(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$", description="Journal and reports call the experiment by this name."
    )
    title: Annotated[str, Unset("the name")] = Field(default="", description="Tables and the page have this heading.")
    question: str = Field(default="", description="The page shows this question beneath its heading.")
    seed: int = Field(
        default=1,
        ge=0,
        le=2**53,
        description="The rows that are asked for and the order of cells follow from this number.",
    )
    repetitions: int = Field(default=5, ge=1, le=1000, description="Each combination of levels is run this often.")
    base: Annotated[
        dict[str, str], Form('{ engine = "sqlite", durability = "drive" }'), Unset("the table shows rates alone")
    ] = Field(
        default_factory=dict,
        description="The row with these levels is 100, and the others are compared with it; factors that are not named "
        "keep each row's own level.",
    )
    factors: Annotated[dict[str, list[Level]], Form('[factors] engine = ["sqlite", "firebird-5.0"]'), Unset("none")] = (
        Field(description="Each key is a factor with the list of its levels, and every combination of levels is run.")
    )
    exclude: Annotated[list[dict[str, list[str]]], Form('[[exclude]] engine = "firebird-5.0", durability = "none"')] = (
        Field(
            default_factory=list,
            description="Combinations that have one of the levels listed for each factor of such a table are left out.",
        )
    )
    workload: Annotated[dict[str, AnyWorkload], Form("[workload.tpcc]")] = Field(
        description="Each table is a workload, called by its kind or, with kind in it, by a name of yours."
    )
    settings: Annotated[dict[str, dict[str, Scalar]], Form("[settings.firebird]")] = Field(
        default_factory=dict, description="Each table has the settings that all engines of a family are run with."
    )
    place: Annotated[PlaceSpec, Unset("the directory of --out")] = Field(
        default=PlaceSpec(), description="The databases live there, on storage that acidtest may make."
    )
    growth: Annotated[GrowthSpec | None, Unset("databases of one size")] = Field(
        default=None, description="Databases of several sizes are loaded, and measured where they were loaded."
    )
    search: Annotated[SearchSpec | None, Unset("the command says the limit")] = Field(
        default=None,
        exclude_if=lambda search: search is None,  # left out of the digest where there is none, as version 0.1 wrote it
        description="acidtest search finds the highest rate that holds a limit of latency.",
    )
    load: Annotated[LoadSpec | None, Unset("each cell's load comes from one machine")] = Field(
        default=None,
        exclude_if=lambda load: (
            load is None
        ),  # left out of the digest where there is none, as earlier versions wrote it
        description="With --fleet, the load of each cell comes from several machines at once.",
    )
    servers: Annotated[dict[str, ServerSpec], Form("[servers.mine]")] = Field(
        default_factory=dict, description="Each table is a server of yours; its name is that of an engine."
    )
    engines: Annotated[dict[str, BuildSpec], Form("[engines.my-build]")] = Field(
        default_factory=dict,
        exclude_if=lambda engines: not engines,  # left out of the digest where there are none, as version 0.1 wrote it
        description="Each table is a build of yours, at a path; its name is that of an engine.",
    )
    program: Annotated[ProgramSpec | None, Unset("engines are run")] = Field(
        default=None,
        exclude_if=lambda program: program is None,  # left out of the digest where there is none, as before it
        description="acidtest powercut cuts the power beneath this program of yours.",
    )
    waive: Annotated[dict[str, str], Form('[waive] old-build = "the reason"; acidtest audit --rules lists them')] = (
        Field(
            default_factory=dict, description="Findings of these rules of the audit are set aside, each for its reason."
        )
    )
    # What the user wrote, by its path: ("place", "mount"), ("factors", "engine"). None of it may be without effect.
    # With --quick it is what stands in [quick] alone, for the rest is there for the whole size. Empty of a recorded
    # experiment.
    given: frozenset[tuple[str, ...]] = Field(default=frozenset(), exclude=True)
    whole: Experiment | None = Field(default=None, exclude=True)  # of which this is what one command does

    @property
    def machines(self) -> int:
        """From how many the load of a cell comes."""
        return self.load.machines if self.load else 1

    @property
    def asks_for_cuts(self) -> bool:
        """Whether its place, or a level, has something that acts at a power cut only."""
        fixed = {f"place.{key}": getattr(self.place, key) for key in PlaceSpec.model_fields}
        sets = [fixed, *(level.set for levels in self.factors.values() for level in levels)]
        return any(
            acts_at_cuts_only(target.removeprefix("place."), value)
            for targets in sets
            for target, value in targets.items()
            if target.startswith("place.")
        )

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
        if shaping["place"]["disk_states"] is None:
            shaping["place"]["disk_states"] = STATES_OF_0_1
        shaping["workload"] = {name: KEYS_OF_0_1 | table for name, table in shaping["workload"].items()}
        return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()
