"""Programs and libraries of engines, for Linux and Windows."""

from __future__ import annotations

import mmap
import re
from collections.abc import Sequence

from acidtest.audit.bench import Binary, EngineName
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.families import PRODUCTS
from acidtest.formats import elf, pe

PROGRAMS: tuple[tuple[re.Pattern[str], EngineName], ...] = tuple(
    (re.compile(pattern), product.name) for product in PRODUCTS.values() for pattern in product.programs
)
VERSIONS: dict[EngineName, re.Pattern[bytes]] = {
    product.name: re.compile(product.version_in_program) for product in PRODUCTS.values()
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
        match = VERSIONS[engine].search(raw)
        version = match[1].decode() if match else ""
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
