"""What an ELF file says of itself: word size, machine, interpreter, and the libraries that it needs; where they are.

Reads any bytes safely.
"""

from __future__ import annotations

import ctypes.util
import struct
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from acidtest.formats.window import Raw, Window, unpack

MACHINES = {3: "x86", 62: "x86-64", 183: "aarch64", 40: "arm", 243: "riscv", 21: "ppc64", 22: "s390x"}
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB = 1, 5
LOADER_CACHE = Path("/etc/ld.so.cache")
SEGMENTS_MAX, DYNAMIC_MAX = 1_000, 10_000  # that are looked at; a server has a dozen and some fifty


class NotElf(ValueError):
    """The bytes are no ELF file, or one that is cut off or broken."""


@dataclass(frozen=True)
class Elf:
    """See elf(5)."""

    bits: int  # 32 or 64
    machine: str
    needed: tuple[str, ...]  # DT_NEEDED, in order
    interpreter: str  # PT_INTERP, the dynamic loader; "" of a library and of a static program


def read(path: Path) -> Elf:
    """Read the headers of a file; a server's debug information may make it hundreds of megabytes. Raises NotElf."""
    with path.open("rb", buffering=0) as file:
        return parse(Window(file))


def missing_bytes(path: Path) -> int:
    """How many bytes are missing at the end of a file, by what its own headers say lies in it. Raises NotElf."""
    with path.open("rb", buffering=0) as file:
        raw = Window(file)
        try:
            return max(0, _end(raw) - len(raw))
        except (struct.error, IndexError, OverflowError) as error:
            raise NotElf(f"cut off or broken: {error}") from None


def _end(raw: Raw) -> int:
    """Behind its last segment, and behind the table of its sections, which linkers put last."""
    order = "<" if raw[5] == 1 else ">"
    if raw[4] == 2:
        phoff, shoff = unpack(order + "QQ", raw, 32)
        size, count, section_size, sections = unpack(order + "HHHH", raw, 54)
        layout, offset_at, length_at = order + "IIQQQQ", 2, 5
    else:
        phoff, shoff = unpack(order + "II", raw, 28)
        size, count, section_size, sections = unpack(order + "HHHH", raw, 42)
        layout, offset_at, length_at = order + "IIIII", 1, 4
    ends = [shoff + sections * section_size if shoff else 0]
    for number in range(min(count, SEGMENTS_MAX)):
        header = unpack(layout, raw, phoff + number * size)
        ends.append(header[offset_at] + header[length_at])
    return int(max(ends))


def parse(raw: Raw) -> Elf:
    """Read the headers of ``raw``. Raises NotElf."""
    try:
        return _parse(raw)
    except (struct.error, IndexError, OverflowError) as error:
        raise NotElf(f"cut off or broken: {error}") from None


def _parse(raw: Raw) -> Elf:
    if not len(raw):
        raise NotElf("the file is empty")
    if raw[:4] != b"\x7fELF" or raw[4] not in (1, 2) or raw[5] not in (1, 2):
        raise NotElf("no ELF header")
    bits = 64 if raw[4] == 2 else 32
    order = "<" if raw[5] == 1 else ">"
    (machine,) = unpack(order + "H", raw, 18)
    if bits == 64:
        (phoff,) = unpack(order + "Q", raw, 32)
        size, count = unpack(order + "HH", raw, 54)
    else:
        (phoff,) = unpack(order + "I", raw, 28)
        size, count = unpack(order + "HH", raw, 42)
    loads: list[tuple[int, int, int]] = []  # virtual address, file offset, length in the file
    dynamic: tuple[int, int] | None = None
    interpreter = ""
    for number in range(min(count, SEGMENTS_MAX)):
        at = phoff + number * size
        if bits == 64:
            kind, _, offset, address, _, length = unpack(order + "IIQQQQ", raw, at)
        else:
            kind, offset, address, _, length = unpack(order + "IIIII", raw, at)
        if kind == PT_LOAD:
            loads.append((address, offset, length))
        elif kind == PT_DYNAMIC:
            dynamic = (offset, length)
        elif kind == PT_INTERP:
            interpreter = _text(raw, offset)
    needed: list[int] = []
    strings = 0
    if dynamic:
        entry = order + ("qQ" if bits == 64 else "iI")
        step = struct.calcsize(entry)
        length = min(dynamic[1], DYNAMIC_MAX * step)
        for at in range(dynamic[0], min(dynamic[0] + length, len(raw) - step + 1), step):
            tag, value = unpack(entry, raw, at)
            if tag == 0:
                break
            if tag == DT_NEEDED:
                needed.append(value)
            elif tag == DT_STRTAB:
                strings = value
    base = next((strings - a + o for a, o, n in loads if a <= strings < a + n), 0)
    names = tuple(_text(raw, base + name) for name in needed)
    return Elf(bits, MACHINES.get(machine, f"machine {machine}"), names, interpreter)


def _text(raw: Raw, at: int) -> str:
    end = raw.find(b"\0", at, at + 4096)
    if at < 0 or at >= len(raw) or end < 0:
        raise NotElf("a name lies outside the file")
    return raw[at:end].decode(errors="replace")


def loadable(otherwise: Iterable[str] = ()) -> Mapping[str, Path]:
    """Names that the dynamic loader finds, with their files; see ldconfig(8).

    Where there is no ldconfig, those of ``otherwise`` that it finds, without their folders.
    """
    for ldconfig in ("/sbin/ldconfig", "/usr/sbin/ldconfig"):
        if Path(ldconfig).exists():
            return _listed(ldconfig, LOADER_CACHE.stat().st_mtime_ns if LOADER_CACHE.exists() else 0)
    found = (name for name in otherwise if ctypes.util.find_library(name.removeprefix("lib").partition(".so")[0]))
    return {name: Path(name) for name in found}


@lru_cache(maxsize=1)  # every engine that is listed asks
def _listed(ldconfig: str, cache_changed_ns: int) -> Mapping[str, Path]:
    """What the loader's cache holds, as it was written at that time."""
    listed = subprocess.run([ldconfig, "-p"], capture_output=True, encoding="utf-8", errors="replace", check=False)
    libraries: dict[str, Path] = {}
    for line in listed.stdout.splitlines():
        name, arrow, path = line.strip().partition(" => ")
        if arrow and "x86-64" in name:
            libraries.setdefault(name.split(" ")[0], Path(path))
    return libraries


def closure(binaries: Iterable[Path]) -> dict[Path, None]:
    """The system's files that ``binaries`` need to run: their dynamic loader and libraries, and what those need.

    Files that are no ELF need nothing; a library that is not found is left out: its user may bring it along.
    """
    system = loadable()
    needed: dict[Path, None] = {}
    pending = list(binaries)
    while pending:
        try:
            of = read(pending.pop())
        except NotElf:
            continue
        files = [Path(of.interpreter)] if of.interpreter else []
        for file in [*files, *(system[name] for name in of.needed if name in system)]:
            if file not in needed:
                needed[file] = None
                pending.append(file)
    return needed
