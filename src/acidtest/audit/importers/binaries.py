"""Programs and libraries of engines, for Linux and Windows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from acidtest.audit.bench import Binary, EngineName
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.families import PRODUCTS
from acidtest.formats import elf, pe
from acidtest.formats.window import Window

PROGRAMS: tuple[tuple[re.Pattern[str], EngineName], ...] = tuple(
    (re.compile(pattern), product.name) for product in PRODUCTS.values() for pattern in product.programs
)
# By which others reach the engine, or which only watches it. ``fbembed`` and ``engine12`` are engines.
CLIENT = re.compile(r"(lib)?(fbclient|gds32)(\.dll|\.so[\d.]*)|fbguard(\.exe)?")
FOR_OTHERS = "wow64"  # the folder of Firebird's 32-bit client in a 64-bit installation
BYTES_MAX = 128 << 20  # of a program that are looked through
AROUND = 160  # bytes before and after what is looked for
EDGE = bytes(2 * AROUND)
CANDIDATES_MAX = 20_000

# Words that stand beside what an engine says of its version, and the pattern of that.
VERSIONS: dict[EngineName, tuple[re.Pattern[bytes], tuple[bytes, ...]]] = {
    # Firebird's client interface calls itself 6.3 beside the version.
    "firebird": (
        re.compile(rb"[A-Z]{2}-[VTDBX](?!6\.3\.)(\d{1,2}\.\d{1,2}\.\d{1,3}\.\d{1,6})(?!\d)"),
        (b"-V", b"-T", b"-B", b"-X", b"-D"),
    ),
    "mariadb": (re.compile(rb"(?<![\w. ])(\d{1,2}\.\d{1,2}\.\d{1,3})-MariaDB"), (b"-MariaDB",)),
    "mysql": (re.compile(rb"mysqld-(\d{1,2}\.\d{1,2}\.\d{1,3})(?![\d.])"), (b"mysqld-",)),
    "postgresql": (
        re.compile(rb"\(PostgreSQL\) (\d{1,2}(?:\.\d{1,3}){0,2}(?:devel|beta\d{1,2}|rc\d{1,2})?)(?![\w.])"),
        (b"(PostgreSQL) ",),
    ),
    "sqlite": (re.compile(rb"SQLite version (3\.\d{1,3}\.\d{1,3})"), (b"SQLite version ",)),
}
DEBUG: dict[EngineName, tuple[re.Pattern[bytes], tuple[bytes, ...]]] = {
    "firebird": (re.compile(rb"([LW]I-D\d)"), (b"LI-D", b"WI-D")),
    "mysql": (re.compile(rb"(\d\.\d{1,3}-debug)"), (b"-debug",)),
    "mariadb": (re.compile(rb"(\d-MariaDB[\w-]{0,40}-debug)"), (b"-debug",)),
    "postgresql": (re.compile(rb"('--enable-cassert')"), (b"--enable-cassert",)),  # of pg_config's answer
}


def _around(file: File, *words: bytes) -> Iterator[bytes]:
    """The bytes around each place where one of ``words`` stands, piece by piece, so that a large program takes no
    memory."""
    left, held, after, done = CANDIDATES_MAX, b"", 0, 0
    for begin, piece in chain(file.data(BYTES_MAX), [(-1, b"")]):
        held += (b"" if begin == after else EDGE) + piece  # a hole is of zeros, and so is the end
        after = begin + len(piece)
        whole = len(held) - len(EDGE)
        for word in words:
            at = held.find(word, done)
            while 0 <= at < whole and left > 0:
                left -= 1
                yield held[max(at - AROUND, 0) : at + len(word) + AROUND]
                at = held.find(word, at + 1)
        if whole > AROUND:
            held, done = held[whole - AROUND :], AROUND


def _first(file: File, pattern: re.Pattern[bytes], words: Sequence[bytes]) -> str:
    found = (match[1] for seen in _around(file, *words) if (match := pattern.search(seen)))
    return next(found, b"").decode()


def _read(file: File) -> Sequence[Binary] | None:
    engine = next((engine for pattern, engine in PROGRAMS if pattern.fullmatch(file.base)), None)
    if engine is None or (file.head[:4] != b"\x7fELF" and file.head[:2] != b"MZ"):
        return None
    if FOR_OTHERS in file.name.lower().split("/")[:-1]:
        return []
    version = _first(file, *VERSIONS[engine])
    # MariaDB's server went by the name of MySQL's up to 10.4.
    if engine == "mysql" and (forks := _first(file, *VERSIONS["mariadb"])):
        engine, version = "mariadb", forks
    debug = engine in DEBUG and bool(_first(file, *DEBUG[engine]))
    client = CLIENT.fullmatch(file.base) is not None
    with file.opened() as opened:
        try:
            if file.head[:2] != b"MZ":
                linux = elf.parse(Window(opened))
                return [Binary(file.at(), engine, linux.bits, linux.machine, "Linux", version, debug, client)]
            windows = pe.parse(Window(opened))
        except (elf.NotElf, pe.NotPe) as error:
            raise Broken(str(error)) from None
    version, debug = version or windows.version, debug or windows.debug
    return [Binary(file.at(), engine, windows.bits, windows.machine, "Windows", version, debug, client)]


IMPORTER = Importer("program", _read)
