"""What is the highest rate that keeps a limit of latency?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from acidtest.plan import Plan
from acidtest.plan.search import typical_runs
from acidtest.question import parts
from acidtest.question.answers import Answers, StorageKind, listed
from acidtest.question.base import ENOUGH, STEADY_S, Question, Rung, Sketch
from acidtest.question.text import Draft, Line, Table

CACHE_MB = 128  # as of the question of durability: it holds all that is written
LIMIT = "p99 < 10 ms"
EACH = "The rate that is found is confirmed by so many fresh runs."


class HighestRate(Question):
    """Rates are offered, from a sketch of the whole curve down to the one that is confirmed: ``acidtest search``."""

    name: ClassVar[str] = "highest-rate"
    asks: ClassVar[str] = "What is the highest rate that keeps a limit of latency?"
    storages: ClassVar[tuple[StorageKind, ...]] = ("directory", "loop", "disk", "device")
    rungs: ClassVar[tuple[Rung, ...]] = (Rung(ENOUGH, STEADY_S),)
    scarce: ClassVar[tuple[Rung, ...]] = (Rung(ENOUGH, 2.0), Rung(3, 2.0), Rung(2, 2.0), Rung(1, 1.0))
    takes_sql: ClassVar[bool] = True
    command: ClassVar[str] = "search"

    def title(self, answers: Answers) -> str:
        return f"The highest rate of {listed(tuple(engine.id for engine in answers.engines))} under a limit of latency"

    def measurements(self, plan: Plan) -> int:
        return typical_runs(plan) * len(plan.combinations())

    def sketches(self, answers: Answers) -> Sequence[Sketch]:
        return [Sketch(partial(self._draft, answers, *size)) for size in parts.TPCB]

    def _draft(self, answers: Answers, scale: int, terminals: int, repetitions: int, seconds: float) -> Draft:
        limit = 'Also "p99.9 < 50 ms", "mean < 2 ms", or several joined by "and". acidtest search --limit says another.'
        return Draft(
            parts.opening(
                self,
                answers,
                parts.repetitions(repetitions, EACH),
                parts.at_drive(),
                parts.read_against({"engine": answers.engines[0].id}),
            ),
            (
                Table("factors", (parts.engines(answers), *parts.scripts(answers)), "One search for each."),
                Table("search", (Line("limit", LIMIT, limit),), "Latency counts from when a transaction was due."),
                *parts.workloads(answers, scale, terminals, seconds),
                *parts.caches(answers, CACHE_MB, terminals),
                *(parts.place(answers.storage, parts.filesystem(answers)) if answers.own else ()),
                *parts.servers(answers),
            ),
        )
