"""Sizes as people write them: "9.04 GB" is 9,040,000,000 bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from acidtest.errors import BadInput
from acidtest.workload import BY_KIND, growing

UNITS = {"b": 1, "bytes": 1} | {
    f"{prefix}{suffix}": base**power
    for suffix, base in (("b", 1000), ("ib", 1024))
    for power, prefix in enumerate("kmgtp", start=1)
}
MOST = 1 << 60  # bytes: beyond every database, and whole in a floating-point number's range of counting
GRAMMAR = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-z]*)", re.ASCII | re.IGNORECASE)
REMEDY = 'a number and kB, MB, GB, TB (10^3 each) or KiB, MiB, GiB, TiB (2^10 each), as in "9.04 GB"'


def bytes_of(text: str) -> int:
    """The bytes of a size: ``9.04 GB``, ``1.8TB``, ``16 GiB``, or bytes without a unit; in upper or lower case.

    Raises BadInput for anything else, for nothing at all ("0 GB") and for 2^60 bytes and more.
    """
    match = GRAMMAR.fullmatch(text.strip())
    unit = UNITS.get(match[2].lower() or "b") if match else None
    if match is None or unit is None:
        raise BadInput(f'"{text}" is not a size', REMEDY)
    if len(match[1]) > 40:
        raise BadInput(f'"{text}": a size has at most 40 digits', REMEDY)
    size = int((Decimal(match[1]) * unit).to_integral_value())
    if not 1 <= size < MOST:
        raise BadInput(f'"{text}": a size is at least a byte and below an exbibyte', REMEDY)
    return size


@dataclass(frozen=True)
class Size:
    """How large a database is to be: in exactly one of the three ways."""

    asked: str  # as the experiment has it
    bytes: int | None = None
    units: int | None = None  # of the workload's own unit of size
    times_memory: float | None = None

    def with_memory(self, memory_mb: int | None) -> Size:
        """In bytes, where it is a multiple of this limit. Raises BadInput where there is no limit."""
        if self.times_memory is None:
            return self
        if memory_mb is None:
            raise BadInput(
                f'growth.sizes: "{self.asked}" is a multiple of place.memory_mb, and there is none',
                "add memory_mb to [place], or give the size in GB",
            )
        return Size(self.asked, bytes=round(self.times_memory * (memory_mb << 20)))


# "40 warehouses": of the unit in which a workload that grows counts its size.
UNITS_OF_SIZE = tuple(dict.fromkeys(BY_KIND[kind].UNIT_OF_SIZE for kind in growing()))
_WORDS = "|".join(unit.removesuffix("s") + "s?" for unit in UNITS_OF_SIZE)
COUNTED = re.compile(rf"([0-9]+)\s*({_WORDS})", re.ASCII | re.IGNORECASE)
TIMES_MEMORY = re.compile(r"([0-9]{1,7}(?:\.[0-9]{1,9})?)\s*[x×]\s*memory", re.IGNORECASE)
UNITS_MOST = 100_000


def size_of(text: str) -> Size:
    """One of growth's sizes: as ``bytes_of`` reads it, ``40 warehouses``, or ``2x memory``. Raises BadInput."""
    if match := COUNTED.fullmatch(text.strip()):
        count = int(match[1][:9])
        if not 1 <= count <= UNITS_MOST:
            raise BadInput(f'"{text}": must be from 1 to {UNITS_MOST:,} {UNITS_OF_SIZE[0]}')
        return Size(text, units=count)
    if match := TIMES_MEMORY.fullmatch(text.strip()):
        times = float(match[1])
        if not times:
            raise BadInput(f'"{text}": must be above 0')
        return Size(text, times_memory=times)
    try:
        return Size(text, bytes=bytes_of(text))
    except BadInput as error:
        raise BadInput(error.message, f'write it as "9.04 GB", "40 {UNITS_OF_SIZE[0]}" or "2x memory"') from None


def check_ascending(sizes: Sequence[Size], memories_mb: Sequence[int | None]) -> None:
    """Raise BadInput unless each size is above the one before it, whichever of the memory limits there is."""
    _check_comparable(sizes, "growth.sizes")
    for memory_mb in memories_mb:
        for below, size in pairwise(sizes):
            if _in_order(size, memory_mb) <= _in_order(below, memory_mb):
                raise BadInput(
                    f'growth.sizes: "{size.asked}" is not above "{below.asked}", and a database only grows',
                    'put them in ascending order, or load = "fresh"',
                )


def check_held_out(sizes: Sequence[Size], held_out: Sequence[Size], memories_mb: Sequence[int | None]) -> None:
    """Raise BadInput unless each size held out is above all others before it, whichever of the memory limits."""
    _check_comparable([*sizes, *held_out], "growth.held_out")
    for memory_mb in memories_mb:
        largest = max(sizes, key=lambda size: _in_order(size, memory_mb))
        for below, size in pairwise([largest, *held_out]):
            if _in_order(size, memory_mb) <= _in_order(below, memory_mb):
                raise BadInput(
                    f'growth.held_out: "{size.asked}" is not above "{below.asked}", and forecasts look ahead',
                    "give sizes above all others, in ascending order",
                )


def _check_comparable(sizes: Sequence[Size], where: str) -> None:
    counted = [size for size in sizes if size.units is not None]
    if counted and len(counted) < len(sizes):
        other = next(size for size in sizes if size.units is None)
        raise BadInput(
            f'{where}: "{counted[0].asked}" and "{other.asked}" cannot be put in order',
            f"give all in {UNITS_OF_SIZE[0]}, or none",
        )


def _in_order(size: Size, memory_mb: int | None) -> int:
    return size.with_memory(memory_mb).bytes or size.units or 0
