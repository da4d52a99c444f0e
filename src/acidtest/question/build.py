"""Is this build, version or server slower than that one?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import ClassVar

from acidtest.question import parts
from acidtest.question.answers import Answers, StorageKind, listed
from acidtest.question.base import STEADY_S, Question, Rung, Sketch
from acidtest.question.parts import TPCB
from acidtest.question.text import Draft, Line, Table

CACHE_MB = 256


class Build(Question):
    """The first engine is the parts. Many repetitions find small differences."""

    name: ClassVar[str] = "build"
    asks: ClassVar[str] = "Is this build or version slower than that one?"
    storages: ClassVar[tuple[StorageKind, ...]] = ("directory", "loop", "disk", "device")
    compares_engines: ClassVar[bool] = True
    takes_sql: ClassVar[bool] = True
    rungs: ClassVar[tuple[Rung, ...]] = (Rung(15, STEADY_S), Rung(10, STEADY_S), Rung(None, STEADY_S))

    def title(self, answers: Answers) -> str:
        first, *others = (engine.id for engine in answers.engines)
        return f"{listed(tuple(others))} beside {first}"

    def sketches(self, answers: Answers) -> Sequence[Sketch]:
        # A server by URL has the one level that it is set to.
        levels = self.breadths(answers) if not answers.servers else [("drive",)]
        breadths = [*product(levels, TPCB[:2]), (levels[-1], TPCB[2])]
        return [Sketch(partial(self._draft, answers, some, *size)) for some, size in breadths]

    def breadths(self, answers: Answers) -> Sequence[Sequence[str]]:
        """The durability levels, from all of them to those that will do."""
        return [("os", "drive"), ("drive",)]

    def levels_said(self, answers: Answers, levels: Sequence[str]) -> str:
        """The comment at the durability levels."""
        return "drive: as in production. os: without the wait for the drive, where the engine's own work shows."

    def _draft(
        self, answers: Answers, levels: Sequence[str], scale: int, terminals: int, repetitions: int, seconds: float
    ) -> Draft:
        said = self.levels_said(answers, levels)
        if answers.servers:
            said = "Of a server a demand: nothing is run where the server does not have it."
        factors = (
            parts.engines(answers),
            Line("durability", levels, said),
            *parts.scripts(answers),
        )
        return Draft(
            parts.opening(
                self, answers, parts.repetitions(repetitions), parts.read_against({"engine": answers.engines[0].id})
            ),
            (
                Table("factors", factors, "Every combination of these levels is run."),
                *parts.lacking(answers, levels),
                *parts.workloads(answers, scale, terminals, seconds),
                *parts.caches(answers, CACHE_MB, terminals),
                *(parts.place(answers.storage, parts.filesystem(answers)) if answers.own else ()),
                *parts.servers(answers),
            ),
        )
