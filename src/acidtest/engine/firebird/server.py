"""A private Firebird server: Debian's program with a root, a security database and a port of our own.

The program and its libraries lie in a folder of ours and run by the loader of that folder. Databases are made and
looked at by the same version embedded, whose wheel has the rig's client too: Debian's is built for Debian's C library.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from acidtest.engine import debian, install, libraries
from acidtest.engine.base import Ask, Engine, Forget, Instance, Launcher, Offer, SettingSpec
from acidtest.engine.compare import Answers
from acidtest.engine.firebird import log, wire
from acidtest.engine.firebird.engine import Firebird, FirebirdRemote, FirebirdTarget
from acidtest.engine.firebird.instance import FirebirdInstance
from acidtest.engine.firebird.runtime import WHEELS, Runtime, bring_wheel, link_or_copy, name_plugins
from acidtest.engine.firebird.versions import VERSIONS, Version
from acidtest.engine.server import (
    LOOPBACK,
    ServedInstance,
    Server,
    SocketDirectory,
    listens,
    log_tail,
    password,
    port_for,
)
from acidtest.errors import MachineLacks
from acidtest.files import fsync_path
from acidtest.formats import elf
from acidtest.journal.models import DatabaseStatistics, EngineFacts, Integrity, Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, Settings

MODES = {"Super": "SuperServer", "SuperClassic": "SuperClassic", "Classic": "Classic"}
PORT = SettingSpec("port", "The server listens on this port of 127.0.0.1.", None, 1, 65_535, unset="a free one")

ENGINES = {"3.0": "Engine12", "4.0": "Engine13"}  # the plugin that is the engine, by release
I386 = "i386"  # Debian's name of 32 bits on x86
USERS = "security.fdb"
ERROR_MAX = 300  # characters of what replication.log says of one
# What a session has proved of its user names this file twice, and 4.0 gives all of it 255 bytes where a service opens a
# database (src/alice/exe.cpp).
USERS_PATH_MAX = 60
# zlib1g is loaded by name where a connection is compressed: no package of Firebird's says that it is needed.
PACKAGES = ("firebird{}-server", "firebird{}-server-core", "firebird{}-utils", "libib-util", "zlib1g")


class FirebirdServer(Firebird):
    """The server of Debian's packages. ``home`` holds them as ``server``, and the wheel as ``client``."""

    names_plugins = False  # whether its root says where its plugins are

    def __init__(self, version: Version, home: Path | None = None, architecture: str | None = None) -> None:
        super().__init__("-".join(filter(None, (f"firebird-{version.release}-server", architecture))), version)
        self.home = home = home or install.home(self.id)
        self.architecture = architecture  # Debian's name of it, where it is not the machine's own
        self.client = Runtime(home / "client")
        self.folder = home / "server"
        self.program = _program(self.folder, version.release)
        self.packages = [name.format(version.release) for name in PACKAGES]
        self._specs |= {spec.name: spec for spec in (PORT, *wire.SPECS)}

    @property
    def runtime(self) -> Path:
        """The folder with the server's plugins and character sets. Raises OSError where it is gone."""
        for found in (self.folder / "usr" / "lib").glob(f"*/firebird/{self.version.release}/plugins"):
            return found.parent
        raise FileNotFoundError(2, "no plugins of the server", str(self.folder))

    @property
    def plugin(self) -> str:
        """The plugin that is the engine, as firebird.conf names it."""
        return ENGINES[self.version.release]

    @property
    def log_name(self) -> str:
        """Of the file that it logs to: it is built into Debian's program."""
        return f"firebird{self.version.release}.log"

    def command(self) -> list[str]:
        """What starts the server. Raises OSError where its files are gone."""
        return debian.command(self.folder, self.program)

    def libraries(self, root: Path) -> Path | None:
        """The folder of libraries that the server is to find first; None: those of its own loader."""
        return None

    def _offer(self) -> Offer:
        installed = self.home.is_dir()
        facts = self.facts() if installed else None
        return Offer(
            self.id,
            installed,
            version=facts.version if facts else self.version.release,
            architecture=facts.architecture if facts else "",
            source=facts.source if facts else f"Debian {self.packages[0]}",
            path=str(self.home) if installed else "",
            remedy=f"acidtest engines install {self.id}",
            missing_libraries=self.client.missing_libraries() if installed else (),
            damage=self._outdated() if installed else "",
        )

    def _outdated(self) -> str:
        lacks = debian.brought(self.folder).lacks(self.packages)
        return f"an older acidtest installed it without {', '.join(lacks)}" if lacks else ""

    def _is_current(self) -> bool:
        try:
            return not self._outdated()
        except OSError:
            return False

    def install(self, say: Callable[[str], None]) -> None:
        release = self.version.release

        def fill(work: Path) -> Path:
            made = work / "home"
            made.mkdir()
            debian.bring(self.id, release, self.packages, work, say, self.architecture).rename(made / "server")
            program = _program(made / "server", release)
            plugins = (made / "server" / "usr" / "lib").glob(f"*/firebird/{release}/plugins/lib*.so")
            debian.check(self.id, made / "server", [program, *plugins])
            check_that_it_runs(self.id, made / "server", program)
            (work / "wheel").mkdir()
            bring_wheel(self.id, WHEELS[release], work / "wheel").rename(made / "client")
            libraries.check(self.id, Runtime(made / "client").library)
            return made

        install.install(self.id, fill, say, is_current=lambda _: self._is_current())

    def facts(self) -> EngineFacts:
        # "Firebird TCP/IP server version LI-V3.0.14.33856 Firebird 3.0"
        output = subprocess.run(
            [*self.command(), "-z"], capture_output=True, encoding="utf-8", errors="replace", check=False
        ).stdout
        return EngineFacts(
            id=self.id,
            version=output.partition("-V")[2].partition(" ")[0],
            architecture=elf.read(self.program).machine,
            source=debian.brought(self.folder).source,
            mode=MODES["Super"],
        )

    def mode(self, settings: Mapping[str, Scalar]) -> str:
        return MODES[str(settings.get("server_mode", "Super"))]

    def instance(self, directory: Path, settings: Mapping[str, Scalar], durability: str | None) -> Instance:
        return ServerInstance(self, directory, settings, durability)


