"""Every engine that acidtest knows: which are here, where they come from, what they lack."""

from __future__ import annotations

import ctypes.util
import subprocess
from dataclasses import dataclass
from pathlib import Path

from acidtest.engine import elf
from acidtest.engine.base import Engine
from acidtest.engine.firebird import VERSIONS, FirebirdEmbedded
from acidtest.engine.sqlite import Sqlite
from acidtest.errors import BadInput, MachineLacks, not_among
from acidtest.files import state_directory

# System library -> its package in Debian and Ubuntu, in Fedora, in openSUSE. An engine's lib/ may hold a link instead.
PACKAGES = {
    "libtommath.so.1": ("libtommath1", "libtommath", "libtommath1"),
    "libtommath.so.0": ("libtommath1", "libtommath", "libtommath1"),
    "libncurses.so.5": ("libncurses5", "ncurses-compat-libs", "libncurses5"),
}
# Asked for by the older wheels; the newer library serves.
STAND_INS = {"libtommath.so.0": "libtommath.so.1"}


@dataclass(frozen=True)
class Offer:
    """One engine as ``acidtest engines`` lists it."""

    id: str
    installed: bool
    version: str
    architecture: str
    source: str
    path: str
    missing_libraries: tuple[tuple[str, str], ...]  # library, Debian package


def known() -> tuple[str, ...]:
    """Ids of all engines, installed or not."""
    return ("sqlite", *VERSIONS)


def home(id: str) -> Path:  # noqa: A002
    """The folder of an engine of its own."""
    return state_directory() / "engines" / id


def describe(id: str) -> Engine:  # noqa: A002
    """The engine's levels and settings, whether it is installed or not. Raises BadInput for an unknown id."""
    if id == "sqlite":
        return Sqlite()
    if id not in VERSIONS:
        raise BadInput(not_among("engine", id, known()))
    return FirebirdEmbedded(VERSIONS[id], home(id))


def find(id: str) -> Engine:  # noqa: A002
    """The engine, ready to run. Raises BadInput for an unknown id, MachineLacks with the way to install what lacks."""
    engine = describe(id)
    if isinstance(engine, FirebirdEmbedded):
        if not engine.runtime.is_dir():
            raise MachineLacks(f"{id} is not installed", f"acidtest engines install {id}")
        if missing := missing_libraries(engine):
            libraries = ", ".join(library for library, _ in missing)
            packages = " ".join(dict.fromkeys(package for _, package in missing))
            raise MachineLacks(
                f"{id} needs the system libraries {libraries}", f"install them: apt-get install {packages} (Debian)"
            )
    return engine


def offers() -> list[Offer]:
    """All engines, with what is here of each."""
    found = []
    for id in known():  # noqa: A001
        engine = describe(id)
        if isinstance(engine, FirebirdEmbedded):
            installed = engine.runtime.is_dir()
            version = engine.version.wheel.rpartition(".")[0]
            facts = engine.facts() if installed else None
            found.append(
                Offer(
                    id,
                    installed,
                    version,
                    facts.architecture if facts else "",
                    f"PyPI firebird-embedded {engine.version.wheel}",
                    str(engine.home) if installed else "",
                    missing_libraries(engine) if installed else (),
                )
            )
        else:
            facts = engine.facts()
            found.append(Offer(id, True, facts.version, facts.architecture, facts.source, "", ()))
    return found


def missing_libraries(engine: FirebirdEmbedded) -> tuple[tuple[str, str], ...]:
    """System libraries that the runtime asks for and the loader does not find, with the Debian package of each.

    Where another version of a library serves, a link to it is made in the engine's own ``lib`` folder.
    """
    binaries = [engine.runtime / "libfbclient.so.2", *sorted(engine.runtime.glob("plugins/libEngine*.so"))]
    needed: dict[str, None] = {}
    for binary in binaries:
        needed |= dict.fromkeys(elf.parse(binary.read_bytes()).needed)
    loadable = _loadable()
    missing = []
    for library in needed:
        if library in loadable or (engine.runtime / library).exists() or (engine.home / "lib" / library).exists():
            continue
        if (stand_in := loadable.get(STAND_INS.get(library, ""))) is not None:
            (engine.home / "lib").mkdir(exist_ok=True)
            link = engine.home / "lib" / library
            link.unlink(missing_ok=True)  # it may be a link to what is no longer there
            link.symlink_to(stand_in)
            continue
        missing.append((library, PACKAGES.get(library, (library,))[0]))
    return tuple(missing)


def _loadable() -> dict[str, Path]:
    """Names that the dynamic loader finds, with their files; see ldconfig(8)."""
    found: dict[str, Path] = {}
    for ldconfig in ("/sbin/ldconfig", "/usr/sbin/ldconfig"):
        if Path(ldconfig).exists():
            listed = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=False).stdout
            for line in listed.splitlines():
                name, arrow, path = line.strip().partition(" => ")
                if arrow and "x86-64" in name:
                    found.setdefault(name.split(" ")[0], Path(path))
            return found
    for library in PACKAGES:
        if ctypes.util.find_library(library.removeprefix("lib").partition(".so")[0]):
            found[library] = Path(library)
    return found
