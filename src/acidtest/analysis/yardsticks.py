"""How long a flush takes on storage of each kind, as others have published it. Pure.

A kind is named only where the whole interval of what was measured bears it; a yardstick tells neither what a drive is
nor whether it keeps what it reports as flushed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from acidtest.analysis.summary import Summary
from acidtest.words import three_digits


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


def named(flush: Summary) -> tuple[Yardstick, ...]:
    """The kinds that a flush, in microseconds, is held against: the one that its interval lies at, or those that it
    lies between; none where the interval is of several kinds, or there is none."""
    if (bounds := flush.interval) is None or bounds.low <= 0:
        return ()
    met = [one for one in YARDSTICKS if one.low_us <= bounds.high and bounds.low <= one.high_us]
    if not met:
        faster = [one for one in YARDSTICKS if one.high_us < bounds.low][-1:]
        slower = [one for one in YARDSTICKS if bounds.high < one.low_us][:1]
        return (*faster, *slower)
    kind, *others = met
    around = bounds.low < kind.low_us and kind.high_us < bounds.high
    if others or around or nearest(bounds.low) is not nearest(bounds.high):
        return ()
    return (kind,)


def likeness(flush: Summary) -> str:
    """What the whole interval bears: "as slow as a network volume (Amazon EBS) (500 to 1,420 µs), or slower"."""
    if (bounds := flush.interval) is None:
        return f"too few repetitions to name a kind of drive ({flush.reason})"
    kinds = named(flush)
    if not kinds:
        return "too uncertain to name a kind of drive; repeat it while the machine is idle"
    says = []
    for kind in kinds:
        of = f"{kind.kind} ({kind.low_us:,.0f} to {kind.high_us:,.0f} µs)"
        if kind.high_us < bounds.low:
            says.append(f"slower than {of}")
        elif bounds.high < kind.low_us:
            says.append(f"faster than {of}")
        else:
            beyond = ", or faster" if bounds.low < kind.low_us else ", or slower" if kind.high_us < bounds.high else ""
            says.append(f"{'as fast as' if kind is KEEPS_CACHE else 'as slow as'} {of}{beyond}")
    return " and ".join(says)


def sentence(flush: Summary) -> str:
    """ "A flush takes 900 µs (880 to 920): as slow as a network volume (Amazon EBS) (500 to 1,420 µs)"."""
    between = f" ({three_digits(flush.interval.low)} to {three_digits(flush.interval.high)})" if flush.interval else ""
    return f"A flush takes {three_digits(flush.median or 0.0)} µs{between}: {likeness(flush)}"


def contradiction(rotational: str, flush: Summary) -> str:
    """Where what a device reports of its rotation ("yes", "no") and the whole interval of a flush do not agree; else
    ""."""
    if (bounds := flush.interval) is None:
        return ""
    if rotational == "yes" and bounds.high < FASTEST_TURN_US:
        return (
            "it reports that it rotates, as virtio does of any, but a flush takes "
            f"{three_digits(bounds.high)} µs at most; the fastest disk turns once in {FASTEST_TURN_US:,.0f}: "
            "it does not rotate, or a cache answers for it"
        )
    if rotational == "no" and bounds.low >= DISK.low_us:
        return (
            f"it reports that it does not rotate, but a flush takes {three_digits(bounds.low)} µs at least, as long as "
            "a turn of a disk: something above it or beside it holds flushes back"
        )
    return ""
