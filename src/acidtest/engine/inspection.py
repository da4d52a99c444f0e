"""What looking into a database that acidtest did not make comes to, family by family.

A family's module ``look`` asks a running server, or reads a file; it changes nothing. The one contract: a function that
is given ``Ask`` and answers ``Looked``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from acidtest.engine.base import Ask
from acidtest.engine.foreign import ForeignInstance
from acidtest.errors import CellFailed
from acidtest.journal.models import DatabaseStatistics, Scalar


@dataclass(frozen=True)
class Scan:
    """A question that reads one table whole."""

    table: str
    question: str
    bytes: int


@dataclass(frozen=True)
class Looked:
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
class ServerLooks:
    """How a family's servers by URL are looked into."""

    look: Callable[[Ask], Looked]
    setup: Sequence[str]  # of each session, which then cannot change anything
    # What a server tells of pages in another way than to a session, beside what was looked at already; within so many
    # seconds, if a number is given.
    pages: Callable[[ForeignInstance, Looked, float | None], Looked] | None = None


@dataclass
class Patient:
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

    def one(self, what: str, question: str) -> list[str | None]:
        """The first row; empty where there is none."""
        return next(iter(self.rows(what, question)), [])


def number(value: str | None) -> int:
    """Of a count as text; nothing is none."""
    return int(float(value)) if value else 0
