"""Builds of the user's own: one installation at a path, taken as one engine of its family.

Each family's ``build.py`` finds its programs below a path and reads from them what they are; what is alike for all of
them is here. A build is run with the settings, defaults and risks of the known series that is nearest to it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from acidtest import families, registered_builds
from acidtest.engine.base import Engine, Offer
from acidtest.errors import BadInput, CellFailed, message_of
from acidtest.files import RIG
from acidtest.formats import elf
from acidtest.journal.models import BuildFacts, EngineFacts, Scalar

MACHINES = {
    "x86_64": "x86-64", "aarch64": "aarch64", "riscv64": "riscv", "ppc64le": "ppc64", "s390x": "s390x",
}  # by machine of uname(2)  # fmt: skip
# Where programs lie below a path that a user names; the last are of Firebird's archives and build trees.
PROGRAMS_IN = (
    ".", "bin", "sbin", "libexec", "lib", "plugins", "usr/bin", "usr/sbin",
    *(f"{root}/{part}"
      for root in ("opt/firebird", "buildroot/opt/firebird", "gen/Release/firebird", "gen/Debug/firebird")
      for part in ("bin", "lib")),
)  # fmt: skip
ASKED_S = 60  # for a program to say its version
OPTION_MAX = 4096  # characters
OPTIONS_MAX = 200
NOT_TOLD = "not known: the build does not tell it"  # in place of options
ANOTHER = "name another build, or repair this one"


@dataclass(frozen=True)
class Wanted:
    """What the user has named. ``key`` stands in errors: "engines.my-build", or the name of a kept build."""

    name: str
    product: str  # of families.PRODUCTS
    path: Path  # absolute
    mode: str = ""  # "embedded" or "server", of a Firebird; "" where nobody said it
    key: str = ""
    by_option: bool = False  # of a command, not in a file

    def refuse(self, what: str, remedy: str = ANOTHER, at: str = "path") -> BadInput:
        """The error, to be raised."""
        return BadInput(f"{self.key or f'engines.{self.name}'}.{at}: {what}", remedy)

    def asks(self, name: str, value: str) -> str:
        """How ``name`` is asked for where this was."""
        return f"--{name} {value}" if self.by_option else f'{name} = "{value}"'

    @property
    def title(self) -> str:
        """Of the product, as its makers write it."""
        return families.PRODUCTS[self.product].title


@dataclass(frozen=True)
class BuildDetails:
    """What a build's own files say of it."""

    main: Path  # the program or library that is the engine
    release: str  # "19devel"
    options: tuple[str, ...]  # how it was built, as it tells it itself
    series: str  # the id of an engine that acidtest knows, by which it is run
    doubts: tuple[str, ...] = ()  # what must be known of it, whole sentences

    @property
    def sha256(self) -> str:
        """Of the main file as it is now. Raises OSError."""
        return _sha256(self.main, _changed(self.main))


