"""A primary and its replica: the contract of the engines that have one, each in a module of its own.

A mode is one word for all families (``place.replication``); what it is in an engine's own words stands beside it. What
a replica is for follows from what a commit waits for, and whether the engine goes on without it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Literal

from acidtest.engine.base import Ask, Engine, Instance, Launcher
from acidtest.errors import BadInput, CellFailed, not_among
from acidtest.journal.models import Scalar

# What a commit waits for before it is acknowledged: nothing of the replica; that it has arrived there; that it is on
# the replica's drive.
WaitsFor = Literal["nothing", "arrival", "drive"]


@dataclass(frozen=True)
class Mode:
    """One way to keep a replica up."""

    name: str  # as ``place.replication`` has it
    means: str  # the engine's own settings
    waits_for: WaitsFor
    gives_up_after_s: float | None = None  # then a commit waits no longer for a replica that does not answer
    # Two servers and an arbitrator, which has no data, vote: a primary that is alone stops after so long.
    stops_after_s: float | None = None

    @property
    def arbitrated(self) -> bool:
        return self.stops_after_s is not None


@dataclass(frozen=True)
class Seen:
    """How replication is, as the servers themselves say."""

    said: str  # in their words: "state streaming, sync_state sync"
    in_force: bool  # it is in the mode that was asked for, and the replica is there


@dataclass(frozen=True)
class Ends:
    """The ends of a link between servers: the address of each, as the others reach it."""

    primary: str
    replica: str
    arbitrator: str = ""  # "" where nobody votes with the two


@dataclass(frozen=True)
class Chosen:
    """Which of two servers that both have lost power is to go on, by what is on their disks."""

    server: Literal["primary", "replica"]
    said: str  # what both have, in their own words


class Pair(ABC):
    """A primary and its replica, each an instance of the family with its own files.

    In this order: ``prepare``, the primary's start and ``seal``, a copy of its files for the replica, ``replicate``.
    Then, again and again from that state, ``start``, ``seen``, and what survives a failure: ``start_alone`` of the
    primary, or ``take_over`` by the replica.
    """

    instances: ClassVar[type[Instance]]  # what both are
    # Settings that each has beside those that were asked for.
    primary_settings: ClassVar[Mapping[str, Scalar]] = MappingProxyType({})
    replica_settings: ClassVar[Mapping[str, Scalar]] = MappingProxyType({})
    chooses = False  # whether after the loss of both powers it is seen first which of the two has more

    def __init__(self, primary: Instance, replica: Instance, mode: Mode, ends: Ends) -> None:
        self.primary, self.replica = primary, replica
        self.mode, self.ends = mode, ends

    @abstractmethod
    def prepare(self) -> None:
        """Configure the primary so that a copy of its files can become a replica."""

    @abstractmethod
    def replicate(self) -> None:
        """Configure both for the mode; the replica has a copy of the primary's files, and neither runs."""

    @abstractmethod
    def join(self) -> None:
        """Before both start from the files as ``replicate`` left them: whoever has served alone since plays its part
        again."""

    def start(self, primary: Launcher, replica: Launcher, arbitrator: Launcher | None) -> None:
        """Both, from the files as ``replicate`` left them, each by a launcher of its own. Raises CellFailed."""
        self.join()
        self.primary.start(primary)
        self.replica.start(replica)

    def end_beside(self) -> None:  # noqa: B027 - most pairs have nothing beside them
        """End what ``start`` has started beside the two servers."""

    def choose(self, primary: Launcher, replica: Launcher) -> Chosen:
        """Of a pair that ``chooses``, when both have lost power and the files of both are there again: the one that the
        engine's documented steps let go on. Neither runs. Raises CellFailed."""
        raise NotImplementedError

    @abstractmethod
    def seen(self, ask_primary: Ask, ask_replica: Ask, *, loaded: bool) -> Seen:
        """What both say of replication, while they run; ``loaded``: under load, so that it has something to do. Raises
        CellFailed where one does not answer."""

    @abstractmethod
    def start_alone(self, launcher: Launcher, ask: Ask) -> None:
        """Start the primary without a replica to wait for, by the engine's documented steps. ``ask`` speaks to it.
        Raises CellFailed."""

    @abstractmethod
    def take_over(self, launcher: Launcher, ask: Ask) -> None:
        """Make a server of its own of the replica by the engine's documented steps; one that does not run is started
        first. ``ask`` speaks to it. Raises CellFailed."""

    @abstractmethod
    def serve(self, launcher: Launcher, ask: Ask) -> None:
        """Start a replica that ``take_over`` has made a server of its own before, from the files as it left them.
        ``ask`` speaks to it. Raises CellFailed."""


@dataclass(frozen=True)
class Replication:
    """What a family has."""

    modes: Callable[[Engine], Sequence[Mode]]  # of an engine; none of one that has no replicas
    kind: Callable[[Mode], type[Pair]]
    # Settings and level that no replica in this mode goes with; also a machine that lacks what the mode takes.
    refuse: Callable[[Engine, Mode, Mapping[str, Scalar], str], None]

    def pair(
        self,
        engine: Engine,
        directories: tuple[Path, Path],
        settings: Mapping[str, Scalar],
        durability: str,
        mode: Mode,
        ends: Ends,
    ) -> Pair:
        """A pair in the primary's and the replica's directory. Raises CellFailed where the engine has none."""
        kind = self.kind(mode)
        primary, replica = (
            engine.instance(directory, {**settings, **own}, durability)
            for directory, own in zip(directories, (kind.primary_settings, kind.replica_settings), strict=True)
        )
        if not isinstance(primary, kind.instances) or not isinstance(replica, kind.instances):
            raise CellFailed(f"{engine.id}: has no replicas")
        return kind(primary, replica, mode, ends)

    def mode(self, engine: Engine, name: str) -> Mode:
        """Raises BadInput with the modes that the engine has."""
        modes = {mode.name: mode for mode in self.modes(engine)}
        if not modes:
            raise no_replica(engine)
        if name not in modes:
            raise BadInput(not_among(f"{engine.id}: place.replication", name, ("none", *modes)))
        return modes[name]


def no_replica(engine: Engine) -> BadInput:
    return BadInput(f"{engine.id}: acidtest gives it no replica", "write place.replication none, or leave it out")
