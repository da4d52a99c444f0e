"""A server that is not ours, reached by a connection URL: nothing of it is set, all of it is asked.

What it holds stays: tables go into a schema that acidtest makes and marks, or, on MySQL, into a database that holds
nothing else. A setting or a durability level named by the experiment is a demand: the server either answers with it or
nothing is run there; a cell in which it answers otherwise later is invalid.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from acidtest.engine.base import Durability, Engine, Instance, Offer, SettingSpec, filled
from acidtest.engine.compare import Answers, spoken
from acidtest.errors import BadInput
from acidtest.journal.models import EngineFacts, Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, Settings, Target, Tls
from acidtest.words import first_of

if TYPE_CHECKING:
    from acidtest.experiment.models import Wire

MARK = "made_by_acidtest"
# Settings of acidtest's sessions, which it has whatever the server's are.
OF_SESSIONS = ("isolation", "pipeline", "lock_resolution", "lock_timeout_s")
OF_URLS = ("connection", "port", "tls", "wire_crypt", "wire_compression")  # settings that the URL has in their place
NOT_VERIFIED = (
    "The server is not acidtest's own: what its storage is, who else uses it, and whether its drive keeps what it "
    "acknowledges were not verified."
)


@dataclass(frozen=True)
class Address:
    """The parts of a connection URL."""

    host: str
    port: int
    user: str
    password: str | None
    database: str
    schema: str | None  # named by the user; None: there must be no tables at all beside acidtest's
    tls: Tls | None = None
    wire: Wire | None = None  # on Firebird

    def login(self) -> dict[str, Any]:
        """What every kind of target has of it."""
        names = ("host", "port", "user", "password", "database", "tls")
        return {name: getattr(self, name) for name in names}


class ForeignServer(Engine):
    """A server at an address. ``id`` is the name that the experiment gives it."""

    private = False
    levels: ClassVar[tuple[str, ...]] = ("none", "os", "drive")
    specs: ClassVar[Mapping[str, SettingSpec]]  # of any version: which one it is, only the server can tell
    demandable: ClassVar[frozenset[str]]  # settings that the server tells, and those that acidtest's own sessions have
    instances: ClassVar[type[ForeignInstance]]

    def __init__(self, name: str, address: Address) -> None:
        self.id = name
        self.address = address

    def _offer(self) -> Offer:
        return Offer(self.id, True, "", "unknown", self.facts().source, "", "")

    def facts(self) -> EngineFacts:
        at = self.address
        url = f"{self.family}://{at.user}@{at.host}:{at.port}/{at.database}"
        return EngineFacts(id=self.id, version="", architecture="unknown", source=url, mode="server, not ours")

    def durability_levels(self) -> tuple[str, ...]:
        return self.levels

    @abstractmethod
    def refuse_contradictions(self, level: str, settings: Mapping[str, Scalar]) -> None:
        """Raise BadInput for a setting under which the level could not be true."""

    def durability(self, level: str, settings: Mapping[str, Scalar]) -> Durability:
        self.refuse_contradictions(level, settings)
        demanded = ", ".join(f"{name}={value}" for name, value in self.demands(level).items())
        return Durability(level, f"as the server is set; demanded: {demanded}")

    def setting_specs(self) -> Mapping[str, SettingSpec]:
        return self.specs

    def check_settings(self, settings: Mapping[str, Scalar]) -> None:
        super().check_settings(settings)
        for name in settings:
            if name in OF_URLS:
                raise BadInput(f"{self.id}: {self.family}.{name}: the URL says how to connect", f"leave {name} out")
            if name not in self.demandable:
                why = "a server by URL does not tell it, so that nobody could say whether it holds"
                raise BadInput(f"{self.id}: {self.family}.{name}: {why}", f"leave {name} out")

    def instance(self, directory: Path, settings: Mapping[str, Scalar], durability: str | None) -> Instance:
        raise NotImplementedError("a server by URL has no templates: it is adopted as it is")

    def adopt(self, directory: Path, settings: Mapping[str, Scalar], durability: str) -> ForeignInstance:
        """The server, held against these settings and this durability."""
        return self.instances(self, directory, settings, durability)

    @abstractmethod
    def demands(self, level: str) -> dict[str, Scalar]:
        """Settings that the server must have for a level."""


class ForeignInstance(Instance):
    """The schema on the server. The conductor calls ``start`` first and ``release`` in the end. It asks ``holdings``,
    hands the answers to ``refusal``, and carries out ``clearing`` before each load and at the end."""

    def __init__(self, engine: ForeignServer, directory: Path, settings: Mapping[str, Scalar], durability: str) -> None:
        self.directory = directory
        self.engine = engine
        self.is_prepared = False  # sessions work on what the user has there, and not where acidtest loads
        self.asked: dict[str, Scalar] = {**engine.demands(durability), **settings}
        own = filled({n: s for n, s in engine.setting_specs().items() if n in OF_SESSIONS}, settings)
        self.session: dict[str, Scalar] = {name: value for name, value in own.items() if value is not None}
        self.asked |= self.session

    def database_files(self) -> list[Path]:
        return []

    def environment(self) -> dict[str, str]:
        return {}

    def seal(self) -> None:
        pass

    def log(self) -> str:
        return ""

    def release(self) -> None:
        pass

    @abstractmethod
    def bare_target(self, statements: Sequence[str] = ()) -> Target:
        """The database itself, with ``statements`` carried out on opening it."""

    def target(self) -> Target:
        return self.bare_target()

    @abstractmethod
    def holdings(self) -> list[Inspection]:
        """Questions about what the server holds."""

    def unusable(self, held: Mapping[str, str | None]) -> str | None:
        """Why the answers to ``holdings`` forbid any work there; None when nothing does."""
        return None

    @abstractmethod
    def unprepared(self, held: Mapping[str, str | None]) -> str | None:
        """Why there is no database of the user's to work on; None where there is one."""

    @abstractmethod
    def refusal(self, held: Mapping[str, str | None]) -> str | None:
        """Why the answers to ``holdings`` forbid loading there; None when nothing does."""

    @abstractmethod
    def clearing(self, held: Mapping[str, str | None], *, for_good: bool) -> list[str]:
        """Statements that remove what acidtest made; then, unless ``for_good``, make and mark the place anew."""


NOTHING_THERE = "holds no table, and prepared = true says that you have prepared it: restore it, or name another one"


def others(tables: str) -> str:
    """The first of the tables that are in the way, for a message."""
    return first_of(tables.split(","), 5)


def held_against(
    asked: Mapping[str, Scalar],
    variables: Mapping[str, tuple[str, Callable[[str], str]]],
    recorded: Sequence[str],
    source: str,
    answers: Sequence[Settings],
) -> list[SettingInForce]:
    """Each setting against the server's answer: ``variables`` has by our name the server's, and how its answer reads in
    our words. What is ``recorded`` only was not asked for."""
    given = Answers(answers)
    words = {name: spoken(value) for name, value in asked.items()}
    settings = [
        given.compare(name, words.get(name), source, answer=answer, translate=translate)
        for name, (answer, translate) in variables.items()
    ]
    return [
        # What this version does not have is no setting of it, unless it was asked for.
        *(setting for setting in settings if setting.in_force is not None or setting.asked is not None),
        *(given.compare(name, None, source) for name in recorded),
    ]
