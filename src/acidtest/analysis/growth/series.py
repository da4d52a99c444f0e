"""What a growing database gives to be analysed: sizes, rates, and sizes at which a drop may be expected."""

from __future__ import annotations

from dataclasses import dataclass

MEMORY = "memory"  # the landmark beyond which reads come from storage
CACHE = "the engine's cache"


@dataclass(frozen=True)
class SizePoint:
    """What was measured at one size."""

    bytes: float  # of the database's files
    rates: tuple[float, ...]  # a second, one for each repetition
    reads: tuple[float, ...] = ()  # of a transaction, from the device, beside each rate; () unknown


@dataclass(frozen=True)
class Landmark:
    """A size at which a drop may be expected."""

    name: str  # "memory", "the engine's cache", "depth 4 of order_line's order_line_pk"
    bytes: float


@dataclass(frozen=True)
class Series:
    """One engine on one place, size by size; at least one point."""

    name: str
    points: tuple[SizePoint, ...]  # ascending
    landmarks: tuple[Landmark, ...] = ()
