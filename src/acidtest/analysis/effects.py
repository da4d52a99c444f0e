"""Which factors matter, and how much: of each factor the ratio between its best and its worst level, all else equal."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy  # scipy.stats is imported at its first use: that takes two seconds

from acidtest.analysis import REPETITIONS_FOR_INTERVAL, power
from acidtest.analysis.compare import holm
from acidtest.analysis.pairs import ALPHA
from acidtest.analysis.samples import Row, varying
from acidtest.analysis.summary import CONFIDENCE, SEED, Floats, Interval, Summary, needs
from acidtest.journal.models import NOT_APPLICABLE

RESAMPLES = 1999

Matters = Literal["matters", "no difference shown", "cannot tell"]
Context = Mapping[str, Floats]  # level of the factor -> logarithms of the repetitions' rates, all other levels equal


@dataclass(frozen=True)
class Effect:
    """One factor of one workload."""

    factor: str
    best: str
    worst: str
    ratio: Summary  # best over worst, the geometric mean over the contexts; n is the smallest row's
    least: float  # of the contexts' own ratios: far apart, or below 1, where the factor acts with another one
    most: float
    contexts: int  # combinations of the other factors' levels in which both levels were measured
    p: float | None  # of the factor as a whole; None with too few repetitions
    p_corrected: float | None  # Holm, over the workload's factors
    verdict: Matters
    # Of the worst level's rate to the best's: the smallest effect that would have been found (``analysis.power``); None
    # where none would have been, however large.
    smallest_ratio: float | None


def effects(rows: Sequence[Row]) -> list[Effect]:
    """Every factor of one workload's rows that has two levels measured with all other levels equal, the largest first.

    The ratio is that of medians within a context, averaged over contexts by their logarithms, so that a slow context
    counts as much as a fast one; its interval is the percentile bootstrap with each row's repetitions resampled. The
    two levels are chosen after looking at the figures, so the ratio is an upper one of the factor and its interval does
    not decide alone: whether the factor matters at all is tested by permuting the repetitions among its levels within
    each context (Edgington and Onghena, Randomization Tests, 2007, chapter 6), on how far the levels' means over
    all contexts lie apart, with Holm's correction over the factors. Under five repetitions neither is done. A factor
    for which not even a halving would have been found is one of which the runs cannot tell.
    """
    measured = [effect for factor in varying(rows) if (effect := _effect(factor, _contexts(rows, factor))) is not None]
    tested = [n for n, effect in enumerate(measured) if effect.p is not None]
    corrected = holm([measured[n].p or 0.0 for n in tested])
    for n, p in zip(tested, corrected, strict=True):
        interval = measured[n].ratio.interval
        apart = interval is not None and interval.low > 1
        smallest = _smallest(_contexts(rows, measured[n].factor), measured[n], len(tested))
        none: Matters = "no difference shown" if power.decides(smallest) else "cannot tell"
        verdict: Matters = "matters" if p <= ALPHA and apart else none
        measured[n] = replace(measured[n], p_corrected=p, verdict=verdict, smallest_ratio=smallest)
    return sorted(measured, key=lambda effect: -(effect.ratio.median or 0))


def conclusion(measured: Sequence[Effect]) -> list[str]:
    """What the effects bear, in plain sentences: no factor is put before another unless their intervals lie apart."""
    if not measured:
        return []
    if all(effect.p is None for effect in measured):
        return [
            f"Which factors matter is not told: that takes {REPETITIONS_FOR_INTERVAL} repetitions of every row, and so "
            "do intervals of these ratios."
        ]
    sentences = []
    shown = [effect for effect in measured if effect.verdict == "matters"]
    if shown:
        first, others = shown[0], shown[1:]
        near = [effect for effect in others if _high(effect) >= _low(first)]
        if not others:
            lead = f"Of the factors only {_name(first)} is shown to matter"
        elif near:
            names = ", ".join(map(_name, near))
            lead = f"{_name(first)} and {names} matter most, and which of them more is not shown"
        else:
            lead = f"{_name(first)} matters most"
        sentences.append(f"{lead}: {'; '.join(_in_words(effect, bool(near)) for effect in (first, *near))}.")
        rest = [effect for effect in others if effect not in near]
        if rest:
            sentences.append(f"Less, but shown: {'; '.join(_in_words(effect, True) for effect in rest)}.")
    turned = [_name(effect) for effect in shown if effect.least < 1]
    if turned:
        sentences.append(
            f"Not everywhere alike: {', '.join(turned)}. With some levels of the other factors the better of the two "
            "was the slower."
        )
    sentences += [
        f"{_name(effect)}: no difference shown; {power.in_words(effect.smallest_ratio)} {power.NOTICED}."
        for effect in measured
        if effect.verdict == "no difference shown" and effect.smallest_ratio is not None
    ]
    untold = [effect for effect in measured if effect.verdict == "cannot tell"]
    missed = [_name(effect) for effect in untold if effect.p is not None]
    if missed:
        sentences.append(
            f"These runs cannot tell whether it matters: {', '.join(missed)}. They vary so much, or are so few, that "
            "even a halving would have been missed."
        )
    untested = [_name(effect) for effect in untold if effect.p is None]
    if untested:
        sentences.append(
            f"These runs cannot tell whether it matters: {', '.join(untested)}. That takes {REPETITIONS_FOR_INTERVAL} "
            "repetitions of every row."
        )
    return sentences


def _name(effect: Effect) -> str:
    return effect.factor.rpartition(".")[2]


def _in_words(effect: Effect, named: bool) -> str:
    interval = effect.ratio.interval
    between = f" ({interval.low:.3g} to {interval.high:.3g})" if interval else ""
    best, worst = (f"{_name(effect)} {level}" if named else level for level in (effect.best, effect.worst))
    return f"{best} is {effect.ratio.median:.3g} times as fast as {worst}{between}"


def _low(effect: Effect) -> float:
    return effect.ratio.interval.low if effect.ratio.interval else 0.0


def _high(effect: Effect) -> float:
    return effect.ratio.interval.high if effect.ratio.interval else float("inf")


def _contexts(rows: Sequence[Row], factor: str) -> list[Context]:
    """Rows that differ in ``factor`` alone, together; those alone, or to which it does not apply, left out."""
    groups: dict[tuple[str, ...], dict[str, Floats]] = {}
    for row in rows:
        rates = np.asarray(row.goodput_per_s, dtype=float)
        if row.levels[factor] != NOT_APPLICABLE and len(rates) and rates.min() > 0:
            others = tuple(level for name, level in row.levels.items() if name != factor)
            groups.setdefault(others, {})[row.levels[factor]] = np.log(rates)
    return [levels for levels in groups.values() if len(levels) > 1]


def _effect(factor: str, contexts: Sequence[Context]) -> Effect | None:
    levels = list(dict.fromkeys(level for context in contexts for level in context))
    ratios: dict[tuple[str, str], list[float]] = {}
    for one, other in itertools.permutations(levels, 2):
        both = [context for context in contexts if one in context and other in context]
        if both:
            ratios[one, other] = [float(np.median(context[one]) - np.median(context[other])) for context in both]
    if not ratios:
        return None
    best, worst = max(ratios, key=lambda pair: float(np.mean(ratios[pair])))
    logs = ratios[best, worst]
    both = [context for context in contexts if best in context and worst in context]
    n = min(len(logged) for context in contexts for logged in context.values())
    enough = n >= REPETITIONS_FOR_INTERVAL
    middle = float(np.exp(np.mean(logs)))
    interval = _interval([(context[best], context[worst]) for context in both]) if enough else None
    return Effect(
        factor=factor,
        best=best,
        worst=worst,
        ratio=Summary(n, middle, interval, None if enough else needs(n)),
        least=float(np.exp(min(logs))),
        most=float(np.exp(max(logs))),
        contexts=len(both),
        p=permutation_p(contexts) if enough else None,
        p_corrected=None,
        verdict="cannot tell",
        smallest_ratio=None,
    )


def _smallest(contexts: Sequence[Context], effect: Effect, family: int) -> float | None:
    """Of the design as far as it is balanced: the contexts with both extreme levels, the fewest repetitions."""
    levels = len({level for context in contexts for level in context})
    z = float(scipy.stats.norm.ppf((1 + CONFIDENCE) / 2))
    shift = power.factor_shift(effect.contexts, levels, effect.ratio.n, ALPHA / family, RESAMPLES, z)
    return None if shift is None else math.exp(-shift * _deviation(contexts, levels))


def _deviation(contexts: Sequence[Context], levels: int) -> float:
    """Standard deviation of a repetition when its context's mean and its level's have been taken away."""
    means = {id(context): np.concatenate(list(context.values())).mean() for context in contexts}
    of_level: dict[str, list[Floats]] = {}
    for context in contexts:
        for level, logged in context.items():
            of_level.setdefault(level, []).append(logged - means[id(context)])
    rest = [np.concatenate(parts) for parts in of_level.values()]
    squares = sum(float(((part - part.mean()) ** 2).sum()) for part in rest)
    freedom = sum(len(part) for part in rest) - len(contexts) - (levels - 1)
    return math.sqrt(squares / max(freedom, 1))


def _interval(pairs: Sequence[tuple[Floats, Floats]]) -> Interval:
    rng = np.random.default_rng(SEED)

    def medians(logged: Floats) -> Floats:
        return np.asarray(np.median(rng.choice(logged, (RESAMPLES, len(logged))), axis=1))

    resampled = np.mean([medians(one) - medians(other) for one, other in pairs], axis=0)
    low, high = np.exp(np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]))
    return Interval(float(low), float(high))


def permutation_p(contexts: Sequence[Context]) -> float:
    """How often, were the levels nothing but names, they would lie at least as far apart as they do; seeded."""
    rng = np.random.default_rng(SEED)
    levels = list(dict.fromkeys(level for context in contexts for level in context))
    sums = np.zeros((RESAMPLES + 1, len(levels)))
    counts = np.zeros(len(levels))
    for context in contexts:
        logged = np.concatenate(list(context.values()))
        arranged = np.tile(logged - logged.mean(), (RESAMPLES + 1, 1))
        arranged[1:] = rng.permuted(arranged[1:], axis=1)
        starts = np.cumsum([0, *(len(part) for part in context.values())])[:-1]
        sizes = np.array([len(part) for part in context.values()])
        columns = [levels.index(level) for level in context]
        sums[:, columns] += np.add.reduceat(arranged, starts, axis=1) / sizes
        counts[columns] += 1
    apart = (sums**2 / counts).sum(axis=1)
    # The arrangement found is one of those possible; figures that differ by rounding alone are the same.
    return float((apart >= apart[0] * (1 - 1e-9)).sum() / (RESAMPLES + 1))
