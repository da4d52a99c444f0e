"""A diagnosis on its way."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from acidtest.cli.diagnosing.asked import Asked
from acidtest.cli.spans import span
from acidtest.journal.diagnosis import Database, NotLooked

LEAST_S = 3.0  # a probe, and what is left for cells to be worth the beginning


@dataclass
class Course:
    """A diagnosis on its way: what was asked for, when it began, and what it could not look at."""

    asked: Asked
    database: Database | None
    place: Path | None
    console: Console
    began: float = field(default_factory=time.monotonic)
    not_looked: list[NotLooked] = field(default_factory=list)

    @property
    def left_s(self) -> float:
        return 60 * self.asked.minutes - (time.monotonic() - self.began)

    def say(self, line: str) -> None:
        self.console.print(f"{line}; {span(max(0.0, self.left_s))} left", markup=False, soft_wrap=True)

    def missing(self, what: str, why: str) -> None:
        self.not_looked.append(NotLooked(what=what, why=why))