class UserBuild(Engine):
    """An engine whose files the user has. The family's class follows as the second base, with ``details`` set."""

    wanted: Wanted
    details: BuildDetails
    _sha256: str = ""  # when it was found

    def take(self, wanted: Wanted, details: BuildDetails) -> None:
        """Note what it is; the first thing to do with it. Raises BadInput where its main file cannot be read."""
        self.id, self.wanted, self.details = wanted.name, wanted, details
        try:
            self._sha256 = details.sha256
            self._machine = elf.read(details.main).machine
        except (OSError, elf.NotElf) as error:
            raise wanted.refuse(message_of(error) if isinstance(error, OSError) else str(error)) from None

    @property
    def known_as(self) -> str:
        return self.details.series

    def _offer(self) -> Offer:
        facts = self.facts()
        doubts = " ".join(self.notes())
        return Offer(self.id, True, facts.version, facts.architecture, facts.source, facts.source, "", doubts=doubts)

    def install(self, say: Callable[[str], None]) -> None:
        say(f"{self.id} is a build of yours at {self.wanted.path}: there is nothing to install")

    def facts(self) -> EngineFacts:
        if self.details.sha256 != self._sha256:
            raise CellFailed(
                f"{self.id}: {self.details.main} was changed while it was in use",
                "run the same experiment again, into another directory",
            )
        return EngineFacts(
            id=self.id,
            version=self.details.release,
            architecture=self._machine,
            source=str(self.wanted.path),
            mode="embedded" if self.embedded else self.mode({}),
            build=BuildFacts(
                file=str(self.details.main),
                sha256=self._sha256,
                options=list(self.details.options),
                series=self.details.series,
            ),
        )

    def mode(self, settings: Mapping[str, Scalar]) -> str:
        return "embedded" if self.embedded else "server"

    def gone(self) -> str | None:
        try:
            self.facts()
        except CellFailed as changed:
            return f"{changed.message}: {changed.remedy}"
        except OSError as error:
            return f"the build was removed or changed while the run went on: {message_of(error)}"
        return super().gone()

    def notes(self) -> list[str]:
        return [*self.details.doubts, *self._since_kept()]

    def _since_kept(self) -> list[str]:
        known = registered_builds.find(self.id)
        if known is None or known.path != str(self.wanted.path) or known.sha256 == self._sha256:
            return []
        release, sha256 = self.details.release, self._sha256[:16]
        return [
            f"{self.id}: {self.details.main} is another one (sha256 {sha256}, version {release}) than the one that was "
            f"added on {known.added[:10]} (sha256 {known.sha256[:16]}, version {known.version}). If that is meant, "
            f"accept it: {shlex.join(['acidtest', 'engines', 'add', self.id, known.path])}"
        ]


def product_at(path: Path) -> str | None:
    """The product whose program or library lies at ``path``, by the names of files; None where there is none."""
    if path.is_file():
        return _product_of([path.name.lower()])
    names: set[str] = set()
    for folder in (path / below for below in PROGRAMS_IN):
        try:
            names |= {entry.name.lower() for entry in folder.iterdir()}
        except OSError:
            continue
    return _product_of(names)


def _product_of(names: Collection[str]) -> str | None:
    # From behind: MariaDB's installations have a mysqld too, and SQLite's library lies beside many others.
    for product in list(families.PRODUCTS.values())[::-1]:
        patterns = [re.compile(pattern) for pattern in product.programs]
        if any(pattern.fullmatch(name) for name in names for pattern in patterns):
            return product.name
    return None


def first_file(folders: Sequence[Path], names: Sequence[str]) -> Path | None:
    """The first of ``names`` that is a file in the first of ``folders`` that has one."""
    return next((folder / name for folder in folders for name in names if (folder / name).is_file()), None)


def check_path(wanted: Wanted) -> None:
    """Raise BadInput unless there is something at the path."""
    try:
        wanted.path.stat()
    except OSError as error:
        what = "there is no such path" if isinstance(error, FileNotFoundError) else error.strerror
        kept = registered_builds.find(wanted.name)
        remedy = "correct the path, which begins at the working directory"
        if wanted.by_option:
            remedy = "name a path that is there"
        elif kept is not None and kept.path == str(wanted.path):  # no file of the user's has it
            remedy = f"put it there again, or acidtest engines remove {wanted.name}"
        raise wanted.refuse(f"{wanted.path}: {what}", remedy) from None


def check_binary(wanted: Wanted, binary: Path) -> None:
    """Raise BadInput unless ``binary`` is a whole ELF file for this machine."""
    try:
        header, lacks = elf.read(binary), elf.missing_bytes(binary)
    except elf.NotElf as error:
        raise wanted.refuse(f"{binary} is no program or library of Linux: {error}") from None
    except OSError as error:
        raise wanted.refuse(message_of(error)) from None
    if lacks:
        raise wanted.refuse(f"{binary} is damaged: {lacks:,} bytes at its end are missing", "build or unpack it again")
    here = MACHINES.get(os.uname().machine, os.uname().machine)
    if (header.machine, header.bits) != (here, 64):
        raise wanted.refuse(
            f"{binary} is built for {header.machine} ({header.bits}-bit), and this machine is {here}",
            "name a build for this machine",
        )


