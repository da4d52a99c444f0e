"""A private Firebird server: Debian's program with a root, a security database and a port of our own.

Nothing of the machine's own Firebird is used but its program files: its configuration, users, databases and log stay as
they are, and whether it runs does not matter.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from acidtest.engine.base import Ask, Engine, Forget, Instance, Launcher, Offer, SettingSpec
from acidtest.engine.firebird.engine import Firebird
from acidtest.engine.firebird.instance import LIBRARY, FirebirdInstance
from acidtest.engine.firebird.target import FirebirdRemote, FirebirdTarget
from acidtest.engine.firebird.versions import VERSIONS, Version
from acidtest.engine.server import LOOPBACK, ServedInstance, Server, password, port_for
from acidtest.formats import elf
from acidtest.journal.models import DatabaseStatistics, EngineFacts, Integrity, Scalar, SettingInForce
from acidtest.journal.protocol import Settings

MODES = {"Super": "SuperServer", "SuperClassic": "SuperClassic", "Classic": "Classic"}
PORT = SettingSpec("port", "The server listens on this port of 127.0.0.1.", None, 1, 65_535, unset="a free one")

# Providers: without Loopback, which would try the machine's own server when ours has no such database.
# WireCrypt: sessions of other engines are not encrypted on the loopback address either.
CONF = {
    "Providers": "Remote, Engine12",
    "RemoteBindAddress": LOOPBACK,
    "AuthServer": "Srp",
    "AuthClient": "Srp",
    "UserManager": "Srp",
    "WireCrypt": "Disabled",
    "SecurityDatabase": "$(root)/security3.fdb",
}


class FirebirdServer(Firebird):
    """The server of a Debian package. ``usr`` is where the package's files lie."""

    def __init__(self, version: Version, usr: Path = Path("/usr")) -> None:
        super().__init__(f"firebird-{version.release}-server", version)
        self.package = f"firebird{version.release}-server"
        self.program = usr / "sbin" / "firebird"
        self.runtime = next((usr / "lib").glob(f"*/firebird/{version.release}"), usr / "lib" / "firebird")
        self.library = self.runtime.parents[1] / LIBRARY
        self._specs[PORT.name] = PORT

    def _offer(self) -> Offer:
        installed = all(path.exists() for path in (self.program, self.library, self.runtime / "firebird.msg"))
        facts = self.facts() if installed else None
        return Offer(
            self.id,
            installed,
            version=facts.version if facts else self.version.release,
            architecture=facts.architecture if facts else "",
            source=facts.source if facts else f"Debian {self.package}",
            path=str(self.program) if installed else "",
            remedy=f"apt-get install {self.package}",
        )

    def facts(self) -> EngineFacts:
        # "Firebird TCP/IP server version LI-V3.0.11.33637 Firebird 3.0"
        output = subprocess.run(
            [self.program, "-z"], capture_output=True, encoding="utf-8", errors="replace", check=False
        ).stdout
        return EngineFacts(
            id=self.id,
            version=output.partition("-V")[2].partition(" ")[0],
            architecture=elf.read(self.program).machine,
            source=f"Debian {self.package}",
            mode=MODES["Super"],
        )

    def mode(self, settings: Mapping[str, Scalar]) -> str:
        return MODES[str(settings.get("server_mode", "Super"))]

    def instance(self, directory: Path, settings: Mapping[str, Scalar], durability: str | None) -> Instance:
        return ServerInstance(self, directory, settings, durability)


def engines() -> list[Engine]:
    """Every version that a package has a server of, installed or not."""
    return [FirebirdServer(VERSIONS["3.0"])]


class ServerInstance(ServedInstance, FirebirdInstance):
    _engine: FirebirdServer

    def __init__(
        self, engine: FirebirdServer, directory: Path, settings: Mapping[str, Scalar], durability: str | None
    ) -> None:
        super().__init__(engine, directory, settings, durability)
        self._server = Server(engine.id, self._log)
        self._password = password()
        self._port = 0

    def _furnish(self) -> None:
        (self._root / LIBRARY).symlink_to(self._engine.library)
        for name in ("plugins", "intl", "firebird.msg"):
            (self._root / name).symlink_to(self._engine.runtime / name)

    def _own_conf(self) -> dict[str, str]:
        return CONF

    def start(self, launcher: Launcher) -> None:
        super().start(launcher)
        users = self._root / "security3.fdb"
        users.unlink(missing_ok=True)  # of a start before this one
        self._admin("make the user", database=str(users), password=self._password)
        self._port = port_for(self._engine.id, self._settings.get(PORT.name))
        # A port in the command line would make the server forget RemoteBindAddress.
        conf = self._root / "firebird.conf"
        lines = [
            line for line in conf.read_text(encoding="utf-8").splitlines() if not line.startswith("RemoteServicePort")
        ]
        conf.write_text("\n".join([*lines, f"RemoteServicePort = {self._port}", ""]), encoding="utf-8")
        self._server.start(
            launcher,
            [str(self._engine.program)],
            environment={**os.environ, **self.environment()},
            ready=self._answers,
        )

    def _answers(self) -> bool:
        try:
            with socket.create_connection((LOOPBACK, self._port), timeout=1):
                return True
        except OSError:
            return False

    def target(self) -> FirebirdTarget:
        remote = FirebirdRemote(host=LOOPBACK, port=self._port, password=self._password)
        return super().target().model_copy(update={"remote": remote})

    def _unshared_mode(self) -> str:
        # A server process of its own for each session is what makes Classic.
        own = "select mon$server_pid from mon$attachments where mon$attachment_id = current_connection"
        return f"iif(({own}) = {self._server.pid or 0}, 'SuperClassic', 'Classic')"

    def settings_in_force(self, answers: Sequence[Settings]) -> list[SettingInForce]:
        asked = self._settings.get(PORT.name)
        port = SettingInForce(
            name=PORT.name,
            asked=None if asked is None else str(asked),
            in_force=str(self._port),
            agrees=asked in (None, self._port),
            source="the sessions' own",
        )
        return [*super().settings_in_force(answers), port]

    def seal(self) -> None:
        # Now and then it does not heed SIGTERM: the thread that waits for it lost a race at the server's start and is
        # gone (FirebirdSQL/firebird, pull request 8380). And it takes connections before it has looked at its security
        # database: told to end in between, it ends with code 2. The end of the last session has closed the database.
        self._server.stop(files=self.database_files(), orderly=(0, 2))
        super().seal()

    def lose_power(self) -> None:
        ServedInstance.lose_power(self)
        FirebirdInstance.lose_power(self)

    def _engine_log(self) -> Path:
        return Path(f"/var/log/firebird/firebird{self._engine.version.release}.log")  # built into Debian's library

    def integrity(self, ask: Ask) -> Integrity:
        self._server.kill()  # the end of the last session has closed the database
        return super().integrity(ask)

    def statistics(self, ask: Ask, forget: Forget | None = None) -> DatabaseStatistics:
        self._server.kill()  # the end of the last session has closed the database
        return super().statistics(ask, forget)

    def release(self) -> None:
        FirebirdInstance.release(self)
        ServedInstance.release(self)
