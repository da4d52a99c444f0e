"""The files of a Firebird: the engine as a library, which is also its client. Of an unpacked wheel, or as the project's
own archives and installations lay them out."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from acidtest.engine import libraries
from acidtest.files import copy_content
from acidtest.formats import elf

LIBRARY = "libfbclient.so.2"


OWN = ("firebird.conf", "firebird.log", "databases.conf")  # that each root has of its own


@dataclass(frozen=True)
class Runtime:
    """``home`` is the folder that the wheel was unpacked into."""

    home: Path

    @property
    def path(self) -> Path:
        """Of the plugins, messages and character sets."""
        return self.home / "firebird" / "embedded" / "runtime"

    @property
    def libraries(self) -> Path:
        return self.path

    @property
    def links(self) -> Path:
        """Of system libraries under the names by which the engine asks for them."""
        return self.home / "lib"

    @property
    def library(self) -> Path:
        return self.libraries / LIBRARY

    @property
    def architecture(self) -> str:
        """Raises OSError and elf.NotElf where the library is not whole."""
        return elf.read(self.library).machine

    def missing_libraries(self) -> tuple[tuple[str, str], ...]:
        """Of the system, with the package of each."""
        binaries = [self.library, *sorted(self.path.glob("plugins/libEngine*.so"))]
        return libraries.missing(binaries, self.libraries, self.links)

    def furnish(self, root: Path) -> None:
        """Put its files into the existing directory ``root``, which is then a root of Firebird."""
        (root / "plugins").mkdir()
        for source in self._shared():
            (root / source.name).symlink_to(source)
        for source in (self.path / "plugins").iterdir():
            target = root / "plugins" / source.name
            # A plugin must really lie here: Firebird 4 compares its path with its real path.
            link_or_copy(source, target) if source.is_file() else target.symlink_to(source)
        if self.links.is_dir():
            for source in self.links.iterdir():
                (root / source.name).symlink_to(source.resolve())

    def _shared(self) -> Iterable[Path]:
        """Files and folders that every root may share."""
        return (source for source in self.path.iterdir() if source.name not in ("plugins", *OWN))


@dataclass(frozen=True)
class Installed(Runtime):
    """``home`` is what the project's archives hold as ``opt/firebird``, and an installation has: ``lib``, ``plugins``,
    ``bin`` and more. ``kept`` is a folder of ours for links to system libraries, which need not be there."""

    kept: Path

    SHARED = ("firebird.msg", "intl", "tzdata")

    @property
    def path(self) -> Path:
        return self.home

    @property
    def libraries(self) -> Path:
        return self.home / "lib"

    @property
    def links(self) -> Path:
        return self.kept

    def furnish(self, root: Path) -> None:
        super().furnish(root)
        name_plugins(root)

    def _shared(self) -> Iterable[Path]:
        # Also what lies deeper in lib, as the libtommath that the project brings along.
        found = {source.name: source for source in self.libraries.rglob("*.so*") if source.is_file()}
        found |= {source.name: source for source in self.libraries.glob("*.so*")}
        found |= {name: self.home / name for name in self.SHARED if (self.home / name).exists()}
        return found.values()


def name_plugins(root: Path) -> None:
    """Have the plugins of a root loaded from there: a distribution's library may look into a folder of its own."""
    entries = (
        f"Plugin = {plugin.stem.removeprefix('lib')} {{\n    Module = {plugin.with_suffix('')}\n}}\n"
        for plugin in sorted((root / "plugins").glob("*.so"))
    )
    (root / "plugins.conf").write_text("".join(entries), encoding="utf-8")


def link_or_copy(source: Path, target: Path) -> None:
    """A hard link, or a copy where there can be none; of what ``source`` leads to, where it is a link itself."""
    source = source.resolve()
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.EACCES):
            raise
        copy_content(source, target)
