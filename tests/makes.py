"""Makes what the kits below tests/kits hold and nobody can write by hand: headers of programs, header pages."""

from __future__ import annotations

import struct

from acidtest.formats import firebird_header as header


def elf(bits: int, says: bytes = b"", machine: int | None = None) -> bytes:
    """A file header of an ELF program without segments, see elf(5), and what the program says of itself."""
    ident = b"\x7fELF" + bytes([bits // 32, 1, 1]) + bytes(9)
    of = machine or (62 if bits == 64 else 3)
    address = "Q" if bits == 64 else "I"
    length, segment = (64, 56) if bits == 64 else (52, 32)
    fields = struct.pack(f"<HHI{address * 3}IHHHHHH", 2, of, 1, 0, 0, 0, 0, length, segment, 0, 0, 0, 0)
    return ident + fields + b"\0" + says + b"\0"


def pe(bits: int, says: bytes = b"", version: tuple[int, int, int, int] | None = None, *, debug: bool = False) -> bytes:
    """Headers of a Windows program, see Microsoft's "PE Format", what it says of itself, and its version resource."""
    dos = b"MZ" + bytes(58) + struct.pack("<I", 64)
    machine, size, magic = (0x8664, 240, 0x20B) if bits == 64 else (0x14C, 224, 0x10B)
    coff = b"PE\0\0" + struct.pack("<HHIIIHH", machine, 0, 0, 0, 0, size, 0x22)
    made = dos + coff + struct.pack("<H", magic) + bytes(size - 2) + says + b"\0"
    if version:
        a, b, c, d = version
        flags = (0x3F, 1 if debug else 0)
        fixed = struct.pack(
            "<IIIIIIII", 0xFEEF04BD, 0x10000, a << 16 | b, c << 16 | d, a << 16 | b, c << 16 | d, *flags
        )
        made += struct.pack("<HHH", 92, 52, 0) + "VS_VERSION_INFO".encode("utf-16-le") + bytes(4) + fixed + bytes(20)
    return made


def header_page(page_size: int, ods: tuple[int, int], buffers: int, *, forced_writes: bool = True) -> bytes:
    """Page 0 of a Firebird database, whole, as ``src/jrd/ods.h`` lays it out."""
    page = bytearray(page_size)
    new = ods[0] >= header.MOVED
    page[0] = header.PAGE_TYPE_HEADER
    struct.pack_into("<HH", page, 16, page_size, ods[0] | header.ODS_FIREBIRD_FLAG)
    dialect = header.SQL_DIALECT_3 if new else header.SQL_DIALECT_3_BEFORE
    struct.pack_into("<H", page, 42, dialect | (header.FORCE_WRITE if forced_writes else 0))
    struct.pack_into("<H", page, 64 if new else 62, ods[1])
    struct.pack_into("<I", page, 68, buffers)
    return bytes(page)
