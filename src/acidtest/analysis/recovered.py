"""Recovery after power cuts, piece by piece, summed up by combination. Times are medians, in seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median

from acidtest.analysis.summary import Summary, summarise
from acidtest.journal.models import Recording, RecoveryTimes


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
    groups: dict[tuple[str, ...], list[Recording]] = {}
    for recording in recordings:
        if recording.status == "done" and recording.cut is not None and recording.cut.recovery is not None:
            groups.setdefault(tuple(recording.levels.values()), []).append(recording)
    times = (
        (group[0].levels, [one.cut.recovery for one in group if one.cut and one.cut.recovery])
        for group in groups.values()
    )
    return [_recovered(levels, of) for levels, of in times]


def _recovered(levels: dict[str, str], of: Sequence[RecoveryTimes]) -> Recovered:
    def piece(take: Callable[[RecoveryTimes], float | None]) -> Summary:
        return summarise([value for one in of if (value := take(one)) is not None])

    told = [one for one in of if one.before == "steady" and one.watched_s]
    # One that did not come to full speed took longer than any that did.
    full = median(inf if one.full_speed_s is None else one.full_speed_s for one in told) if told else None
    rates = [rate for one in of for rate in one.before_per_s]
    return Recovered(
        levels=levels,
        recoveries=len(of),
        mount_s=piece(lambda one: one.mount_s),
        replay_s=piece(lambda one: one.replay_s),
        start_s=piece(lambda one: one.start_s),
        redo_s=piece(lambda one: one.redo_s),
        first_commit_s=piece(lambda one: one.first_commit_s),
        full_speed_s=None if full == inf else full,
        told=len(told),
        back=sum(one.full_speed_s is not None for one in told),
        limit_s=max(one.limit_s for one in of),
        before_per_s=median(rates) if rates else None,
        whys=[one.why for one in of if one.why],
    )
