"""Which rows are compared with which, and how many repetitions that takes: what is known before anything has run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from acidtest.analysis import REPETITIONS_FOR_INTERVAL
from acidtest.analysis.samples import Combination, One, base_of, by_workload

ALPHA = 0.05


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
