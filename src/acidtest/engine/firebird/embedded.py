"""Firebird embedded: the engine of an unpacked wheel, inside the rig's process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from acidtest.engine import install, libraries
from acidtest.engine.base import Engine, Instance, Offer
from acidtest.engine.firebird.engine import Firebird
from acidtest.engine.firebird.instance import EITHER, FirebirdInstance
from acidtest.engine.firebird.runtime import WHEELS, Runtime, bring_wheel
from acidtest.engine.firebird.versions import VERSIONS, Version
from acidtest.formats import elf
from acidtest.journal.models import EngineFacts, Scalar


class FirebirdEmbedded(Firebird):
    """One installed version."""

    embedded = True

    def __init__(self, version: Version, runtime: Runtime) -> None:
        super().__init__(f"firebird-{version.release}", version)
        self.runtime = runtime

    @property
    def wheel(self) -> str:
        """Its version of the package firebird-embedded."""
        return WHEELS[self.version.release]

    def _offer(self) -> Offer:
        installed = self.runtime.path.is_dir()
        return Offer(
            self.id,
            installed,
            version=self.wheel.rpartition(".")[0],
            architecture=self.facts().architecture if installed else "",
            source=f"PyPI firebird-embedded {self.wheel}",
            path=str(self.runtime.home) if installed else "",
            remedy=f"acidtest engines install {self.id}",
            missing_libraries=self.runtime.missing_libraries() if installed else (),
        )

    def install(self, say: Callable[[str], None]) -> None:
        def fill(work: Path) -> Path:
            unpacked = bring_wheel(self.id, self.wheel, work)
            libraries.check(self.id, Runtime(unpacked).library)
            return unpacked

        install.install(self.id, fill, say)

    def files(self) -> list[Path]:
        """With ICU, which Firebird looks for by name, the newest first, once it runs."""
        icu = [path for name, path in elf.loadable().items() if name.startswith(("libicuuc.so.", "libicui18n.so."))]
        return [*super().files(), *icu]

    def facts(self) -> EngineFacts:
        return EngineFacts(
            id=self.id,
            version=self.wheel.rpartition(".")[0],
            architecture=self.runtime.architecture,
            source=f"PyPI firebird-embedded {self.wheel}",
            mode="embedded",
        )

    def instance(self, directory: Path, settings: Mapping[str, Scalar], durability: str | None) -> Instance:
        return EmbeddedInstance(self, directory, settings, durability)


def engines() -> list[Engine]:
    """Every version, installed or not."""
    return [
        FirebirdEmbedded(version, Runtime(install.home(f"firebird-{release}"))) for release, version in VERSIONS.items()
    ]


class EmbeddedInstance(FirebirdInstance):
    _engine: FirebirdEmbedded

    def _furnish(self) -> None:
        self._engine.runtime.furnish(self._root)

    def _unshared_mode(self) -> str:
        # Inside one process the two differ in nothing but how long an idle database lingers, which ours do not.
        return f"'{EITHER}'"
