"""What a Windows program says of itself (PE/COFF): word size, machine, and the version in its resources.

Layouts are those of Microsoft's "PE Format". Reads any bytes safely.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from acidtest.formats.window import Raw, unpack

MACHINES = {0x14C: "x86", 0x8664: "x86-64", 0xAA64: "aarch64", 0x1C0: "arm", 0x1C4: "arm"}
PE32, PE32_PLUS = 0x10B, 0x20B
DEBUG_ONLY = 0x1  # VS_FF_DEBUG of VS_FIXEDFILEINFO
VERSION_KEY = "VS_VERSION_INFO".encode("utf-16-le")
SECTIONS_MAX = 96  # as Windows has it
RESOURCES_BYTES_MAX = 4 << 20  # that are looked through
SIGNATURE = b"\xbd\x04\xef\xfe"


class NotPe(ValueError):
    """The bytes are no PE file, or one that is cut off or broken."""


@dataclass(frozen=True)
class Pe:
    bits: int  # 32 or 64
    machine: str
    version: str  # of VS_FIXEDFILEINFO, "3.0.5.33220"; "" where there is none
    debug: bool  # marked as a debug build there


def parse(raw: Raw) -> Pe:
    """Read the headers of ``raw``, and its version resource where it is in it. Raises NotPe."""
    try:
        return _parse(raw)
    except (struct.error, IndexError) as error:
        raise NotPe(f"cut off or broken: {error}") from None


def _parse(raw: Raw) -> Pe:
    if raw[:2] != b"MZ":
        raise NotPe("no MZ header")
    (at,) = unpack("<I", raw, 0x3C)
    if raw[at : at + 4] != b"PE\0\0":
        raise NotPe("no PE header")
    (machine,) = unpack("<H", raw, at + 4)
    (magic,) = unpack("<H", raw, at + 24)
    if magic not in (PE32, PE32_PLUS):
        raise NotPe(f"optional header {magic:#x}")
    version, debug = "", False
    begin, end = _resources(raw, at)
    key = raw.find(VERSION_KEY, begin, end)
    fixed = raw.find(SIGNATURE, key, key + 256) if key >= 0 else -1
    if fixed >= 0:
        high, low = unpack("<II", raw, fixed + 8)
        mask, flags = unpack("<II", raw, fixed + 24)
        version = f"{high >> 16}.{high & 0xFFFF}.{low >> 16}.{low & 0xFFFF}"
        debug = bool(mask & flags & DEBUG_ONLY)
    return Pe(64 if magic == PE32_PLUS else 32, MACHINES.get(machine, f"machine {machine:#x}"), version, debug)


def _resources(raw: Raw, at: int) -> tuple[int, int]:
    """Where the resources begin and end; of a program whose table of sections names none, its first megabytes."""
    (count,) = unpack("<H", raw, at + 6)
    (optional,) = unpack("<H", raw, at + 20)
    for number in range(min(count, SECTIONS_MAX)):
        name, _, _, size, begin = unpack("<8sIIII", raw, at + 24 + optional + number * 40)
        if name == b".rsrc\0\0\0":
            return begin, begin + min(size, RESOURCES_BYTES_MAX)
    return 0, RESOURCES_BYTES_MAX
