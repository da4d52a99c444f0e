"""What failures show beside verdicts, summed up by combination; pure.

Who notices what storage does wrong with its power on; the price of a commit in each mode of replication, and what
survives which failure of a server with a replica.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from acidtest.analysis.expected_loss import losses
from acidtest.analysis.samples import by_levels
from acidtest.analysis.survival import said_of_cut
from acidtest.journal.models import Recording, StorageFailure

ALONE = "none"  # the mode of a server without a replica
WITHOUT_LINK = "lost-link"  # its commits are no measure of the price: for a while there is nobody to wait for


@dataclass(frozen=True)
class Outcome:
    """All trials of one mode and one failure."""

    cuts: int
    survived: int
    lost: int
    unannounced: int  # of those that lost, what neither mode, level nor drive announces
    lost_commits: tuple[int, ...]  # acknowledged and missing, in each trial that could count them
    lost_ms: tuple[float, ...]  # from the first commit that is missing to the failure, in each trial that lost one
    looked_on: str  # "primary", "replica", or both as "primary or replica"; "" where nothing was left
    gave_up: int  # trials after which commits no longer waited for the replica

    @property
    def lost_commits_worst(self) -> int | None:
        return max(self.lost_commits, default=None)

    @property
    def lost_ms_worst(self) -> float | None:
        return max(self.lost_ms, default=None)


@dataclass(frozen=True)
class Worth:
    """One mode, with all other levels alike."""

    levels: Mapping[str, str]  # without what only says what fails
    mode: str
    means: str  # in the engine's own settings; "" without a replica
    commit_ms: float | None  # the median of the trials' medians, each from a transaction's begin to its acknowledgement
    outcomes: Mapping[str, Outcome]  # by what failed, as ``place.disk_failure`` has it


def worths(recordings: Iterable[Recording]) -> list[Worth]:
    """One for each mode, in the order in which they came first; none where no server had a replica."""
    made = [recording for recording in recordings if recording.cut is not None]
    if not any(recording.cut and recording.cut.replication for recording in made):
        return []
    apart = _of_failures(made)
    groups: dict[tuple[str, ...], list[Recording]] = {}
    for recording in made:
        key = tuple(level for factor, level in recording.levels.items() if factor not in apart)
        groups.setdefault((*key, _mode(recording)), []).append(recording)
    return [_worth(group, apart) for group in groups.values()]


def _mode(recording: Recording) -> str:
    replication = recording.cut.replication if recording.cut else None
    return replication.mode if replication else ALONE


def _of_failures(recordings: Sequence[Recording]) -> set[str]:
    """Factors whose levels are the failures, and nothing else."""
    failures = {recording.cut.failure for recording in recordings if recording.cut}
    apart = set()
    for factor in recordings[0].levels:
        pairs = {(recording.levels.get(factor), recording.cut.failure) for recording in recordings if recording.cut}
        if len(failures) > 1 and len(pairs) == len({level for level, _ in pairs}) == len(failures):
            apart.add(factor)
    return apart


def _worth(group: Sequence[Recording], apart: set[str]) -> Worth:
    by_failure: dict[str, list[Recording]] = {}
    for recording in group:
        assert recording.cut is not None
        by_failure.setdefault(recording.cut.failure, []).append(recording)
    prices = [
        one.cut.commit_ms
        for failure, of in by_failure.items()
        if failure != WITHOUT_LINK
        for one in of
        if one.status == "done" and one.cut and one.cut.commit_ms is not None
    ]
    first = group[0]
    replication = first.cut.replication if first.cut else None
    return Worth(
        levels={factor: level for factor, level in first.levels.items() if factor not in apart},
        mode=_mode(first),
        means=replication.means if replication else "",
        commit_ms=median(prices) if prices else None,
        outcomes={failure: _outcome(of) for failure, of in by_failure.items()},
    )


def _outcome(group: Sequence[Recording]) -> Outcome:
    done = [recording.cut for recording in group if recording.cut is not None and recording.status == "done"]
    replicas = [cut.replication for cut in done if cut.replication]
    servers = sorted({replica.looked_on for replica in replicas})
    looked_on = " or ".join(servers) or ("primary" if done and done[0].failure == "cut" else "")
    return Outcome(
        cuts=len(group),
        survived=sum(said_of_cut(cut) == "survived" for cut in done),
        lost=sum(cut.verdict == "lost" for cut in done),
        unannounced=sum(losses(recording)[1] > 0 for recording in group),
        lost_commits=tuple(cut.fate.lost for cut in done if cut.fate is not None),
        lost_ms=tuple(cut.lost_ms for cut in done if cut.lost_ms is not None),
        looked_on=looked_on,
        gave_up=sum(bool(replica.gave_up) for replica in replicas),
    )


OUTCOMES = ("noticed", "by check", "silent", "unnoticed", "unknown")  # as in StorageFailure


@dataclass(frozen=True)
class Noticed:
    """The trials of one combination."""

    levels: dict[str, str]
    failure: str  # as ``place.disk_failure`` has it
    trials: int
    struck: int  # trials in which the fault reached what it was meant for
    outcomes: Mapping[str, int]  # each of ``OUTCOMES``: trials
    by: Mapping[str, int]  # as in Notice: trials in which it told of it
    served: Mapping[str, int]  # as in StorageFailure, of trials whose outcome is known
    after: Mapping[str, int]  # what the load did under the fault: trials
    said: str  # the first notice
    whys: list[str]  # of unknown, each once


def noticed(recordings: Iterable[Recording]) -> list[Noticed]:
    """One for each combination whose storage did wrong, in the order in which they came."""
    return [_noticed(group) for group in by_levels(recording for recording in recordings if _failure(recording))]


def _failure(recording: Recording) -> StorageFailure | None:
    return recording.cut.storage if recording.status == "done" and recording.cut else None


def _noticed(group: Sequence[Recording]) -> Noticed:
    first, of = group[0], [storage for recording in group if (storage := _failure(recording))]
    known = [one for one in of if one.outcome != "unknown"]
    outcomes = Counter(one.outcome for one in of)
    return Noticed(
        levels=first.levels,
        failure=first.cut.failure if first.cut else "",
        trials=len(of),
        struck=sum(one.struck > 0 for one in of),
        outcomes={name: outcomes[name] for name in OUTCOMES},  # type: ignore[index]
        by=dict(Counter(by for one in of for by in dict.fromkeys(notice.by for notice in one.notices))),
        served=dict(Counter(one.served for one in known)),
        after=dict(Counter(one.after for one in of if one.after is not None)),
        said=next((notice.said for one in of for notice in one.notices), ""),
        whys=list(dict.fromkeys(one.why for one in of if one.why)),
    )
