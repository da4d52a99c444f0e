"""What a user has answered: which engines, which storage, how long. Data only; nothing of the machine is asked here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from acidtest.keys import Scalar

StorageKind = Literal["directory", "loop", "device", "disk"]


@dataclass(frozen=True)
class Chosen:
    """An engine, as far as an experiment depends on it."""

    id: str  # also the name of a server by URL
    family: str
    levels: tuple[str, ...] = ("drive",)  # of durability that it has, weakest first
    page_sizes: tuple[int, ...] = ()  # bytes, those it can be given; none where each build has one
    page_size: int = 8192  # bytes, unless another is asked for
    on_raw_device: bool = False  # its database may be a block device
    url: str = ""  # of a server that acidtest does not start, without its password


@dataclass(frozen=True)
class Storage:
    """Where the databases are to lie."""

    kind: StorageKind
    paths: tuple[str, ...] = ()  # of a directory, or where an image lies; none: beside the results
    device: str = ""  # the block device


@dataclass(frozen=True)
class OwnSql:
    """SQL of the user's: a folder, or files over the tables of one. Paths as the experiment names them."""

    names: tuple[str, ...]  # of the workloads
    paths: tuple[str, ...]  # of each of them: one folder, or as many files
    database: str = ""  # the folder whose tables files run over
    variables: tuple[tuple[str, str | int | float], ...] = ()  # that the folder declares, with their defaults


@dataclass(frozen=True)
class InForce:
    """How the database in question is set, for experiments that begin there."""

    settings: Mapping[str, Scalar]  # of its engine, by our names; none that follow from the durability level
    level: str = "drive"  # of durability
    is_bounded: bool = False  # its page cache is smaller here than it was found

    @property
    def name(self) -> str:
        """How a level with its page cache begins."""
        return "found, but smaller" if self.is_bounded else "found"

    def of(self, name: str | None) -> int | None:
        """A setting that is a number; None where it was not found."""
        value = self.settings.get(name or "")
        return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True)
class Answers:
    """All of it."""

    engines: tuple[Chosen, ...]
    storage: Storage
    seconds: float = 600  # that all of it may take
    time: str = "10m"  # the same, in the user's words
    file: str = "my.toml"  # that is written
    name: str = "my"  # of the experiment
    filesystems: tuple[str, ...] = ()  # that can be made here, the usual one first
    memory_bytes: int = 8 << 30  # of this machine
    free_bytes: int = 1 << 40  # where the databases are to lie
    sql: OwnSql | None = None  # of the question about it
    found: InForce | None = None  # of questions that begin at what is in force; None: nobody has told

    @property
    def out(self) -> str:
        """Where the results are to go."""
        return f"results/{self.name}"

    @property
    def engine_names(self) -> str:
        """ "a", "a and b", "a, b and c"."""
        return listed(tuple(engine.id for engine in self.engines))

    @property
    def families(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(engine.family for engine in self.engines))

    @property
    def own(self) -> tuple[Chosen, ...]:
        """The engines that acidtest starts."""
        return tuple(engine for engine in self.engines if not engine.url)

    @property
    def servers(self) -> tuple[Chosen, ...]:
        """Those that it does not start."""
        return tuple(engine for engine in self.engines if engine.url)


def listed(words: tuple[str, ...], last: str = "and") -> str:
    """ "a", "a and b", "a, b and c"."""
    *others, end = words
    return f"{', '.join(others)} {last} {end}" if others else end
