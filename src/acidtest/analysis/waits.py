"""What the sessions of a server waited for, by looks at them once a second: of those at work, how many were in what."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from acidtest.analysis.samples import Row
from acidtest.journal.models import AT_WORK, AT_WORK_IN


@dataclass(frozen=True)
class Seen:
    """Sessions that were seen in one thing."""

    what: str  # "WALSync", "processor"
    count: int
    share: float  # of all that were seen at work


@dataclass(frozen=True)
class Waits:
    """Of all repetitions of a row."""

    looks: int
    sessions: int  # seen at work, each look anew
    seen: tuple[Seen, ...]  # the most frequent first


def of_row(row: Row) -> Waits | None:
    """None where the engine was not asked, or no session was seen at work."""
    looks = sessions = 0
    counts: Counter[str] = Counter()
    for recording in row.done:
        if (samples := recording.engine_samples) is None:
            continue
        names = [figure.name for figure in samples.figures]
        if AT_WORK not in names:
            continue
        for sample in samples.samples:
            told = dict(zip(names, sample.values, strict=True))
            if told[AT_WORK] is None:
                continue
            looks += 1
            sessions += told[AT_WORK] or 0
            counts.update(
                {
                    name.removeprefix(AT_WORK_IN): many
                    for name, many in told.items()
                    if name.startswith(AT_WORK_IN) and many
                }
            )
    if not sessions:
        return None
    return Waits(looks, sessions, tuple(Seen(what, n, n / sessions) for what, n in counts.most_common()))
