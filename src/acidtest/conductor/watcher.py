"""Who is told how a run goes, and of a load how far it has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from acidtest.journal.models import Recording
from acidtest.journal.protocol import Progress
from acidtest.plan import Cell


@dataclass(frozen=True)
class Loading:
    """How far the load of a database that grows has come."""

    bytes: int
    of_bytes: int
    elapsed_s: float
    added_bytes: int  # by this load
    ended: bool = False

    @property
    def bytes_per_s(self) -> float:
        return self.added_bytes / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        speed = self.bytes_per_s
        return max(0, self.of_bytes - self.bytes) / speed if speed > 0 else None


@dataclass(frozen=True)
class Exploring:
    """How far the crash states of one load have been looked at."""

    states: int
    images: int  # different contents of the disk among them
    outcomes: int  # different ends that recovery came to
    lost: int
    per_s: float
    fraction: float  # of the budget
    left_s: float | None  # None while nothing is known
    elapsed_s: float


class Watcher(Protocol):
    """Who is told how a run goes."""

    def begins(self, done: int, total: int, place: str) -> None: ...
    def released(self, lines: list[str]) -> None: ...
    def doubts(self, lines: list[str]) -> None: ...
    def brings(self, line: str) -> None: ...
    def admitted(self, lines: list[str]) -> None: ...
    def cell_begins(self, cell: Cell, left_s: float) -> None: ...
    def progress(self, cell: Cell, event: Progress) -> None: ...
    def loading(self, cell: Cell, loading: Loading) -> None: ...
    def exploring(self, cell: Cell, far: Exploring) -> None: ...
    def cell_ended(self, cell: Cell, recording: Recording, left_s: float) -> None: ...
