"""A program of the user's, by the commands of ``[program]``: what starts it, ends it, and is given to its commands.

It stands where an engine does, so that a power cut is made and judged in the same way. docs/YOUR-PROGRAM.md has what
each command is given and must do.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import IO

from acidtest.engine.base import Durability, Engine, Instance, Launcher, Offer, SettingSpec
from acidtest.engine.server import LOOPBACK, Ended, Server, log_tail
from acidtest.errors import CellFailed, MachineLacks, message_of
from acidtest.experiment import ProgramLevel, ProgramSpec
from acidtest.journal.models import EngineFacts, Promise, Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, Settings, Target
from acidtest.risk import ANYHOW, Risk
from acidtest.risk import Settings as RiskSettings
from acidtest.words import harmless

FAMILY = "program"  # in place of one
ENDLESS = 1_000_000_000  # items that ``load`` is to write when power is going to fail
DATA = "data"  # what lies on the disk that is cut
ACK = 3  # the descriptor of acknowledgements
WORD, WRITES = re.compile(r"[^\s;|&<>()'\"`{}=]+"), re.compile(r">\s*\S+")  # of a command of the shell
FILES_SHOWN = 3
SAID_MAX = 300  # characters of what a command says last
# The shell that runs a command, in the folder of the experiment: "$1", "$2". ``load`` is given a pipe as its output.
SHELL = ("/bin/sh", "-c", 'cd "$1" && exec /bin/sh -c "$2"', "acidtest")
ACKNOWLEDGING = {
    "output": ("/bin/sh", "-c", 'cd "$1" && exec 3>&1 && exec /bin/sh -c "$2"', "acidtest"),
    "descriptor": ("/bin/sh", "-c", 'cd "$1" && exec 3>&1 >&2 && exec /bin/sh -c "$2"', "acidtest"),
}


@dataclass(frozen=True)
class Said:
    """What a command left when it ended by itself."""

    code: int
    output: str
    errors: str  # the last line of its standard error, or else of its output

    @property
    def ending(self) -> str:
        """How it ended, and its last words."""
        return ended(self.code, self.errors)


def ended(code: int, last: str) -> str:
    """How a command ended, with its last words."""
    how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
    return f"{how}: {last}" if last else f"{how} and said nothing"


def last_line(text: str) -> str:
    """The last line that is not empty, as it may be shown."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return harmless(lines[-1], SAID_MAX) if lines else ""


