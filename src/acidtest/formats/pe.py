"""What a Windows program says of itself (PE/COFF): word size, machine, and the version in its resources.

Layouts are those of Microsoft's "PE Format". Reads any bytes safely.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass

MACHINES = {0x14C: "x86", 0x8664: "x86-64", 0xAA64: "aarch64", 0x1C0: "arm", 0x1C4: "arm"}
PE32, PE32_PLUS = 0x10B, 0x20B
DEBUG_ONLY = 0x1  # VS_FF_DEBUG of VS_FIXEDFILEINFO
VERSION_KEY = "VS_VERSION_INFO".encode("utf-16-le")
SIGNATURE = b"\xbd\x04\xef\xfe"


class NotPe(ValueError):
    """The bytes are no PE file, or one that is cut off or broken."""


@dataclass(frozen=True)
class Pe:
    bits: int  # 32 or 64
    machine: str
    version: str  # of VS_FIXEDFILEINFO, "3.0.5.33220"; "" where there is none
    debug: bool  # marked as a debug build there


def parse(raw: bytes | mmap.mmap) -> Pe:
    """Read the headers of ``raw``, and its version resource where it is in it. Raises NotPe."""
    try:
        return _parse(raw)
    except (struct.error, IndexError) as error:
        raise NotPe(f"cut off or broken: {error}") from None


def _parse(raw: bytes | mmap.mmap) -> Pe:
    if raw[:2] != b"MZ":
        raise NotPe("no MZ header")
    (at,) = struct.unpack_from("<I", raw, 0x3C)
    if raw[at : at + 4] != b"PE\0\0":
        raise NotPe("no PE header")
    (machine,) = struct.unpack_from("<H", raw, at + 4)
    (magic,) = struct.unpack_from("<H", raw, at + 24)
    if magic not in (PE32, PE32_PLUS):
        raise NotPe(f"optional header {magic:#x}")
    version, debug = "", False
    key = raw.find(VERSION_KEY)
    fixed = raw.find(SIGNATURE, key, key + 256) if key >= 0 else -1
    if fixed >= 0:
        high, low = struct.unpack_from("<II", raw, fixed + 8)
        mask, flags = struct.unpack_from("<II", raw, fixed + 24)
        version = f"{high >> 16}.{high & 0xFFFF}.{low >> 16}.{low & 0xFFFF}"
        debug = bool(mask & flags & DEBUG_ONLY)
    return Pe(64 if magic == PE32_PLUS else 32, MACHINES.get(machine, f"machine {machine:#x}"), version, debug)
