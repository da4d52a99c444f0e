"""How a database is looked into, family by family: its statistics, taken of databases of ours and of others alike, and
what else ``acidtest inspect`` reports of one that acidtest did not make.

A family's module ``inspection`` has the questions and the figures of both. ``inspect`` there asks a running server, or
reads a file, changes nothing and answers an ``InspectionResult``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from acidtest.engine.base import Ask, Forget
from acidtest.engine.foreign import ForeignInstance
from acidtest.errors import CellFailed
from acidtest.journal.models import DatabaseStatistics, Scalar

COUNTED_MAX = 10_000_000  # keys; beyond, grouping them takes too long

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Scan:
    """A question that reads one table whole."""

    table: str
    question: str
    bytes: int


@dataclass(frozen=True)
class InspectionResult:
    """What a family reports of one database, in the fields of ``journal.inspected.Inspected``."""

    version: str
    facts: Mapping[str, Scalar]
    statistics: DatabaseStatistics | None
    statistics_said: str = ""
    listed: Mapping[str, list[str]] = field(default_factory=dict)  # things of one kind, each told with its figures
    notes: Sequence[str] = ()
    scans: Sequence[Scan] = ()  # of a server, which only SQL can read
    scans_said: str = "there is no table that may be read"  # why there are none
    damaged: str = ""


@dataclass(frozen=True)
class ServerInspection:
    """How a family's servers by URL are inspected."""

    inspect: Callable[[Ask], InspectionResult]
    setup: Sequence[str]  # of each session, which then cannot change anything
    # What a server tells of pages in another way than to a session, added to what is known already; within so many
    # seconds, if a number is given.
    count_pages: Callable[[ForeignInstance, InspectionResult, float | None], InspectionResult] | None = None


@dataclass
class TolerantSession:
    """Asks, and where a question is refused, notes why and goes on: an account need not be allowed to see all."""

    ask: Ask
    refused: list[str] = field(default_factory=list)

    def rows(self, what: str, question: str) -> list[list[str | None]]:
        """The rows; none where ``what`` may not be asked or is not known to this version."""
        try:
            return self.ask(question)
        except CellFailed as error:
            words = error.message.removeprefix(f"{question}: ")
            self.refused.append(f"{what[:1].upper()}{what[1:]} could not be asked for: {words}.")
            return []

    def row(self, what: str, question: str) -> list[str | None]:
        """The first row; empty where there is none."""
        return next(iter(self.rows(what, question)), [])


def number(value: str | None) -> int:
    """Of a count as text; nothing is none."""
    return int(value) if value and value.isdecimal() else int(float(value or 0))


def clearly(name: str, ask: Ask, died: Callable[[], str | None] = lambda: None) -> Ask:
    """``ask`` that leaves the question out when it fails: of ``name``'s statistics, in the engine's own words, or how
    its server died."""

    def asked(question: str) -> list[list[str | None]]:
        try:
            return ask(question)
        except CellFailed as error:
            words = died() or error.message.removeprefix(f"{question}: ")
            raise CellFailed(f"{name}: could not take its statistics: {words}", error.remedy) from None

    return asked


@dataclass(frozen=True)
class Reads(Generic[Answer]):
    answer: Answer
    cold_s: float | None  # None where nothing was timed
    warm_s: float | None

    def time(self, statistics: DatabaseStatistics, began: float) -> DatabaseStatistics:
        """The statistics with these times, and with how long all of it took since ``began``."""
        statistics.took_s = time.monotonic() - began
        statistics.read_s_cold, statistics.read_s_warm = self.cold_s, self.warm_s
        return statistics


def timed_reads(read: Callable[[], Answer], forget: Forget | None) -> Reads[Answer]:
    """Read once, or, where the file cache can be emptied, cold and then warm. The opening of a session counts too."""
    if forget is None:
        return Reads(read(), None, None)
    forget()
    times = [time.monotonic()]
    for _ in ("cold", "warm"):
        answer = read()
        times.append(time.monotonic())
    return Reads(answer, times[1] - times[0], times[2] - times[1])


@dataclass(frozen=True)
class Keys:
    """How often keys repeat; None where nobody counted."""

    unique: int | None
    duplicates: int | None
    duplicates_max: int | None


NOT_COUNTED = Keys(None, None, None)


def count_keys(ask: Ask, table: str, columns: str, keys: int, *, all_differ: bool) -> Keys:
    """The keys of an index over ``columns``, both as SQL takes them; nothing is asked where ``all_differ``."""
    if all_differ or keys == 0:
        return Keys(keys, 0, 0)
    if keys > COUNTED_MAX:
        return NOT_COUNTED
    grouped = f"select count(*) as n from {table} group by {columns}"  # noqa: S608 - names that the engine quoted
    ((unique, counted, most),) = ask(f"select count(*), sum(n), max(n) from ({grouped}) as g")  # noqa: S608
    distinct = int(unique or 0)
    return Keys(distinct, int(counted or 0) - distinct, max(0, int(most or 0) - 1))
