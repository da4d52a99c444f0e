"""Who notices what storage does wrong with its power on, summed up by combination; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from acidtest.analysis.samples import by_levels
from acidtest.journal.models import Recording, StorageFailure

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
    return [_noticed(group) for group in by_levels(one for one in recordings if _failure(one))]


def _failure(recording: Recording) -> StorageFailure | None:
    return recording.cut.storage if recording.status == "done" and recording.cut else None


def _noticed(group: Sequence[Recording]) -> Noticed:
    first, of = group[0], [storage for one in group if (storage := _failure(one))]
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
