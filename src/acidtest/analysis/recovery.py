"""Recovery after power cuts: when a load is again as fast as before, and the pieces summed up by combination. Pure.

Before the cut a rate counts only while it was steady, by the rule of ``steady``. Afterwards the load is as fast as
before from the first of three whole seconds in a row none of which has fewer commits than the slowest second before the
cut: of a rate that is as it was, one second in n + 1 is slower than the slowest of n, so that such a row comes soon.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median

from acidtest.analysis import SECONDS_NEEDED
from acidtest.analysis.samples import by_levels
from acidtest.analysis.steady import Steadiness, steadiness_of
from acidtest.analysis.summary import Summary, summarise
from acidtest.journal.models import Recording, RecoveryTimes

SECOND_NS = 1_000_000_000
IN_A_ROW = 3  # seconds
STARTING = 2  # seconds after the first commit that do not count
LOOKED_AT = 30  # seconds before the cut, at most
NEEDED_S = SECONDS_NEEDED + STARTING + 1  # from the first commit to the cut, that a rate before it can be judged


@dataclass(frozen=True)
class Recovered:
    """The recoveries of one combination. ``full_speed_s`` is None where fewer than half of those that could tell came
    to full speed: their median then lies beyond the time for which they were watched."""

    levels: dict[str, str]
    recoveries: int
    mount_s: Summary
    replay_s: (
        Summary  # of the file system's journal: the mount, less one of the same file system with nothing to replay
    )
    start_s: Summary
    redo_s: Summary  # of the engine: its start, less one with next to nothing to redo
    first_commit_s: Summary
    full_speed_s: float | None
    told: int  # recoveries of which full speed was to be told: the rate before the cut was steady
    back: int  # of these, how many came to it
    limit_s: float  # for which load was driven at most
    before_per_s: float | None  # commits in a second before the cut, the median
    whys: list[str]  # of each cut that misses pieces, why

    @property
    def total_s(self) -> float | None:
        """From the mount to full speed, of the medians; None where a piece is missing."""
        pieces = [self.mount_s.median, self.start_s.median, self.first_commit_s.median, self.full_speed_s]
        known = [piece for piece in pieces if piece is not None]
        return sum(known) if len(known) == len(pieces) else None


def recovered(recordings: Iterable[Recording]) -> list[Recovered]:
    """One for each combination whose recovery was timed, in the order in which they were first cut."""
    timed = by_levels(
        recording for recording in recordings if recording.status == "done" and recording.cut and recording.cut.recovery
    )
    return [
        _recovered(group[0].levels, [one.cut.recovery for one in group if one.cut and one.cut.recovery])
        for group in timed
    ]


def _recovered(levels: dict[str, str], of: Sequence[RecoveryTimes]) -> Recovered:
    def piece(take: Callable[[RecoveryTimes], float | None]) -> Summary:
        return summarise([value for one in of if (value := take(one)) is not None])

    judged = [recovery_times for recovery_times in of if recovery_times.before == "steady" and recovery_times.watched_s]
    # One that did not come to full speed took longer than any that did.
    full = median(inf if one.full_speed_s is None else one.full_speed_s for one in judged) if judged else None
    rates = [rate for recovery_times in of for rate in recovery_times.before_per_s]
    return Recovered(
        levels=levels,
        recoveries=len(of),
        mount_s=piece(lambda one: one.mount_s),
        replay_s=piece(lambda one: one.replay_s),
        start_s=piece(lambda one: one.start_s),
        redo_s=piece(lambda one: one.redo_s),
        first_commit_s=piece(lambda one: one.first_commit_s),
        full_speed_s=None if full == inf else full,
        told=len(judged),
        back=sum(one.full_speed_s is not None for one in judged),
        limit_s=max(recovery_times.limit_s for recovery_times in of),
        before_per_s=median(rates) if rates else None,
        whys=[recovery_times.why for recovery_times in of if recovery_times.why],
    )


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
