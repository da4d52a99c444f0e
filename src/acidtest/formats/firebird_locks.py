"""The lock table of Firebird 3: the file ``fb_lock_*`` in its lock directory, which every process maps.

Offsets are those of ``lhb`` in ``src/lock/lock_proto.h`` of Firebird 3.0, on 64-bit Linux, where ``MemoryHeader``
(``src/common/isc_s_proto.h``) comes first. ``fb_lock_print`` prints the same.
"""

from __future__ import annotations

import struct

from acidtest.words import counted

SRAM_LOCK_MANAGER = 0xFF  # mhb_type
LHB_VERSION_64 = 0x80 + 18  # mhb_version: PLATFORM_LHB_VERSION of 64 bits, and Firebird 3.0's own number
VERSION_AT, LENGTH_AT, SCAN_INTERVAL_AT = 4, 140, 156


class NotALockTable(ValueError):
    """The bytes are no lock table that we know."""


def scan_interval_s(raw: bytes) -> int:
    """DeadlockTimeout as the engine took it, out of a whole lock table, in seconds. Raises NotALockTable."""
    if len(raw) < SCAN_INTERVAL_AT + 4:
        raise NotALockTable("cut off")
    (kind,), (version,) = struct.unpack_from("<H", raw), struct.unpack_from("<H", raw, VERSION_AT)
    if (kind, version) != (SRAM_LOCK_MANAGER, LHB_VERSION_64):
        raise NotALockTable(f"type {kind}, version {version}")
    (length,), (seconds,) = struct.unpack_from("<I", raw, LENGTH_AT), struct.unpack_from("<I", raw, SCAN_INTERVAL_AT)
    if length != len(raw):
        raise NotALockTable(f"length {length:,} in a file of {counted(len(raw), 'byte')}")
    return int(seconds)