class Program(Engine):
    """The program of ``spec``. ``where`` is the experiment's file, named in errors."""

    family = FAMILY
    empty_bytes = 0

    def __init__(self, spec: ProgramSpec, where: str = "") -> None:
        self.id, self.spec, self._where = spec.name, spec, f"{where}: " if where else ""
        self._version: str | None = None
        self._files: dict[str, str] = {}

    @property
    def has_procedures(self) -> bool:
        return False

    def _offer(self) -> Offer:
        return Offer(self.id, True, self._version or "", platform.machine(), "[program]", self.spec.folder, "")

    def ready(self) -> None:
        """Ask for its version, once. Raises MachineLacks where that command fails."""
        if self._version is None:
            self._version = self._asked() if self.spec.version else ""
            self._files = {} if self.spec.version else named_files(self.spec)

    def _asked(self) -> str:
        at, limit_s = f"{self._where}program.version", self.spec.command_limit_s
        try:
            process = subprocess.Popen(
                [*SHELL, self.spec.folder, self.spec.version],
                env={**_inherited(), **self.spec.environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise MachineLacks(f"{at}: could not be run: {message_of(error)}", "repair that") from None
        try:
            output = process.communicate(timeout=limit_s)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            raise MachineLacks(f"{at}: did not end within {limit_s:g} s", "correct it, or leave version out") from None
        finally:
            with contextlib.suppress(ProcessLookupError):  # of our own session
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.returncode != 0:
            raise MachineLacks(
                f"{at}: {ended(process.returncode, last_line(output))}", "install the program, or repair it"
            )
        return harmless(next((line.strip() for line in output.splitlines() if line.strip()), ""), SAID_MAX)

    def facts(self) -> EngineFacts:
        return EngineFacts(
            id=self.id,
            version=self._version or "",
            architecture=platform.machine().replace("_", "-"),
            source=self.spec.start or self.spec.load,
            mode=FAMILY,
            files=self._files,
        )

    def setting_specs(self) -> Mapping[str, SettingSpec]:
        return {}

    def durability_levels(self) -> tuple[str, ...]:
        return tuple(self.spec.levels)

    def durability(self, level: str, settings: Mapping[str, Scalar]) -> Durability:
        variables = ", ".join(f"{name}={value}" for name, value in self._level(level).environment.items())
        said = self.risk(level, {}).sentence or "nothing that was acknowledged may be lost"
        return Durability(level, f"{variables or 'as its commands are'}: {said}, by [program]")

    def risk(self, level: str, settings: RiskSettings, filesystem: str = "", mount_options: str = "") -> Risk:
        said = self._level(level)
        if said.may_break:
            return Risk(lost=said.may_lose or "items", breaks=ANYHOW, keeps="store")
        return Risk(lost=said.may_lose, keeps="store")

    def promise(self, level: str) -> Promise:
        risk = self.risk(level, {})
        return Promise(may_lose=risk.lost, may_break=bool(risk.breaks))

    def _level(self, level: str) -> ProgramLevel:
        return self.spec.levels[level]

    def instance(self, directory: Path, settings: Mapping[str, Scalar], durability: str | None) -> ProgramInstance:
        assert durability is not None, "nothing is loaded in bulk"
        return ProgramInstance(self, directory, durability, self._level(durability))


def named_files(spec: ProgramSpec) -> dict[str, str]:
    """The files that the commands of a program name, and that are there, each with its SHA-256: by its path as seen
    from the experiment's folder. What a command writes to by > is none."""
    variables = {**os.environ, **spec.environment}
    found: dict[str, str] = {}
    for command in (spec.load, spec.check, spec.start, spec.ready, spec.stop, spec.setup):
        text = Template(WRITES.sub(" ", command)).safe_substitute(variables)
        for word in WORD.findall(text):
            path = Path(spec.folder, word)
            name = word
            if not path.is_file() and "/" not in word:
                name = shutil.which(word) or ""
                path = Path(name)
            if path.is_file() and path.parts[:2] not in (("/", "proc"), ("/", "sys")):
                with contextlib.suppress(OSError), path.open("rb") as file:
                    found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def changes(before: EngineFacts, now: EngineFacts) -> list[str]:
    """What of a program is not as it was when a cut of a journal was made. Of files that it did not name then, or of
    which older journals do not tell, nothing is known."""
    told = []
    if before.version != now.version:
        message_of.append(
            f"program.version printed {before.version or 'nothing'}, and now prints {now.version or 'nothing'}"
        )
    for file, sha256 in before.files.items():
        if now.files.get(file) != sha256:
            message_of.append(f"{file} {'has changed' if file in now.files else 'is gone'}")
    return message_of


def unnoticed(before: Sequence[EngineFacts], now: EngineFacts) -> str:
    """Where ``changes`` finds nothing: by what the program is the same, and what change of it would not be noticed."""
    if now.version:
        return f'the program is taken for the same, for program.version prints "{now.version}" as it did'
    if not now.files or not all(facts.files for facts in before):
        return "it is not known whether the program has changed since: let program.version print its version"
    files = sorted(now.files, key=lambda file: file.startswith("/"))  # those of PATH, which have all of theirs, last
    shown = files[:FILES_SHOWN] + ([f"{len(files) - FILES_SHOWN:,} more"] if len(files) > FILES_SHOWN else [])
    return (
        f"the program is taken for the same: its commands name {', '.join(shown)}, which have not changed; a change of "
        "what they use in turn is not noticed, unless program.version prints it"
    )


class ProgramInstance(Instance):
    """The program on the data in ``directory / "data"``, which may be a link."""

    def __init__(self, program: Program, directory: Path, level_name: str, level: ProgramLevel) -> None:
        self.directory, self.program, self._level_name, self._level = directory, program, level_name, level
        self.spec = program.spec
        self._log = directory / "program.log"
        self._server = Server(program.id, self._log)
        self._launcher: Launcher | None = None
        self._run: tuple[str, Path] | None = None  # its id in the ledger, and where it is
        self._ports = [0, 0]

    def database_files(self) -> list[Path]:
        return [self.directory / DATA]

    @property
    def data(self) -> Path:
        """Where the program keeps what is to survive, on the disk."""
        return Path(os.path.realpath(self.directory / DATA))

    # ------------------------------------------------------------------------------------------ its commands

    def set_up(self, launcher: Launcher) -> None:
        """Run ``setup`` in the empty data directory. Raises CellFailed."""
        self.data.mkdir(exist_ok=True)
        self._begin(launcher)
        if self.spec.setup:
            said = self.ask("setup", self.spec.setup)
            if said.code != 0:
                raise CellFailed(f"program.setup {said.ending}")

    def start(self, launcher: Launcher) -> None:
        self._begin(launcher)
        if not self.spec.start:
            return
        command = [*SHELL, self.spec.folder, self.spec.start]
        limit_s = self.spec.start_limit_s
        try:
            self._server.start(launcher, command, environment=self.environment(), ready=self._answers, seconds=limit_s)
        except Ended as error:
            hint = "" if "code 0 " not in error.message else " (start must stay in the foreground)"
            raise Ended(f"{error.message}{hint}") from None

    def _answers(self) -> bool:
        return self._server.pid is not None and self.ask("ready", self.spec.ready, limit_s=5.0).code == 0

    def _begin(self, launcher: Launcher) -> None:
        """What its commands are given, made anew: nothing outlives a cut but the data."""
        self._launcher = launcher
        if self._run is None:
            path = Path(tempfile.gettempdir()) / f"acidtest-{uuid.uuid4().hex[:8]}"  # short enough for a socket
            self._run = launcher.make_directory(path), path
        work = self._run[1] / "run"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        self._ports = _free(self._ports)

    def stop(self) -> None:
        """End the server in order. Raises CellFailed where it does not end; it is gone in any case."""
        pid, limit_s = self._server.pid, self.spec.command_limit_s
        try:
            if pid is None:
                return
            if self.spec.stop:
                said = self.ask("stop", self.spec.stop)
                if said.code != 0:
                    raise CellFailed(f"program.stop {said.ending}")
            else:
                os.killpg(pid, signal.SIGTERM)  # the session that the ledger has started
            if self._server.died(within_s=limit_s) is None:
                raise CellFailed(f"{self.program.id}: the server did not stop within {limit_s:g} s")
        finally:
            self._server.kill()

    def ask(
        self, name: str, command: str, variables: Mapping[str, str] | None = None, *, limit_s: float | None = None
    ) -> Said:
        """Run a command to its end. Raises CellFailed where it does not end in time; then it has been ended."""
        assert self._launcher is not None
        limit_s = limit_s or self.spec.command_limit_s
        output, errors = self.directory / f"{name}.output", self.directory / f"{name}.errors"
        with output.open("wb") as out, errors.open("wb") as err:
            environment = {**self.environment(), **(variables or {})}
            id, process = self._launcher.start_process(  # noqa: A001
                [*SHELL, self.spec.folder, command], environment=environment, stderr=err, stdout=out
            )
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                self._launcher.end_process(id, process)
        if code is None:
            if name == "ready":
                return Said(1, "", "")
            raise CellFailed(f"program.{name} did not end within {limit_s:g} s, and was ended")
        text = output.read_text(encoding="utf-8", errors="surrogateescape")
        return Said(code, text, last_line(log_tail(errors)) or last_line(text))

    def launch_load(self, pipe: IO[bytes], count: int, errors: Path) -> tuple[str, subprocess.Popen[bytes]]:
        """Start ``load``, which acknowledges into ``pipe``; answers its id in the ledger and its process.

        Whoever starts it ends it with ``end_load``.
        """
        assert self._launcher is not None
        environment = {**self.environment(), "ACIDTEST_COUNT": str(count), "ACIDTEST_ACK": str(ACK)}
        command = [*ACKNOWLEDGING[self.spec.acknowledges], self.spec.folder, self.spec.load]
        with errors.open("wb") as file:
            return self._launcher.start_process(command, environment=environment, stderr=file, stdout=pipe)

    def end_load(self, id: str, process: subprocess.Popen[bytes]) -> None:  # noqa: A002
        """Kill it and what it has started."""
        assert self._launcher is not None
        self._launcher.end_process(id, process)

    def environment(self) -> dict[str, str]:
        """What every command is given."""
        run = self._run[1] / "run" if self._run else self.directory
        return {
            **_inherited(),
            **self.spec.environment,
            **self._level.environment,
            "ACIDTEST_DATA": str(self.data),
            "ACIDTEST_RUN": str(run),
            "ACIDTEST_LEVEL": self._level_name,
            "ACIDTEST_PORT": str(self._ports[0]),
            "ACIDTEST_PORT_2": str(self._ports[1]),
        }

    # ------------------------------------------------------------------------------------------ as an instance

    def died(self, within_s: float = 0.0) -> str | None:
        return self._server.died(within_s)

    def target(self) -> Target:
        raise CellFailed(f"{self.program.id}: no rig has a session with a program")

    def inspections(self) -> list[Inspection]:
        return []

    def settings_in_force(self, answers: Sequence[Settings]) -> list[SettingInForce]:
        return []  # its commands are not asked for any

    def seal(self) -> None:
        self.stop()

    def log(self) -> str:
        return log_tail(self._log)

    def lose_power(self) -> None:
        self._server.kill()

    def release(self) -> None:
        self._server.kill()
        if self._run is not None and self._launcher is not None:
            self._launcher.remove_directory(self._run[0])
            self._run = None


def _inherited() -> dict[str, str]:
    """The environment of who runs this, without what makes a program flush that buffers elsewhere."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def _free(ports: Sequence[int]) -> list[int]:
    """As many different ports of the loopback address that nobody has: the same ones while they are free."""
    with contextlib.ExitStack() as held:
        found = []
        for port in ports:
            probe = held.enter_context(socket.socket())
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                probe.bind((LOOPBACK, 0))
            found.append(int(probe.getsockname()[1]))
        return found