def nothing_there(wanted: Wanted, lacks: str, remedy: str = "") -> BadInput:
    """The error of a path at which the product is not, to be raised; it says which other one is there."""
    other = product_at(wanted.path)
    if other not in (None, wanted.product):
        return wanted.refuse(
            f"{wanted.path} holds {families.PRODUCTS[other].title}, not {wanted.title}",
            f"write {wanted.asks('family', other)}",
            "family",
        )
    return wanted.refuse(
        f"{wanted.path} holds no {wanted.title}: {lacks}",
        remedy or "name the directory that it was installed or unpacked in",
    )


def said_by(wanted: Wanted, command: Sequence[str], environment: Mapping[str, str], of: Path | None = None) -> str:
    """What a program of the build prints, or another one that looks at the file ``of``.

    Raises BadInput, with its words, where it does not run.
    """
    program = of or Path(command[0])
    try:
        ended = _ran(tuple(command), tuple(sorted(environment.items())), _changed(program))
    except OSError as error:
        raise wanted.refuse(f"{command[0]} could not be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise wanted.refuse(f"{command[0]} did not say its version within {ASKED_S} s") from None
    if ended.returncode != 0:
        words = " ".join((ended.stderr.strip() or ended.stdout.strip()).splitlines()[-1:])
        why = words or f"it ended with code {ended.returncode}"
        lacks = re.search(r"loading shared libraries: (\S+?):", why)
        remedy = (
            f"install the system's package with {lacks[1]}, or set the build's own library path" if lacks else ANOTHER
        )
        why = why.removeprefix(f"{RIG}: ").removeprefix(f"{program}: ")
        raise wanted.refuse(f"{program} cannot be used: {why[:500]}", remedy)
    return ended.stdout


def unknown_series(wanted: Wanted, release: str, series: str, newest: str, *, is_newer: bool) -> str:
    """The sentence about a version that is none of the known series. ``newest`` is of the known series."""
    title = wanted.title
    why = (
        f"{title} {release} is newer than any that acidtest knows (up to {newest})"
        if is_newer
        else f"{title} {release} is of none of the series that acidtest knows"
    )
    return (
        f"{wanted.name}: {why}: settings, defaults and what a level may lose are taken to be those of {series}, and "
        "what is in force is read back as ever."
    )


def slow(wanted: Wanted, how: str) -> str:
    """The sentence about a build that is made to find faults."""
    return f"{wanted.name}: it was built with {how}, which makes it slower than what people use."


def numbers(release: str) -> tuple[int, ...]:
    """``(8, 0, 36)`` of "8.0.36-debug", () where it begins with none."""
    match = re.match(r"\d{1,6}(?:\.\d{1,6}){0,3}", release)
    return tuple(map(int, match[0].split("."))) if match else ()


def listed(options: Sequence[str]) -> tuple[str, ...]:
    """Options as they are recorded: cut to lengths that a journal bears."""
    return tuple(option[:OPTION_MAX] for option in options if option.strip())[:OPTIONS_MAX] or (NOT_TOLD,)


def _changed(file: Path) -> tuple[int, ...]:
    """What is another when the file was written or replaced. Raises OSError."""
    status = file.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@cache
def _sha256(file: Path, changed: tuple[int, ...]) -> str:
    with file.open("rb") as read:
        return hashlib.file_digest(read, "sha256").hexdigest()


@cache
def _ran(
    command: tuple[str, ...], environment: tuple[tuple[str, str], ...], changed: tuple[int, ...]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        timeout=ASKED_S,
    )
