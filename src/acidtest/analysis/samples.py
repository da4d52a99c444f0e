"""Recordings grouped into rows: one row a combination of levels, one sample a repetition that is ``done``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from acidtest.analysis.kinds import KindSummary, of_kinds
from acidtest.analysis.latency import merge
from acidtest.analysis.pairs import UNKNOWN_GUEST
from acidtest.journal.models import Header, Recording
from acidtest.journal.protocol import Histogram, RunResult


@dataclass(frozen=True)
class Row:
    """One combination of levels with everything that ran under it, by repetition."""

    levels: Mapping[str, str]  # factor -> level
    done: Sequence[Recording]
    invalid: Sequence[Recording]
    failed: Sequence[Recording]

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(self.levels.values())

    @property
    def first(self) -> Recording:
        """A recording to read facts from: of a run that counts, where there is one."""
        return [*self.done, *self.invalid, *self.failed][0]

    @property
    def workload(self) -> str:
        return str(self.levels.get("workload") or self.first.workload.get("name", ""))

    @property
    def engine(self) -> str:
        return self.levels.get("engine") or self.first.engine_id or "unknown"

    @property
    def guest(self) -> str:
        """The virtual machine that it ran in, "" for this machine: rates of different machines are not comparable."""
        ran = [r.place for r in (*self.done, *self.invalid, *self.failed)]
        return next((p.guest.name for p in ran if p.guest), UNKNOWN_GUEST if ran[0].kind == "guest" else "")

    @property
    def by_count(self) -> bool:
        """Whether the run ends after so many transactions, so that its length is a result too."""
        return self.first.workload.get("count") is not None

    @property
    def is_staged(self) -> bool:
        """Whether the load changes from stage to stage."""
        return bool(self.first.workload.get("stages"))

    @cached_property
    def results(self) -> list[RunResult]:
        """Of the repetitions that are done, as are the following."""
        return [recording.result for recording in self.done if recording.result is not None]

    @cached_property
    def goodput_per_s(self) -> list[float]:
        """Commits a second, one figure a repetition."""
        return [result.goodput_per_s for result in self.results]

    @cached_property
    def seconds(self) -> list[float]:
        """Length of the measurement, one figure a repetition."""
        return [result.measured_s for result in self.results]

    @cached_property
    def latency(self) -> Histogram:
        """Of all repetitions together."""
        return merge([result.latency for result in self.results])

    @cached_property
    def kinds(self) -> tuple[KindSummary, ...]:
        """The kinds of transactions of the row's workload in its own order; none where it has but one."""
        return of_kinds([result.kinds for result in self.results])


def by_levels(recordings: Iterable[Recording]) -> list[list[Recording]]:
    """Recordings of the same levels together, in the order in which those came first."""
    groups: dict[tuple[str, ...], list[Recording]] = {}
    for recording in recordings:
        groups.setdefault(tuple(recording.levels.values()), []).append(recording)
    return list(groups.values())


def rows(header: Header, recordings: Sequence[Recording]) -> list[Row]:
    """Group ``recordings`` by their levels, in the experiment's own order of levels.

    Only ``done`` recordings with a result may enter a number; invalid and failed ones stay beside them with their
    reason. A row none of whose cells is done is kept, so that what is missing is seen.
    """

    def place(group: Sequence[Recording]) -> list[int]:
        levels = [(header.factors.get(factor, []), level) for factor, level in group[0].levels.items()]
        return [names.index(level) if level in names else -1 for names, level in levels]

    return [
        Row(
            levels=dict(group[0].levels),
            done=[r for r in group if r.status == "done" and r.result is not None],
            invalid=[r for r in group if r.status == "invalid"],
            failed=[r for r in group if r.status == "failed" or (r.status == "done" and r.result is None)],
        )
        for group in sorted(by_levels(sorted(recordings, key=lambda r: r.repetition)), key=place)
    ]


def varying(rows_: Sequence[Row]) -> list[str]:
    """Factors with more than one level among ``rows_``, in order; the workload is never one of them."""
    if not rows_:
        return []
    return [
        factor
        for factor in rows_[0].levels
        if factor != "workload" and len({row.levels.get(factor) for row in rows_}) > 1
    ]
