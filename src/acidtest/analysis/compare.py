"""Which rows differ: Mann-Whitney U, Holm's correction, Cliff's delta; the verdict claims no more than they bear."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy  # scipy.stats is imported at its first use: that takes two seconds

from acidtest.analysis import REPETITIONS_FOR_INTERVAL, power
from acidtest.analysis.pairs import ALPHA, enough_repetitions, families, smallest_p
from acidtest.analysis.samples import Row
from acidtest.analysis.summary import Summary, ratio
from acidtest.words import counted

EXACT_ARRANGEMENTS = 20_000  # up to here ties are met with every arrangement, beyond with the normal approximation

Verdict = Literal["faster", "slower", "no difference shown", "cannot tell"]


@dataclass(frozen=True)
class Judged:
    """One verdict and the numbers behind it."""

    p: float | None  # two-sided, None when a side has fewer than five samples: then the pair is not tested
    p_corrected: float | None  # Holm, over ``family`` comparisons
    family: int  # pairs tested together
    cliffs_delta: float | None  # -1 .. 1; 1: every run of the first side beats every run of the other
    verdict: Verdict
    reason: str  # the verdict in one sentence
    # Of the lower rate to the higher: the smallest difference that would have been found (``analysis.power``); None
    # where none would have been, however large, or where a rate is zero.
    smallest_ratio: float | None = None


@dataclass(frozen=True, kw_only=True)
class Comparison(Judged):
    """``row`` read against ``against``: rates in commits a second, so "faster" is the higher rate."""

    row: Row
    against: Row
    factors: tuple[str, ...]  # in which the two differ
    is_base: bool  # ``against`` is ``row``'s base
    n: tuple[int, int]
    ratio: Summary


def comparisons(rows: Sequence[Row], base: Mapping[str, str]) -> list[Comparison]:
    """Compare rows of the same workload: each with its base, and pairs that differ in exactly one factor.

    Of a factor that the base names, levels are compared with the base's level only; of another factor, all pairs.
    A pair is compared once. The family of Holm's correction is: the comparisons of one workload in which the same
    factors differ, because a reader asks about one factor at a time. Five runs against five can at best give
    p = 0.0079, which bears a family of six; where the family is too large for the repetitions, or the runs vary so
    much that a halving would have been missed, the verdict is "cannot tell" and never "no difference shown".
    """
    compared: list[Comparison] = []
    for factors, pairs in families(rows, base):
        samples = [(row.goodput_per_s, against.goodput_per_s) for row, against, _ in pairs]
        for (row, against, is_base), (mine, theirs), judged in zip(pairs, samples, judge(samples), strict=True):
            compared.append(
                Comparison(
                    row=row,
                    against=against,
                    factors=factors,
                    is_base=is_base,
                    n=(len(mine), len(theirs)),
                    ratio=ratio(mine, theirs),
                    **vars(judged),
                )
            )
    return compared


def judge(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[Judged]:
    """Judge one family of pairs of samples together; the first of a pair is "faster" when it is higher.

    Only pairs with five samples on both sides are tested, and only these form the family. A pair that could not
    become significant even if every run of one side beat every run of the other, throughout the family, gets "cannot
    tell"; so does one that is not significant and whose runs vary too much for a halving to be found (power 0.8 at the
    spread of its own repetitions and at the strictest level of Holm's correction).
    """
    tested = [n for n, (mine, theirs) in enumerate(pairs) if min(len(mine), len(theirs)) >= REPETITIONS_FOR_INTERVAL]
    p = [mann_whitney_p(*pairs[n]) for n in tested]
    corrected = holm(p)
    reachable = holm([smallest_p(len(pairs[n][0]), len(pairs[n][1])) for n in tested])
    judged = [_untested(mine, theirs, len(tested)) for mine, theirs in pairs]
    for place, n in enumerate(tested):
        delta = cliffs_delta(*pairs[n])
        smallest = _smallest(*pairs[n], len(tested))
        verdict, reason = _verdict(pairs[n], corrected[place], reachable[place], delta, len(tested), smallest)
        judged[n] = Judged(p[place], corrected[place], len(tested), delta, verdict, reason, smallest)
    return judged


def _untested(mine: Sequence[float], theirs: Sequence[float], family: int) -> Judged:
    if not mine or not theirs:
        return Judged(None, None, family, None, "cannot tell", "one side has no run that counts")
    return Judged(None, None, family, cliffs_delta(mine, theirs), "cannot tell", _too_few(mine, theirs, 1))


def _numbers(mine: Sequence[float], theirs: Sequence[float]) -> str:
    if len(mine) == len(theirs):
        return counted(len(mine), "repetition")
    return f"{len(mine):,} and {counted(len(theirs), 'repetition')}"


def _too_few(mine: Sequence[float], theirs: Sequence[float], family: int) -> str:
    """Why no p can be small enough, and with how many repetitions it can."""
    among = "" if family == 1 else f" among {counted(family, 'comparison')}"
    enough = enough_repetitions(family)
    if smallest_p(len(mine), len(theirs)) * family <= ALPHA:  # but our rule asks for five
        return f"{_numbers(mine, theirs)}; a verdict takes {enough} on each side"
    return f"{_numbers(mine, theirs)} can show no difference of any size{among}; {enough} on each side can"


def _smallest(mine: Sequence[float], theirs: Sequence[float], family: int) -> float | None:
    deviation = power.spread([mine, theirs])
    shift = power.rank_shift(len(mine), len(theirs), ALPHA / family, mann_whitney_p)
    return None if deviation is None or shift is None else math.exp(-shift * deviation)


def mann_whitney_p(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p of the Mann-Whitney U test: exact without ties; with ties over every arrangement while they are few.

    Source: Mann and Whitney, Ann. Math. Statist. 18 (1947) 50; p is twice the smaller tail, at most 1.
    """
    if len(set(a) | set(b)) == 1:
        return 1.0
    ties = len(set(a) | set(b)) < len(a) + len(b)
    method: object = "exact"
    if ties:
        arrangements = math.comb(len(a) + len(b), len(a))
        exact = scipy.stats.PermutationMethod(n_resamples=np.inf)
        method = "asymptotic" if arrangements > EXACT_ARRANGEMENTS else exact
    elif len(a) + len(b) > 100:
        method = "asymptotic"
    return min(1.0, float(scipy.stats.mannwhitneyu(a, b, alternative="two-sided", method=method).pvalue))


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down corrected p values, in the order given.

    Source: Holm, Scand. J. Statist. 6 (1979) 65: the k-th smallest of m is multiplied by m - k + 1, and no
    corrected value is smaller than the one before it.
    """
    corrected = [0.0] * len(p)
    running = 0.0
    for rank, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        running = max(running, min(1.0, p[index] * (len(p) - rank)))
        corrected[index] = running
    return corrected


def cliffs_delta(a: Sequence[float], b: Sequence[float]) -> float:
    """How often a value of ``a`` is above one of ``b``, less how often below: -1 to 1.

    Source: Cliff, Psychological Bulletin 114 (1993) 494.
    """
    difference = np.sign(np.subtract.outer(np.asarray(a, dtype=float), np.asarray(b, dtype=float)))
    return float(difference.mean())


def _verdict(
    pair: tuple[Sequence[float], Sequence[float]],
    p: float,
    best: float,
    delta: float,
    family: int,
    smallest: float | None,
) -> tuple[Verdict, str]:
    if best > ALPHA:
        return "cannot tell", _too_few(*pair, family)
    among = "" if family == 1 else f", corrected for {counted(family, 'comparison')}"
    if p <= ALPHA and delta != 0:
        return ("faster" if delta > 0 else "slower"), f"p = {p:.2g}{among}"
    if smallest is not None and power.decides(smallest):
        found = power.in_words(smallest)
        return "no difference shown", f"p = {p:.2g}{among}; {found} {power.NOTICED}"
    deviation = power.spread(pair)
    if deviation is None:
        return "cannot tell", f"p = {p:.2g}{among}; some rates are zero, and zero has no ratio"
    needed = power.repetitions(lambda n: power.rank_shift(n, n, ALPHA / family, mann_whitney_p), deviation)
    many = f"about {needed} on each side would find it" if needed else "no reasonable number would find it"
    missed = f"{_numbers(*pair)} that vary so much would have missed even a halving; {many}"
    return "cannot tell", f"p = {p:.2g}{among}; {missed}"
