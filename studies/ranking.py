"""Places of several samples, no more certain than the samples bear."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from acidtest.analysis.compare import judge


def places(samples: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """For each of ``samples`` (rates: the higher is the better) the best and the worst place that it may have.

    Its best place is after all that are shown to be faster, its worst before all that are shown to be slower, by
    Mann-Whitney tests of all pairs with Holm's correction: all ranges together hold the true places in 95 % of
    experiments. Source: confidence sets for ranks by simultaneous tests of pairs, Mogstad, Romano, Shaikh and Wilhelm,
    Inference for Ranks, Review of Economic Studies 91 (2024) 476.
    """
    among = range(len(samples))
    pairs = list(combinations(among, 2))
    verdicts = zip(pairs, judge([(samples[a], samples[b]) for a, b in pairs]), strict=True)
    faster = {pair if one.verdict == "faster" else pair[::-1] for pair, one in verdicts if one.verdict in SHOWN}
    return [
        (1 + sum((b, a) in faster for b in among), len(samples) - sum((a, b) in faster for b in among)) for a in among
    ]


SHOWN = ("faster", "slower")
