"""A Firebird of the user's own: the project's archive as it is unpacked, an installation of it, or what a build leaves
in ``gen/Release/firebird``.

It runs embedded in the rig or as a server; where nobody says which, as a server if it has one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from acidtest import registered_builds
from acidtest.engine import builds
from acidtest.engine.builds import BuildDetails, UserBuild, Wanted
from acidtest.engine.firebird import services, wire
from acidtest.engine.firebird.embedded import FirebirdEmbedded
from acidtest.engine.firebird.engine import Firebird
from acidtest.engine.firebird.runtime import LIBRARY, Installed, Runtime
from acidtest.engine.firebird.server import PORT, FirebirdServer
from acidtest.engine.firebird.versions import VERSIONS, Version
from acidtest.journal.models import Scalar

FOLDERS = (".", "opt/firebird", "buildroot/opt/firebird", "gen/Release/firebird", "gen/Debug/firebird")
WHEEL = "firebird/embedded/runtime"
ARCHIVE = "buildroot.tar.gz"  # within the project's archive
SERVER = "bin/firebird"
# Revision and build, then the release: a client library counts its own releases as InterBase did ("6.3" for 5.0).
CLIENT = re.compile(r"-[A-Z]\d{1,3}\.\d{1,3}\.(\d{1,6}\.\d{1,8})\b.{0,50}?\bFirebird (\d{1,3}\.\d{1,3})")


def build(wanted: Wanted) -> Firebird:
    """The engine at a path, embedded or a server. Raises BadInput."""
    runtime = _runtime(wanted)
    program = runtime.path / SERVER
    if wanted.mode == "server" and not program.is_file():
        raise wanted.refuse(
            f"{runtime.path} has no {SERVER}",
            f"write {wanted.asks('mode', 'embedded')}, or name one with a server",
            "mode",
        )
    if wanted.mode == "embedded" or not program.is_file():
        return EmbeddedBuild(wanted, runtime)
    return ServerBuild(wanted, runtime)


class EmbeddedBuild(UserBuild, FirebirdEmbedded):
    """The engine of an installation, inside the rig's process."""

    def __init__(self, wanted: Wanted, runtime: Runtime) -> None:
        version, details = _details(wanted, runtime, "")
        FirebirdEmbedded.__init__(self, version, runtime)
        self.take(wanted, details)


class ServerBuild(UserBuild, FirebirdServer):
    """The server of an installation."""

    names_plugins = True

    def __init__(self, wanted: Wanted, runtime: Runtime) -> None:
        program = runtime.path / SERVER
        builds.check_binary(wanted, program)
        version, details = _details(wanted, runtime, "-server")
        Firebird.__init__(self, wanted.name, version)
        self._specs |= {spec.name: spec for spec in (PORT, *wire.SPECS)}
        self.client, self.program = runtime, program
        self.take(wanted, details)

    @property
    def runtime(self) -> Path:
        return self.client.path

    @property
    def plugin(self) -> str:
        return self.details.main.stem.removeprefix("lib")

    @property
    def log_name(self) -> str:
        return "firebird.log"

    def command(self) -> list[str]:
        return [str(self.program)]

    def libraries(self, root: Path) -> Path | None:
        return root

    def mode(self, settings: Mapping[str, Scalar]) -> str:
        return FirebirdServer.mode(self, settings)


def _runtime(wanted: Wanted) -> Runtime:
    path = wanted.path
    links = registered_builds.directory() / f"{wanted.name}.lib"
    for folder in FOLDERS:
        if (path / folder / "lib" / LIBRARY).is_file():
            return Installed((path / folder).resolve(), links)
    if (path / WHEEL / LIBRARY).is_file():
        return Runtime(path)
    if (path / ARCHIVE).is_file():
        raise wanted.refuse(
            f"{path} holds the archive of Firebird, not yet its files",
            f"tar -C {path} -xf {path / ARCHIVE}, then try again",
        )
    raise builds.nothing_there(wanted, f"there is no lib/{LIBRARY}", "name what its archive holds as opt/firebird")


def _details(wanted: Wanted, runtime: Runtime, suffix: str) -> tuple[Version, BuildDetails]:
    engines = sorted((runtime.path / "plugins").glob("libEngine*.so"))
    if len(engines) != 1:
        found = "more than one engine" if engines else "no engine"
        raise wanted.refuse(f"{runtime.path / 'plugins'} holds {found} (libEngine*.so)", "name a whole installation")
    for binary in (runtime.library, *engines):
        builds.check_binary(wanted, binary)
    if missing := runtime.missing_libraries():
        names = ", ".join(name for name, _ in missing)
        packages = " ".join(dict.fromkeys(package for _, package in missing))
        raise wanted.refuse(
            f"it needs the system libraries {names}", f"install them: apt-get install {packages} (Debian)"
        )
    said = _client_version(wanted, runtime)
    match = CLIENT.search(said)
    if match is None:
        raise wanted.refuse(f'{runtime.library} says "{said[:100]}", and no version of Firebird')
    release = f"{match[2]}.{match[1]}"
    numbers = builds.numbers(match[2])
    known = {builds.numbers(name): version for name, version in VERSIONS.items()}
    if numbers < min(known):
        raise wanted.refuse(f"Firebird {release} is older than any that acidtest can run ({next(iter(VERSIONS))})")
    version = known[max(one for one in known if one <= numbers)]
    series = f"firebird-{version.release}"
    doubts = []
    if numbers not in known:
        newest = list(VERSIONS)[-1]
        is_newer = numbers > builds.numbers(newest)
        doubts.append(builds.unknown_series(wanted, release, series, newest, is_newer=is_newer))
    return version, BuildDetails(engines[0], release, builds.listed([said]), f"{series}{suffix}", tuple(doubts))


def _client_version(wanted: Wanted, runtime: Runtime) -> str:
    folders = [runtime.libraries, runtime.links, *{file.parent for file in runtime.libraries.glob("*/*.so*")}]
    environment = {
        **os.environ,
        "FIREBIRD": str(runtime.path),
        "LD_LIBRARY_PATH": ":".join(map(str, folders)),
    }
    command = [*services.LIBRARY_CLIENT, "version", str(runtime.library)]
    return builds.said_by(wanted, command, environment, of=runtime.library).strip()