def engines() -> list[Engine]:
    """Every version that Debian has a server of, installed or not; 3.0 for 32 bits too, as many of its users had it."""
    builds = [*((release, None) for release in ENGINES), ("3.0", I386)]
    return [FirebirdServer(VERSIONS[release], architecture=architecture) for release, architecture in builds]


def _program(folder: Path, release: str) -> Path:
    return folder / "usr" / "lib" / "firebird" / release / "bin" / "firebird"


def check_that_it_runs(id: str, folder: Path, program: Path) -> None:  # noqa: A002
    """Raise MachineLacks unless this machine runs the program: it may be one for another processor."""
    try:
        subprocess.run([*debian.command(folder, program), "-z"], capture_output=True, check=True)
    except OSError as error:
        raise MachineLacks(
            f"{id}: this machine does not run programs for {elf.read(program).machine}: {error.strerror}",
            "take an engine for this machine's own processor",
        ) from None
    except subprocess.CalledProcessError as error:
        raise MachineLacks(f"{id}: {program.name} -z ended with code {error.returncode}", debian.OTHER_WAYS) from None


class ServerInstance(ServedInstance, FirebirdInstance):
    _engine: FirebirdServer
    _sockets: SocketDirectory  # which here holds the users' database

    def __init__(
        self, engine: FirebirdServer, directory: Path, settings: Mapping[str, Scalar], durability: str | None
    ) -> None:
        if durability is None:  # a load, which every cell begins from
            settings = {name: value for name, value in settings.items() if name not in wire.VARIABLES}
        super().__init__(engine, directory, settings, durability)
        self._sockets = SocketDirectory(self._server_root, USERS, USERS_PATH_MAX)
        # What the server prints joins what it logs.
        self._server = Server(engine.id, self._server_root / engine.log_name)
        self._password = password()
        self._port = 0
        self._listens: tuple[str, int] | None = None  # there, and not at a free port of this machine's own address
        self._beside = Server(f"{engine.id}: what stands beside it", self._server_root / "beside.log")
        self._beside_by: tuple[list[str], int] = ([], 0)

    @property
    def password(self) -> str:
        return self._password

    def listens(self, address: str, port: int) -> None:
        """From the next start on sessions reach it there, which may be in a network of its own."""
        self._listens = address, port

    def publish(self) -> None:
        """Have its tables go to replicas, before the start. Raises CellFailed."""
        self._admin("publish the tables")

    def be_replica(self, *, read_only: bool) -> None:
        """What gfix -replica does: read_only, or none. The server does not run. Raises CellFailed."""
        self._admin("set the replica mode", read_only=read_only)
        fsync_path(self.database_files()[0])

    def replicate_by(self, text: str) -> None:
        """The replication.conf that sessions read, with a password in it; what was logged of another is gone."""
        (self._server_root / "replication.log").unlink(missing_ok=True)
        conf = self._server_root / "replication.conf"
        conf.touch(mode=0o600)
        conf.write_text(text, encoding="utf-8")

    def replication_log(self) -> str:
        file = self._server_root / "replication.log"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    def replication_errors(self) -> str:
        """What replication.log says last of an error; "" where there is none."""
        lines = [line.strip() for line in self.replication_log().splitlines() if line.strip()]
        at = max((at for at, line in enumerate(lines) if line.startswith("ERROR")), default=None)
        return "" if at is None else " ".join(lines[at:])[:ERROR_MAX]

    def stands_beside(self, command: list[str], port: int) -> None:
        """From the next start on this runs beside the server, and listens on ``port``; nothing does without one."""
        self._beside_by = command, port

    def stop(self) -> None:
        """End it in order, as ``seal`` does, where it runs. Raises CellFailed."""
        self._beside.kill()
        self._server.stop(files=self.database_files(), orderly=(0, 2))

    @property
    def _address(self) -> str:
        return self._listens[0] if self._listens else LOOPBACK

    @property
    def _server_root(self) -> Path:
        return self.directory / "server"

    def _furnish(self) -> None:
        self._engine.client.furnish(self._root)
        root, runtime = self._server_root, self._engine.runtime
        (root / "plugins").mkdir(parents=True)
        for plugin in (runtime / "plugins").glob("*.so"):
            link_or_copy(plugin, root / "plugins" / plugin.name)
        (root / "intl").symlink_to(runtime / "intl")
        # Debian's 3.0 comes with the messages of 4.0.
        (root / "firebird.msg").symlink_to(self._engine.client.path / "firebird.msg")
        (root / "databases.conf").touch()
        if (runtime / "tzdata").is_dir():
            (root / "tzdata").symlink_to(runtime / "tzdata")
        if self._engine.names_plugins:
            name_plugins(root)

    def _own_conf(self) -> dict[str, str]:
        return {
            # Without Loopback, which would try the machine's own server when ours has no such database.
            "Providers": f"Remote, {self._engine.plugin}",
            "RemoteBindAddress": LOOPBACK,
            "AuthServer": "Srp",
            "AuthClient": "Srp",
            "UserManager": "Srp",
            **wire.entries(
                crypt="Required" if self._settings[wire.CRYPT.name] else "Disabled",
                compression=bool(self._settings[wire.COMPRESSION.name]),
            ),
        }

    def start(self, launcher: Launcher) -> None:
        super().start(launcher)
        self._sockets.make(launcher)
        users = self._sockets.path / USERS
        users.unlink(missing_ok=True)  # of a start before this one
        said = (self._root / "firebird.conf").read_text(encoding="utf-8").splitlines(keepends=True)
        own = "".join(line for line in said if not line.startswith("SecurityDatabase"))
        (self._root / "firebird.conf").write_text(f"{own}SecurityDatabase = {users}\n", encoding="utf-8")
        self._admin("make the user", database=str(users), password=self._password)
        self._port = self._listens[1] if self._listens else port_for(self._engine.id, self._settings.get(PORT.name))
        # A port in the command line would make the server forget RemoteBindAddress.
        conf = (self._root / "firebird.conf").read_text(encoding="utf-8")
        conf = conf.replace(f"RemoteBindAddress = {LOOPBACK}\n", f"RemoteBindAddress = {self._address}\n")
        (self._server_root / "firebird.conf").write_text(f"{conf}RemoteServicePort = {self._port}\n", encoding="utf-8")
        root = str(self._server_root)
        environment = {**os.environ, **self.environment(), "FIREBIRD": root, "FIREBIRD_MSG": root}
        del environment["LD_LIBRARY_PATH"]
        if (libraries := self._engine.libraries(self._root)) is not None:
            environment["LD_LIBRARY_PATH"] = str(libraries)
        command, port = self._beside_by
        if command:
            self._beside.start(
                launcher, command, environment=dict(os.environ), ready=lambda: listens(self._beside.pid, port)
            )
        # Whether it listens, in whatever network it is.
        self._server.start(
            launcher,
            self._engine.command(),
            environment=environment,
            ready=lambda: listens(self._server.pid, self._port),
        )

    def target(self) -> FirebirdTarget:
        remote = FirebirdRemote(host=self._address, port=self._port, password=self._password)
        return super().target().model_copy(update={"remote": remote})

    def _unshared_mode(self) -> str:
        # A server process of its own for each session is what makes Classic.
        own = "select mon$server_pid from mon$attachments where mon$attachment_id = current_connection"
        return f"iif(({own}) = {self._server.pid or 0}, 'SuperClassic', 'Classic')"

    def inspections(self) -> list[Inspection]:
        return [*super().inspections(), Inspection(name="", sql=wire.QUESTION)]

    def settings_in_force(self, answers: Sequence[Settings]) -> list[SettingInForce]:
        number = self._settings.get(PORT.name)
        port = SettingInForce(
            name=PORT.name,
            asked=None if number is None else str(number),
            in_force=str(self._port),
            agrees=number in (None, self._port),
            source="the sessions' own",
        )
        asked = {spec.name: bool(self._settings[spec.name]) for spec in wire.SPECS}
        return [*super().settings_in_force(answers), port, *wire.in_force(asked, Answers(answers))]

    def seal(self) -> None:
        # Now and then it does not heed SIGTERM: the thread that waits for it lost a race at the server's start and is
        # gone (FirebirdSQL/firebird, pull request 8380). And it takes connections before it has looked at its security
        # database: told to end in between, it ends with code 2. The end of the last session has closed the database.
        self.stop()
        super().seal()

    def log(self) -> str:
        return log.worth_reading(log_tail(self._server.log))

    def log_findings(self) -> list[str]:
        return log.findings(self._server.log)

    def lose_power(self) -> None:
        self._beside.kill()
        ServedInstance.lose_power(self)
        FirebirdInstance.lose_power(self)

    def integrity(self, ask: Ask) -> Integrity:
        self._server.kill()  # the end of the last session has closed the database
        return super().integrity(ask)

    def statistics(self, ask: Ask, forget: Forget | None = None) -> DatabaseStatistics:
        self._server.kill()  # the end of the last session has closed the database
        return super().statistics(ask, forget)

    def release(self) -> None:
        self._beside.kill()
        FirebirdInstance.release(self)
        ServedInstance.release(self)
