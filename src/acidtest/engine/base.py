"""What every engine module provides. The conductor speaks to these two classes and names no engine."""

from __future__ import annotations

import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from acidtest.engine import install
from acidtest.engine.instruments import Counters, Figures, StatementTrace
from acidtest.errors import BadInput, CellFailed, MachineLacks, message_of, not_among
from acidtest.families import FAMILIES
from acidtest.formats import elf
from acidtest.journal.models import DatabaseStatistics, EngineFacts, Integrity, Promise, Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, Settings, Target
from acidtest.keys import FIRST_VERSION, Unit
from acidtest.risk import LEVELS, Risk
from acidtest.risk import Settings as RiskSettings

DURABILITY_LEVELS = LEVELS


@dataclass(frozen=True)
class SettingSpec:
    """One setting of an engine that an experiment may vary or fix."""

    name: str  # without the family: "page_size"
    doc: str  # one plain sentence
    allowed: tuple[Scalar, ...] | None  # exact values, or None for a range
    minimum: int | None = None
    maximum: int | None = None
    default: Scalar = None  # None: the engine's own default, only recorded
    by_level: bool = False  # follows from the durability level; may be named only in agreement with it
    shapes_files: bool = False  # part of the loaded template (page size), not of the running instance
    unit: Unit | None = None
    unset: str = "the engine's own"  # what holds where nobody sets it and there is no default of ours
    since: str = FIRST_VERSION  # the version of acidtest that brought it

    def complaint(self, value: Scalar) -> str:
        """What ``value`` must be instead, or "" when it is right."""
        if self.allowed is not None:
            words = [a for a in self.allowed if type(a) is type(value) and a == value]
            return "" if words else "one of " + ", ".join(map(shown, self.allowed))
        if isinstance(value, int) and not isinstance(value, bool):
            low, high = self.minimum, self.maximum
            if (low is None or value >= low) and (high is None or value <= high):
                return ""
        return f"a whole number from {self.minimum} to {self.maximum}"


