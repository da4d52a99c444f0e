"""The MySQL and MariaDB versions as engines: what is here, how it is brought, levels and settings."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from acidtest.engine import install, tls
from acidtest.engine.base import Durability, Engine, Instance, Offer, SettingSpec
from acidtest.engine.mysql import durability
from acidtest.engine.mysql.instance import MysqlInstance
from acidtest.engine.mysql.origins import Installation
from acidtest.engine.mysql.versions import VERSIONS, Version, log_size, specs_of
from acidtest.errors import BadInput, CellFailed
from acidtest.formats import elf
from acidtest.journal.models import EngineFacts, Scalar

SYSTEM_PROGRAM = Path("/usr/sbin/mariadbd")
SYSTEM_SHARES = (Path("/usr/share/mysql"), Path("/usr/share/mariadb"))


class Mysql(Engine):
    """One version: the system's where it has that one, else one in a folder of ours."""

    family = "mysql"
    empty_bytes = 250_000_000

    def __init__(self, version: Version) -> None:
        self.id = version.id
        self.version = version
        self._specs = specs_of(version)

    def installation(self) -> Installation | None:
        """The files that run, None when there are none."""
        home = install.home(self.id)
        return self._of_the_system() or (self.version.origin.installation(home) if home.is_dir() else None)

    def _of_the_system(self) -> Installation | None:
        release = _release(SYSTEM_PROGRAM)
        if not release.startswith(f"{self.id.removeprefix('mariadb-')}."):
            return None
        for share in SYSTEM_SHARES:
            if all((share / script).is_file() for script in self.version.scripts):
                source = f"the system's package with {SYSTEM_PROGRAM}"
                command = (str(SYSTEM_PROGRAM),)
                return Installation(SYSTEM_PROGRAM, command, Path("/usr"), share, None, share, release, source)
        return None

    def _offer(self) -> Offer:
        installation = self.installation()
        if installation is None:
            remedy = f"acidtest engines install {self.id}"
            origin = self.version.origin
            return Offer(self.id, False, origin.release, "", origin.source, "", remedy)
        return Offer(
            self.id,
            True,
            installation.release,
            elf.read(installation.program).machine,
            installation.source,
            str(installation.program if installation.program == SYSTEM_PROGRAM else installation.base),
            remedy="",
            missing_libraries=installation.missing_libraries(),
        )

    def install(self, say: Callable[[str], None]) -> None:
        if (here := self._of_the_system()) is not None:
            say(f"{self.id} is here: {here.source}")
            return

        origin = self.version.origin
        install.install(self.id, lambda work: origin.bring(self.id, work, say), say, is_current=origin.is_current)

    def facts(self) -> EngineFacts:
        here = self._here()
        return EngineFacts(
            id=self.id,
            version=here.release,
            architecture=elf.read(here.program).machine,
            source=here.source,
            mode="server",
        )

    def setting_specs(self) -> Mapping[str, SettingSpec]:
        return self._specs

    def check_settings(self, settings: Mapping[str, Scalar]) -> None:
        super().check_settings(settings)
        if "port" in settings and settings.get("connection") == "socket":
            raise BadInput(
                f'{self.id}: port = {settings["port"]} contradicts connection = "socket", which has no port',
                'ask for connection = "tcp", or leave port out',
            )

    def durability_levels(self) -> tuple[str, ...]:
        return durability.LEVELS

    def durability(self, level: str, settings: Mapping[str, Scalar]) -> Durability:
        """The level as innodb_flush_log_at_trx_commit and, with a binary log, sync_binlog."""
        over_tcp = "port" in settings or settings.get("connection") == "tcp"
        tls.check(self.id, self.family, settings, tcp=over_tcp)
        durability.refuse_contradictions(self.id, level, settings)
        return Durability(level, durability.meaning(level, settings))

    def log_bytes(self, settings: Mapping[str, Scalar]) -> int:
        """All files of the redo log, which take their room from the start: at most 100 MiB where no size is asked for.
        A binary log is not counted."""
        megabytes = int(str(settings.get(log_size(self.version), 0)))
        files = 1 if "innodb_log_files_in_group" in self.version.lacks else 2
        return max(100, files * megabytes) << 20

    def instance(self, directory: Path, settings: Mapping[str, Scalar], durability: str | None) -> Instance:
        return MysqlInstance(self.id, self.version, self._here(), directory, settings, durability)

    def _here(self) -> Installation:
        installation = self.installation()
        if installation is None:
            raise CellFailed(f"{self.id} is no longer installed", f"acidtest engines install {self.id}")
        return installation


def engines() -> list[Engine]:
    """Every version, installed or not."""
    return [Mysql(version) for version in VERSIONS]


def _release(program: Path) -> str:
    """``10.11.19`` of ``mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for ...``, "" when there is no such program."""
    try:
        return _said_release(program, program.stat().st_mtime_ns)
    except OSError:
        return ""


@cache
def _said_release(program: Path, changed_ns: int) -> str:
    output = subprocess.run(
        [program, "--no-defaults", "--version"], capture_output=True, encoding="utf-8", errors="replace", check=False
    ).stdout
    match = re.search(r"Ver (\d+\.\d+\.\d+)-MariaDB", output)
    return match[1] if match else ""
