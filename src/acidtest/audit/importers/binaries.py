"""Programs and libraries of engines, for Linux and Windows."""

from __future__ import annotations

import mmap
import re
from collections.abc import Sequence

from acidtest.audit.bench import Binary, EngineName
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.formats import elf, pe

PROGRAMS: tuple[tuple[re.Pattern[str], EngineName], ...] = (
    (re.compile(r"(fbserver|fb_inet_server|fb_smp_server|firebird|fbguard)(\.exe)?"), "firebird"),
    (re.compile(r"(lib)?(fbclient|fbembed|gds32|engine\d\d)(\.dll|\.so[\d.]*)"), "firebird"),
    (re.compile(r"mariadbd(\.exe)?"), "mariadb"),
    (re.compile(r"mysqld(-debug|-nt)?(\.exe)?"), "mysql"),
    (re.compile(r"postgres(\.exe)?"), "postgresql"),
    (re.compile(r"(lib)?sqlite3?(\.exe|\.dll|\.so[\d.]*)"), "sqlite"),
)
# What a build says of itself, somewhere among its bytes.
VERSIONS: dict[EngineName, re.Pattern[bytes]] = {
    "firebird": re.compile(rb"[A-Z]{2}-[VTDBX](\d{1,2}\.\d{1,2}\.\d{1,3}\.\d{1,6})"),
    "mariadb": re.compile(rb"(\d{1,2}\.\d{1,2}\.\d{1,3})-MariaDB"),
    "mysql": re.compile(rb"mysqld-(\d{1,2}\.\d{1,2}\.\d{1,3})"),
    "postgresql": re.compile(rb"PostgreSQL (\d{1,2}(?:\.\d{1,2}){1,2})"),
    "sqlite": re.compile(rb"SQLite version (3\.\d{1,3}\.\d{1,3})"),
}
DEBUG = re.compile(rb"[LW]I-D\d|mysqld-\d[\d.]*-debug")
# MariaDB's server went by the name of MySQL's up to 10.4.
MARIADB = VERSIONS["mariadb"]


def _read(file: File) -> Sequence[Binary] | None:
    engine = next((engine for pattern, engine in PROGRAMS if pattern.fullmatch(file.base)), None)
    if engine is None or (file.head[:4] != b"\x7fELF" and file.head[:2] != b"MZ"):
        return None
    with file.path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as raw:
        if engine == "mysql" and MARIADB.search(raw):
            engine = "mariadb"
        found = VERSIONS[engine].search(raw)
        version = found[1].decode() if found else ""
        debug = DEBUG.search(raw) is not None
        try:
            if file.head[:2] == b"MZ":
                windows = pe.parse(raw)
                return [
                    Binary(file.at(), engine, windows.bits, windows.machine, "Windows", version or windows.version,
                           debug or windows.debug)
                ]  # fmt: skip
            linux = elf.parse(raw)
            return [Binary(file.at(), engine, linux.bits, linux.machine, "Linux", version, debug)]
        except (elf.NotElf, pe.NotPe) as error:
            raise Broken(str(error)) from None


IMPORTER = Importer("program", _read)
