"""A MySQL or MariaDB of the user's own: an installation prefix, an unpacked archive of its makers or of Debian's
packages, or a build tree."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from acidtest.engine import builds, debian
from acidtest.engine.builds import BuildDetails, UserBuild, Wanted
from acidtest.engine.mysql.engine import Mysql
from acidtest.engine.mysql.origins import Installation
from acidtest.engine.mysql.versions import SYSTEM_TABLES, VERSIONS, Version

PROGRAMS = ("mysqld", "mariadbd")
FOLDERS = ("bin", "sbin", "libexec", "runtime_output_directory", "sql")  # the last two of build trees
SHARES = ("share", "share/mysql", "share/mariadb", "sql/share")
MESSAGES = "english/errmsg.sys"
CHARSETS = "Index.xml"
INFORMATION = ("docs/INFO_BIN", "docs/INFO_SRC", "share/doc/INFO_BIN", "share/doc/INFO_SRC")
INFORMATION_BYTES_MAX = 1 << 20
CACHE = "CMakeCache.txt"
# Of what a build was made with: lines of INFO_BIN and INFO_SRC, and entries of CMake's cache.
TELLING = re.compile(
    r"^(?:(?:C|CXX)_(?:FLAGS|DEFINES) = |commit: |CMAKE_BUILD_TYPE:|CMAKE_(?:C|CXX)_FLAGS(?:_[A-Z]+)?:)"
)
# mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)
VERSION = re.compile(r"Ver (\d{1,4}\.\d{1,4}\.\d{1,6})(\S{0,100})")


class MysqlBuild(UserBuild, Mysql):
    """The server of one installation."""

    def __init__(self, wanted: Wanted) -> None:
        base, program = _program(wanted)
        command = _command(base, program)
        release, options = _version(wanted, base, program, command)
        version = _series(wanted, release)
        installation = _installation(wanted, base, program, command, release)
        version, scripts = _system_tables(wanted, version, installation, builds.numbers(release))
        Mysql.__init__(self, version)
        self._installation = replace(installation, scripts=scripts)
        self.take(wanted, _details(wanted, program, release, options, version))

    def installation(self) -> Installation:
        return self._installation


def _program(wanted: Wanted) -> tuple[Path, Path]:
    """The directory that it was installed in, and its server."""
    names = PROGRAMS if wanted.product == "mysql" else PROGRAMS[::-1]
    for base in (wanted.path, wanted.path / "usr"):
        if (program := builds.first_file([base / folder for folder in FOLDERS], names)) is not None:
            builds.check_binary(wanted, program)
            return base, program
    raise builds.nothing_there(wanted, f"there is no bin/{names[0]}")


def _command(base: Path, program: Path) -> list[str]:
    """By its own dynamic loader where unpacked packages brought one, as Debian's do."""
    if base.name == "usr" and base.parent != Path("/"):
        with suppress(OSError):
            return debian.command(base.parent, program)
    return [str(program)]


def _environment(base: Path) -> dict[str, str]:
    libraries = base / "libs"
    path = {"PATH": os.environ.get("PATH", os.defpath)}
    return path | ({"LD_LIBRARY_PATH": str(libraries)} if libraries.is_dir() else {})


def _version(wanted: Wanted, base: Path, program: Path, command: list[str]) -> tuple[str, list[str]]:
    """Its release, and how it was built."""
    text = builds.said_by(wanted, [*command, "--no-defaults", "--version"], _environment(base), of=program).strip()
    match = VERSION.search(text)
    if match is None:
        raise wanted.refuse(f'{program} says "{text[:100]}", and no version of MySQL or MariaDB')
    product = "mariadb" if "MariaDB" in text else "mysql"
    if product != wanted.product:
        raise wanted.refuse(
            f"{program} is {'MariaDB' if product == 'mariadb' else 'MySQL'} {match[1]}, not {wanted.title}",
            f"write {wanted.asks('family', product)}",
            "family",
        )
    suffix = "" if product == "mariadb" and "debug" not in match[2] else match[2]
    return match[1] + suffix, [text.partition("  ")[2] or text, *_information(base)]


