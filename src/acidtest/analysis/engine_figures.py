"""What an engine tells of itself: what it counted for each commit, and what its sessions were in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from acidtest.analysis.samples import Row
from acidtest.analysis.summary import median
from acidtest.journal.models import AT_WORK, AT_WORK_IN, EngineCounts


@dataclass(frozen=True)
class EngineWork:
    """Over the repetitions that are done. A figure is None where the engine does not tell it, never 0 for that."""

    source: str  # where the engine tells it: "MON$IO_STATS, MON$RECORD_STATS"
    committed: int  # transactions over which was counted, all repetitions together
    uncertain: float  # the largest part of a repetition's transactions that may be counted in part, 0 to 1
    units: Mapping[str, str]  # counter -> "pages"
    sessions: Mapping[str, float | None]  # counter -> by the terminals' sessions, for each commit
    database: Mapping[str, float | None]  # counter -> in the whole database, for each commit
    not_counted: str | None  # why there are no figures of some repetition, or of none

    @property
    def counted(self) -> bool:
        """Whether there are any figures."""
        return bool(self.units)


def engine_work(row: Row) -> EngineWork | None:
    """None where the engine was not asked."""
    asked = [one.engine_counts for one in row.done if one.engine_counts]
    if not asked:
        return None
    counted = [one for one in asked if one.not_counted is None and one.committed]
    units = {counter.name: counter.unit for one in counted for counter in one.counters}
    return EngineWork(
        source=asked[0].source,
        committed=sum(one.committed for one in counted),
        uncertain=max((one.uncertain / one.committed for one in counted), default=0.0),
        units=units,
        sessions={name: _each(counted, name, "sessions") for name in units},
        database={name: _each(counted, name, "database") for name in units},
        not_counted=next(
            (one.not_counted or "no transaction was committed" for one in asked if one not in counted), None
        ),
    )


def _each(told: list[EngineCounts], name: str, of: str) -> float | None:
    """The median over the repetitions that tell it."""
    rises = [
        (getattr(counter, of), engine_counts.committed)
        for engine_counts in told
        for counter in engine_counts.counters
        if counter.name == name
    ]
    return median([rise / committed for rise, committed in rises if rise is not None])


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


def waits(row: Row) -> Waits | None:
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
            values = dict(zip(names, sample.values, strict=True))
            if values[AT_WORK] is None:
                continue
            looks += 1
            sessions += values[AT_WORK] or 0
            counts.update(
                {
                    name.removeprefix(AT_WORK_IN): many
                    for name, many in values.items()
                    if name.startswith(AT_WORK_IN) and many
                }
            )
    if not sessions:
        return None
    return Waits(looks, sessions, tuple(Seen(what, n, n / sessions) for what, n in counts.most_common()))
