"""How long a flush takes on storage of each kind, as others have published it. Pure.

What was measured is held against the kind that is nearest; a yardstick tells neither what a drive is nor whether it
keeps what it reports as flushed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log


@dataclass(frozen=True)
class Yardstick:
    """The published times of one kind of storage, microseconds."""

    kind: str
    low_us: float
    high_us: float
    source: str


KEEPS_CACHE = Yardstick(
    "an SSD with power-loss protection, or a controller with a battery",
    43,
    158,
    'RAID controller with a write cache 43, Intel Optane P4800X (NVMe) 50, Intel P3700 (NVMe) 137 (Percona, "Update on '
    'fsync Performance", 2019); Intel 710 (SATA) 158 (FreeBSD r320683)',
)
NETWORK = Yardstick(
    "a network volume (Amazon EBS)",
    500,
    1_420,
    'io2 500 by design (AWS, "Amazon EBS optimization"); gp3 700, gp2 1,420 (fio, MaGe Linux Operations, "Why '
    'Upgrading EBS Volumes Boosted etcd Write Performance")',
)
LOSES_CACHE = Yardstick(
    "an SSD without power-loss protection",
    1_640,
    3_500,
    'Samsung 990 PRO 1,640 (Poder, "Using Postgres pg_test_fsync tool", 2025), 950 PRO 2,090 (FreeBSD r320683), 960 '
    'PRO 3,500 (Percona, "Why Consumer SSD Reviews are Useless", 2018); all NVMe, none of SATA was found',
)
DISK = Yardstick(
    "a 7,200 RPM disk",
    1e6 * 60 / 7_200,
    1e6 / 105,
    "one turn, 8,330; without its write cache a laptop's disk made 105 commits a second (Smith, PostgreSQL 9.0 High "
    "Performance, 2010)",
)
YARDSTICKS = (KEEPS_CACHE, NETWORK, LOSES_CACHE, DISK)
FASTEST_TURN_US = 1e6 * 60 / 15_000


def nearest(flush_us: float) -> Yardstick:
    """By the ratio."""

    def apart(one: Yardstick) -> float:
        return max(log(one.low_us / flush_us), log(flush_us / one.high_us), 0.0)

    return min(YARDSTICKS, key=apart)


def likeness(flush_us: float) -> str:
    """ "as fast as an SSD with power-loss protection, or a controller with a battery (43 to 158 µs)"."""
    one = nearest(flush_us)
    how = "as slow as" if one is not KEEPS_CACHE else "as fast as"
    if flush_us > 2 * one.high_us:
        how = "slower than"
    elif flush_us < one.low_us / 2:
        how = "faster than"
    return f"{how} {one.kind} ({one.low_us:,.0f} to {one.high_us:,.0f} µs)"


def contradiction(rotational: str, flush_us: float) -> str:
    """Where what a device reports of its rotation ("yes", "no") and its flushes do not agree; "" where they agree."""
    if rotational == "yes" and flush_us < FASTEST_TURN_US:
        return (
            f"it reports that it rotates, as virtio does of any, but flushes in {flush_us:,.0f} µs; the fastest disk "
            f"turns once in {FASTEST_TURN_US:,.0f}: it does not rotate, or a cache answers for it"
        )
    if rotational == "no" and nearest(flush_us) is DISK:
        return (
            f"it reports that it does not rotate, but a flush takes {flush_us:,.0f} µs, as long as a turn of a disk: "
            "something above it or beside it holds flushes back"
        )
    return ""