def _information(base: Path) -> Iterator[str]:
    """What its makers wrote down of how it was built."""
    for name in (*INFORMATION, CACHE):
        with suppress(OSError), (base / name).open("rb") as file:
            text = file.read(INFORMATION_BYTES_MAX).decode(errors="replace")
            yield from dict.fromkeys(line.strip() for line in text.splitlines() if TELLING.match(line))


def _series(wanted: Wanted, release: str) -> Version:
    """The newest series that begins with this release or before it."""
    numbers = builds.numbers(release)
    known = [version for version in VERSIONS if version.id.startswith(f"{wanted.product}-")]
    fitting = [version for version in known if version.begins <= numbers]
    if not fitting:
        oldest = ".".join(map(str, known[0].begins))
        raise wanted.refuse(f"{wanted.title} {release} is older than any that acidtest can run ({oldest})")
    return fitting[-1]


def _installation(wanted: Wanted, base: Path, program: Path, command: list[str], release: str) -> Installation:
    messages = builds.first_file([base / share for share in SHARES], [MESSAGES])
    if messages is None:
        raise wanted.refuse(
            f"{base} has no share/{MESSAGES}, the server's messages", "install or unpack the whole of it"
        )
    share = messages.parent.parent
    source = _source(base)
    places = [share, *(source / name for name in SHARES if source)] if source else [share]
    charsets = builds.first_file([place / "charsets" for place in places], [CHARSETS])
    if charsets is None:
        raise wanted.refuse(f"{share} has no charsets/{CHARSETS}", "install or unpack the whole of it")
    libraries = base / "libs"
    return Installation(
        program,
        tuple(command),
        base,
        share,
        libraries if libraries.is_dir() else None,
        base / "data",
        release,
        str(wanted.path),
        charsets=charsets.parent,
    )


def _source(base: Path) -> Path | None:
    """The directory that a build tree was made from, as CMake's cache has it."""
    with suppress(OSError), (base / CACHE).open("rb") as file:
        text = file.read(INFORMATION_BYTES_MAX).decode(errors="replace")
        if found := re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.{1,4000})$", text, re.MULTILINE):
            return Path(found[1])
    return None


def _system_tables(
    wanted: Wanted, version: Version, files: Installation, numbers: tuple[int, ...]
) -> tuple[Version, Path | None]:
    """How its system tables are made, and where the scripts for that lie."""
    if wanted.product == "mysql" and numbers >= (5, 7, 6):
        return replace(version, initializes=True, scripts=()), None
    version = replace(version, initializes=False)
    for folder in (files.share, files.base / "scripts"):
        for prefix in ("mariadb", "mysql"):
            names = [f"{prefix}_{name}.sql" for name in SYSTEM_TABLES]
            there = tuple(name for name in names if (folder / name).is_file())
            if there and there[0] == names[0]:
                return replace(version, scripts=there), folder
    if (files.seed / "mysql").is_dir():
        return replace(version, scripts=()), None
    raise wanted.refuse(
        f"{files.share} has no script that makes the system tables ({wanted.product}_system_tables.sql)",
        "install or unpack the whole of it",
    )


def _details(wanted: Wanted, program: Path, release: str, options: list[str], version: Version) -> BuildDetails:
    doubts = []
    series = version.id.partition("-")[2]
    if not re.match(rf"{re.escape(series)}(\.|$)", release):
        newest = [version.id for version in VERSIONS if version.id.startswith(f"{wanted.product}-")][-1].partition("-")[
            2
        ]
        is_newer = builds.numbers(release)[:2] > builds.numbers(newest)
        doubts.append(builds.unknown_series(wanted, release, version.id, newest, is_newer=is_newer))
    if "debug" in release.lower() or any(re.match("CMAKE_BUILD_TYPE:.*=Debug$", option) for option in options):
        doubts.append(builds.slow(wanted, "-DWITH_DEBUG or as build type Debug"))
    return BuildDetails(program, release, builds.listed(options), version.id, tuple(doubts))