def filled(specs: Mapping[str, SettingSpec], settings: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """``settings`` and, for those that are not named, our own defaults; the engine's own stay out."""
    return {**{name: spec.default for name, spec in specs.items() if spec.default is not None}, **settings}


def shown(value: Scalar) -> str:
    """As TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


def without(name: str, levels: Iterable[str]) -> str:
    """What to do about a setting that contradicts the level asked for: ``levels`` are those that it means."""
    meant = " or ".join(levels)
    return f"leave {name} out, or ask for durability {meant}" if meant else f"leave {name} out"


@dataclass(frozen=True)
class Durability:
    """One durability level of an engine."""

    level: str
    means: str  # one line: the engine settings behind it, and what a power cut or OS crash may lose


@dataclass(frozen=True)
class Offer:
    """One engine as ``acidtest engines`` lists it."""

    id: str
    installed: bool
    version: str
    architecture: str
    source: str
    path: str
    remedy: str  # how it is installed
    missing_libraries: tuple[tuple[str, str], ...] = ()  # library, Debian package
    damage: str = ""  # what is wrong with the files that are here
    doubts: str = ""  # what must be known of it, though it runs

    def lack(self) -> tuple[str, str] | None:
        """What keeps the engine from running here, and what to do about it; None when nothing does."""
        if not self.installed:
            return "is not installed", self.remedy
        if self.damage:
            return f"is damaged: {self.damage}", self.remedy
        if self.missing_libraries:
            libraries = ", ".join(library for library, _ in self.missing_libraries)
            packages = " ".join(dict.fromkeys(package for _, package in self.missing_libraries))
            return f"needs the system libraries {libraries}", f"install them: apt-get install {packages} (Debian)"
        return None


class ProcessStarter(Protocol):
    """Starts processes that must not outlive the lab."""

    def start_process(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        stderr: IO[bytes],
        stdout: IO[bytes] | None = None,
    ) -> tuple[str, subprocess.Popen[bytes]]:
        """Start ``command``; without ``stdout`` its output is a pipe. Returns its id in the ledger, and the process."""

    def end_process(self, id: str, process: subprocess.Popen[bytes]) -> None:  # noqa: A002
        """Kill the process if it still runs, wait for it, and strike it off."""


class Launcher(ProcessStarter, Protocol):
    """Makes what must not outlive the lab unnoticed; the ledger of places is one."""

    def make_directory(self, path: Path) -> str:
        """Make ``path`` (its parent must exist) and return its id. Raises FileExistsError when it is there."""

    def remove_directory(self, id: str) -> None:  # noqa: A002
        """Remove a directory made here with everything in it."""


# A question in the engine's SQL, answered with all its rows as text. Raises CellFailed with the engine's words.
Ask = Callable[[str], list[list[str | None]]]
# Takes the database's files out of the file cache.
Forget = Callable[[], None]


class Engine(ABC):
    """One engine version on this machine. ``settings`` arguments are by bare name, values as the user wrote them."""

    id: str  # "firebird-5.0"
    family: str  # "firebird": its name in acidtest.families, and the prefix of its settings in an experiment
    empty_bytes: int = 4_000_000  # about what a database takes before anything is loaded, logs included
    private: bool = True  # made, started and configured by the lab; False of a server that the user has
    embedded: bool = False  # runs inside the rig
    on_raw_device: bool = False  # its database may be a block device itself, without a file system

    @property
    def has_procedures(self) -> bool:
        """Whether procedures are stored in the database; otherwise the client runs a workload's statements itself."""
        return FAMILIES[self.family].has_procedures

    @property
    def known_as(self) -> str:
        """The id of an engine that acidtest brings or knows of the system: its own, but of a build of the user's."""
        return self.id

    def notes(self) -> list[str]:
        """What a reader of its numbers must know of the engine itself, one plain sentence each."""
        return []

    _facts: EngineFacts | None = None  # as they were read last

    @abstractmethod
    def _offer(self) -> Offer:
        """As ``offer``. Raises OSError and elf.NotElf where the files are not whole."""

    def offer(self) -> Offer:
        """What is here of the engine, also of one that is damaged; of one that is not installed, what would be."""
        try:
            return self._offer()
        except (OSError, elf.NotElf) as error:
            again = f"acidtest engines remove {self.id}, then acidtest engines install {self.id}"
            remedy = again if install.home(self.id).is_dir() else "install its package again"
            damage = message_of(error) if isinstance(error, OSError) else str(error)
            return Offer(self.id, True, "", "", "", "", remedy, damage=damage)

    def ready(self) -> None:
        """Raise MachineLacks, with the way to repair it, unless the engine can run here."""
        if lack := self.offer().lack():
            raise MachineLacks(f"{self.id} {lack[0]}", lack[1])

    def gone(self) -> str | None:
        """What has become of an engine that was ready, and what to do about it, in one line; None while it is whole."""
        try:
            self.ready()
        except MachineLacks as lack:
            return f"the engine was removed or changed while the run went on: {lack.message}: {lack.remedy}"
        return None

    def install(self, say: Callable[[str], None]) -> None:
        """Bring the engine into a folder of its own, unless it is here; ``install.py`` has the means.

        Raises MachineLacks when it cannot be brought, or, as here, when it is not ours to bring.
        """
        offer = self.offer()
        if not offer.installed:
            raise MachineLacks(f"{self.id} comes with the system's packages", offer.remedy)
        say(f"{self.id} is here: {offer.source}")

    def remove(self, say: Callable[[str], None]) -> None:
        """Remove the folder that ``install`` made. Raises BadInput when there is none."""
        install.remove(self.id, say)

    def files(self) -> list[Path]:
        """Files and folders of this machine that the rig needs to run the engine embedded, without the libraries that
        those name themselves: what has to be carried to where this machine's files are not."""
        return [Path(path)] if (path := self.offer().path) else []

    @abstractmethod
    def facts(self) -> EngineFacts:
        """Version, architecture and origin, read from the installed files.

        Raises OSError, elf.NotElf and CellFailed where they are gone.
        """

    def last_facts(self) -> EngineFacts:
        """The same, or, when the files are gone, as they were when ``last_facts`` could read them last."""
        try:
            self._facts = self.facts()
        except (OSError, elf.NotElf, CellFailed):
            if self._facts is None:
                raise
        return self._facts

    def mode(self, settings: Mapping[str, Scalar]) -> str:
        """How it runs under these settings, as in ``EngineFacts.mode``."""
        return self.last_facts().mode

    @abstractmethod
    def setting_specs(self) -> Mapping[str, SettingSpec]:
        """Settings that this version has, by bare name."""

    def check_settings(self, settings: Mapping[str, Scalar]) -> None:
        """Raise BadInput for a setting this engine does not have or a value that it does not take."""
        specs = self.setting_specs()
        for name, value in settings.items():
            if name not in specs:
                raise BadInput(not_among(f"{self.id}: setting", name, specs), f"acidtest help {self.family}")
            if complaint := specs[name].complaint(value):
                key = f"{self.family}.{name}"
                raise BadInput(f"{self.id}: {key}: found {shown(value)}, must be {complaint}", f"acidtest help {key}")

    @abstractmethod
    def durability_levels(self) -> tuple[str, ...]:
        """The levels this engine has under some settings, weakest first."""

    def log_bytes(self, settings: Mapping[str, Scalar]) -> int:
        """About the most that its logs take beside the database while much is written."""
        return 64_000_000

    @abstractmethod
    def durability(self, level: str, settings: Mapping[str, Scalar]) -> Durability:
        """What ``level`` means under these settings. Raises BadInput when the engine does not have it."""

    def risk(self, level: str, settings: RiskSettings, filesystem: str = "", mount_options: str = "") -> Risk:
        """What ``level`` may lose under these settings, which are in the words of a recording, on such a mount."""
        return FAMILIES[self.family].risk_on(level, settings, filesystem, mount_options)

    def promise(self, level: str) -> Promise | None:
        """What ``level`` may lose by the word of the user; None of an engine whose family is known."""
        return None

    @abstractmethod
    def instance(self, directory: Path, settings: Mapping[str, Scalar], durability: str | None) -> Instance:
        """An instance in ``directory`` with these settings; without ``durability`` it is for a bulk load."""

    def create(self, directory: Path, settings: Mapping[str, Scalar]) -> Instance:
        """A new, empty database in the existing, empty ``directory``, set up for a fast bulk load."""
        made = self.instance(directory, settings, None)
        made.create()
        return made

    def adopt(self, directory: Path, settings: Mapping[str, Scalar], durability: str) -> Instance:
        """An instance over database files that were copied into ``directory`` from a sealed template,
        with these settings and this durability applied and everything written to the drive."""
        made = self.instance(directory, settings, durability)
        made.configure()
        return made


class Instance(ABC):
    """One private database with its own configuration, and, of a server, its own process.

    In this order: ``Engine.create`` or ``Engine.adopt``, ``start``, then the rig's work on ``target()``, then after a
    load ``seal``, and in the end ``release``, always.
    """

    directory: Path

    def create(self) -> None:  # noqa: B027 - some make their database when the first session opens it
        """Make a new, empty database; ``Engine.create`` calls it."""

    def configure(self) -> None:  # noqa: B027 - some are configured by each session
        """Apply settings and durability to the files in ``directory``; ``Engine.adopt`` calls it."""

    @abstractmethod
    def database_files(self) -> list[Path]:
        """Files and directories that hold the database, in a fixed order; what a template consists of."""

    def data_files(self) -> list[Path]:
        """Of these the part that holds tables and indexes: no logs, and nothing that the engine has for itself."""
        return self.database_files()

    def log_files(self) -> list[Path]:
        """Files and directories of the log in which the engine writes what it has not written into its tables yet; none
        of an engine without one."""
        return []

    def log_limit_bytes(self, settings: Sequence[SettingInForce]) -> int | None:
        """At about what size the engine begins to reuse its log, by the settings in force; None: at none."""
        return None

    def start(self, launcher: Launcher) -> None:  # noqa: B027 - an embedded engine has nothing to start
        """Start the server and wait until it answers. Raises CellFailed with the last lines of its log."""

    def died(self, within_s: float = 0.0) -> str | None:
        """How the server ended although nobody asked it to, with the last lines of its log; None if it still runs
        after ``within_s`` seconds.

        Always None of an embedded engine: it dies with the rig.
        """
        return None

    @abstractmethod
    def target(self) -> Target:
        """Where the rig opens its sessions."""

    def listen_at(self, address: str) -> None:
        """Before the start: a server that sessions reach by TCP is to listen at ``address``, for other machines.

        Raises CellFailed where it cannot.
        """
        raise CellFailed(f"{type(self).__name__}: other machines cannot reach it")

    def target_elsewhere(self) -> Target:
        """Where a rig on another machine opens its sessions."""
        return self.target()

    @abstractmethod
    def environment(self) -> dict[str, str]:
        """Variables the rig's process needs, beside the lab's own."""

    @abstractmethod
    def inspections(self) -> list[Inspection]:
        """Questions whose answers are the settings in force."""

    def counters(self) -> Counters | None:
        """What the engine itself counts while load is measured; None where it is not asked."""
        return None

    def figures(self) -> Figures | None:
        """Where the engine stands, once a second while load is measured; None where it tells nothing of the kind."""
        return None

    def statement_trace(self) -> StatementTrace | None:
        """The engine's own trace of statements, not yet begun; None of an engine that has none."""
        return None

    def witness(self, processes: Sequence[int]) -> bool:
        """Look, while sessions are open, at what the engine cannot be asked for; ``settings_in_force`` then has it.

        ``processes`` are the engine's, on this machine: the rig's where the engine is embedded. Returns whether
        everything was seen that can be; most engines answer when they are asked.
        """
        return True

    @abstractmethod
    def settings_in_force(self, answers: Sequence[Settings]) -> list[SettingInForce]:
        """Each setting asked for, and each worth recording, with what is really in force. ``answers`` are the
        rig's: the first of the job's own session, others of terminals that answered otherwise."""

    def cache_bytes(self, settings: Sequence[SettingInForce], sessions: int) -> int | None:
        """The engine's own page cache, of so many sessions together, by the settings in force; None: not known."""
        return None

    @abstractmethod
    def seal(self) -> None:
        """After a load: stop the server, leave ``database_files()`` complete, closed and on the drive."""

    @abstractmethod
    def log(self) -> str:
        """What the engine wrote to its log since the instance was made, at most 16 KiB, "" when it has none."""

    def log_findings(self) -> list[str]:
        """What a reader of the numbers must know of the log: one plain sentence each, over the whole of it."""
        return [f"The engine wrote to its log: {line[:200]}" for line in self.log().strip().splitlines()[-1:]]

    def log_file(self) -> Path | None:
        """The file in which the engine logs what it does, each entry with its time; None where there is none."""
        return None

    def lose_power(self) -> None:  # noqa: B027 - an embedded engine dies with the rig
        """End the server at once, as a power cut does: nothing is written any more, and nothing that it kept outside
        ``database_files()`` stays. ``start`` starts it again."""

    def stop(self) -> None:  # noqa: B027 - an embedded engine that holds nothing back has nothing to stop
        """End the server in order, where it runs, so that what the engine has held back is in its files. Raises
        CellFailed where it does not end so; it is gone in any case."""

    def integrity(self, ask: Ask) -> Integrity:
        """The engine's own check of its files, after ``start`` and with no session open. May end the server.

        ``ask`` questions a running server. What keeps the check from running is told as ``unknown``.
        """
        return Integrity(holds="unknown", check="an integrity check", said="this engine has none")

    def statistics(self, ask: Ask, forget: Forget | None = None) -> DatabaseStatistics:
        """What its tables and indexes look like inside, by the engine's own means; see docs/STATISTICS.md.

        Called after ``start`` and with no session open; may end the server. With ``forget`` the full read is made
        twice and timed, cold and warm. Raises CellFailed in one line where it cannot be taken, as of files that are
        damaged.
        """
        raise CellFailed(
            "there are no statistics of a server by URL", "leave statistics out, or let acidtest start the engine"
        )

    def expect_looks(self, *, many: bool) -> None:  # noqa: B027 - most checks have no process to keep
        """Whether the database is opened and checked again and again, by processes that stay: then opening it is to
        take no longer than it must. Processes of ``integrity`` that stayed are ended either way."""

    def scratch(self) -> list[Path]:
        """Directories beside the database whose files live no longer than the engine's processes, so that they may be
        in memory; nothing is in them while none runs."""
        return []

    @abstractmethod
    def release(self) -> None:
        """Stop the server, let go of everything outside ``directory``. The directory itself belongs to the place."""
