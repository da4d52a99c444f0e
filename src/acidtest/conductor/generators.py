"""The other machines of a load that comes from several, as a conductor sees them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from acidtest.errors import CellFailed
from acidtest.journal.protocol import Inspection, RunResult, Settings, Share, Shared


class GeneratorFailed(CellFailed):
    """Another machine of a load could not go on, which its message names."""


class Brought(BaseModel):
    """What one generator brings back."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str
    cpu_count: int
    result: RunResult
    shared: Shared
    settings: list[Settings]  # that its sessions answered
    clock_offset_s: float
    clock_error_s: float


@dataclass(frozen=True)
class Moment:
    """When a load begins, and what is known of the clock that says so."""

    at_ns: int  # since 1970, by this machine's own clock
    clock_offset_s: float  # of this machine's clock less the client's, measured right before
    clock_error_s: float  # how wrong that may be


class Served(BaseModel):
    """The server of a cell, as other machines reach it, and what its sessions are asked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    target: dict[str, Any]
    inspect: list[Inspection]


@dataclass(frozen=True)
class Own:
    """This machine among them."""

    host: str
    address: str  # at which the other machines reach it
    share: Share | None  # of the load; None: it has the server and drives nothing
    directory: Path | None = None  # of such a one: on the storage that is watched


class Generators(Protocol):
    """How the machine that runs a cell speaks with the others. Each of them raises GeneratorFailed when one of the
    others cannot go on."""

    own: Own

    def loaded(self, served: Served | None) -> None:
        """The database is there: the others may open their sessions. None: to a server that they know by its URL."""

    def ready(self) -> Moment:
        """This machine is ready. Answers when the load begins, when all are."""

    def look(self) -> None:
        """Called about once a second while this machine drives its part: see whether the others can go on."""

    def others(self, limit_s: float) -> list[Brought]:
        """What the others brought back, waiting for it for ``limit_s`` at most."""
