"""When a load is again as fast as it was before a power cut. Pure: times of commits in, seconds out.

Before the cut a rate counts only while it was steady, by the rule of ``steady``. Afterwards the load is as fast as
before from the first of three whole seconds in a row none of which has fewer commits than the slowest second before the
cut: of a rate that is as it was, one second in n + 1 is slower than the slowest of n, so that such a row comes soon.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from acidtest.analysis import SECONDS_NEEDED
from acidtest.analysis.steady import Steadiness, steadiness_of

SECOND_NS = 1_000_000_000
IN_A_ROW = 3  # seconds
STARTING = 2  # seconds after the first commit that do not count
LOOKED_AT = 30  # seconds before the cut, at most


@dataclass(frozen=True)
class Before:
    """``per_s`` are the commits in each whole second before the cut, the last one last."""

    per_s: list[float]
    judged: Steadiness

    @property
    def slowest(self) -> float | None:
        """Commits in the slowest second of a steady rate; None where it was not steady."""
        return min(self.per_s) if self.judged.state == "steady" else None


def before(times_ns: Sequence[int], cut_ns: int) -> Before:
    """The rate before a cut at ``cut_ns``, of commits that were acknowledged at ``times_ns``, in any order."""
    if not times_ns:
        return Before([], steadiness_of([]))
    whole = (cut_ns - min(times_ns)) // SECOND_NS - STARTING
    seconds = max(0, min(LOOKED_AT, whole))
    counts = Counter((cut_ns - 1 - at) // SECOND_NS for at in times_ns if at < cut_ns)
    per_s = [float(counts[number]) for number in reversed(range(seconds))]
    return Before(per_s, steadiness_of(per_s))


def after(times_ns: Sequence[int], until_ns: int) -> list[float]:
    """Commits in each whole second from the first of ``times_ns`` up to ``until_ns``."""
    if not times_ns:
        return []
    first = min(times_ns)
    counts = Counter((at - first) // SECOND_NS for at in times_ns)
    return [float(counts[second]) for second in range(max(0, (until_ns - first) // SECOND_NS))]


def back_at(per_s: Sequence[float], slowest: float) -> int | None:
    """The first of three seconds in a row that are not slower than ``slowest``; None where there are none."""
    for second in range(len(per_s) - IN_A_ROW + 1):
        if all(rate >= slowest for rate in per_s[second : second + IN_A_ROW]):
            return second
    return None


NEEDED_S = SECONDS_NEEDED + STARTING + 1  # from the first commit to the cut, that a rate before it can be judged
