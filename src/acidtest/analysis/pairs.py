"""Which rows are compared with which, and how many repetitions that takes: what is known before anything has run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from acidtest.analysis import REPETITIONS_FOR_INTERVAL
from acidtest.journal.models import NOT_APPLICABLE

ALPHA = 0.05
UNKNOWN_GUEST = "guest"


class Combination(Protocol):
    """What must be known of a row to say with which others it is compared; a plan knows it before anything has run."""

    @property
    def levels(self) -> Mapping[str, str]: ...
    @property
    def workload(self) -> str: ...
    @property
    def guest(self) -> str: ...


One = TypeVar("One", bound=Combination)


@dataclass(frozen=True)
class Planned:
    """A row before it has run."""

    levels: Mapping[str, str]
    workload: str
    guest: str


def base_of(row: One, among: Sequence[One], base: Mapping[str, str]) -> One | None:
    """The row that ``row`` is read against: the base's levels for the factors it names, ``row``'s own for the others.

    A factor that the base's engine does not have is "–" in the base row whatever it is in ``row``.
    None when no base is named, or no such row was run, or ``row`` and the base have different workloads, or one ran in
    a guest in which the other did not.
    """
    if not base:
        return None
    wanted = {**row.levels, **{factor: level for factor, level in base.items() if factor in row.levels}}
    fitting = [
        other
        for other in among
        if (other.workload, other.guest) == (row.workload, row.guest)
        and all(
            other.levels.get(factor) == level or (factor not in base and other.levels.get(factor) == NOT_APPLICABLE)
            for factor, level in wanted.items()
        )
    ]
    exact = [other for other in fitting if dict(other.levels) == wanted]
    return next(iter(exact or fitting), None)


def by_workload(rows_: Sequence[One]) -> dict[str, list[One]]:
    """Rows by workload, in order: rates of different workloads are different quantities and share no table.

    Nor do those of a guest and of this machine, or of two guests. A row none of whose places could be made, and which
    has no rate, stands with the first guest that was up.
    """
    known = next((row.guest for row in rows_ if row.guest not in ("", UNKNOWN_GUEST)), UNKNOWN_GUEST)
    tables: dict[str, list[One]] = {}
    for row in rows_:
        guest = known if row.guest == UNKNOWN_GUEST else row.guest
        tables.setdefault(f"{row.workload}, {guest}" if guest else row.workload, []).append(row)
    return tables


def levels_text(levels: Mapping[str, str], factors: Iterable[str]) -> str:
    """The levels of ``factors``, those that do not apply left out."""
    return ", ".join(level for f in factors if (level := levels.get(f, "")) not in ("", NOT_APPLICABLE))


def families(
    rows: Sequence[One], base: Mapping[str, str]
) -> Iterator[tuple[tuple[str, ...], list[tuple[One, One, bool]]]]:
    """The pairs that are compared and corrected together: the factors in which they differ, and of each pair whether
    the second is the first one's base."""
    for table in by_workload(rows).values():
        of_factors: dict[tuple[str, ...], list[tuple[One, One, bool]]] = {}
        for row, against, is_base in _pairs(table, base):
            of_factors.setdefault(_differing(row, against), []).append((row, against, is_base))
        yield from of_factors.items()


def largest_family(rows: Sequence[One], base: Mapping[str, str]) -> int:
    """How many comparisons the correction for many comparisons counts together at most; 0: nothing is compared."""
    return max((len(pairs) for _, pairs in families(rows, base)), default=0)


def enough_repetitions(family: int) -> int:
    """The fewest repetitions on each side with which ``family`` comparisons can all be shown."""
    n = REPETITIONS_FOR_INTERVAL
    while smallest_p(n, n) * family > ALPHA:
        n += 1
    return n


def smallest_p(n: int, m: int) -> float:
    """The smallest two-sided exact p that ``n`` against ``m`` samples can give: two of all arrangements."""
    return min(1.0, 2 / math.comb(n + m, n))


def _differing(row: Combination, against: Combination) -> tuple[str, ...]:
    return tuple(factor for factor, level in row.levels.items() if against.levels.get(factor) != level)


def _pairs(table: Sequence[One], base: Mapping[str, str]) -> list[tuple[One, One, bool]]:
    pairs: dict[frozenset[tuple[str, ...]], tuple[One, One, bool]] = {}
    for row in table:
        against = base_of(row, table, base)
        if against is not None and against is not row:
            pairs.setdefault(_both(row, against), (row, against, True))
    for position, row in enumerate(table):
        for other in table[:position]:
            differing = _differing(row, other)
            if len(differing) != 1:
                continue
            (factor,) = differing
            if factor not in base or other.levels[factor] == base[factor]:
                pairs.setdefault(_both(row, other), (row, other, False))
            elif row.levels[factor] == base[factor]:
                pairs.setdefault(_both(row, other), (other, row, False))
    return list(pairs.values())


def _both(one: Combination, other: Combination) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(row.levels.values()) for row in (one, other))
