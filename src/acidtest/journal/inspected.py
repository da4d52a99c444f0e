"""What ``acidtest inspect`` found in a database: figures, and how fast it could be read. What is unusual in them, and
what to do about it, is worked out when they are shown (``acidtest.analysis.health``)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from acidtest.journal.models import DatabaseStatistics, Record, Scalar


class ReadPass(Record):
    """One reading of the database, from its beginning to its end or to the limit of time."""

    bytes: int
    seconds: float
    # Of the file, in the file cache before it began, and what storage was read meanwhile by this process, by
    # /proc/self/io; None of a server.
    cached_bytes_before: int | None = None
    storage_bytes: int | None = None

    @property
    def mb_per_s(self) -> float | None:
        return self.bytes / self.seconds / 1e6 if self.seconds > 0 and self.bytes else None


class Reading(Record):
    """The whole database read twice."""

    how: str  # "the file, from beginning to end, in pieces of 1 MiB", "select count(*) of 12 tables"
    names: tuple[str, str]  # of the two readings: "cold" and "warm", or, where nobody can say, "first" and "second"
    all_bytes: int  # that there were to read
    passes: list[ReadPass]  # the second is of as much as the first, or less where that took longer
    is_cut: bool  # by the limit of time: less was read than there is


class Inspected(Record):
    """One database, at one time."""

    kind: Literal["inspection"] = "inspection"
    acidtest_version: str
    taken_at: str  # ISO 8601, UTC
    where: str  # a path, or a URL without its password
    is_held: bool | None = None  # of a file: whether another program has it open; None of a server
    family: str  # "firebird"
    version: str  # of the engine or of the format: "PostgreSQL 15.18", "Firebird 5.0 (on-disk structure 13.1)"
    facts: dict[str, Scalar]  # by name, units at its end; docs/INSPECT.md lists them
    listed: dict[str, list[str]] = Field(
        default_factory=dict
    )  # things of one kind by its name, each told with its figures
    statistics: DatabaseStatistics | None
    statistics_said: str = ""  # why there are none
    reading: Reading | None = None
    reading_said: str = ""  # why nothing was read
    notes: list[str] = Field(default_factory=list)  # what a reader of the figures must know, one sentence each
    damaged: str = ""  # the first thing in its pages that is not as it must be
