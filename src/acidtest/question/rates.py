"""Questions about the rates of engines on one storage: the fastest, the highest rate, one's own SQL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import ClassVar

from acidtest.plan import Plan
from acidtest.plan.search import typical_runs
from acidtest.question import parts
from acidtest.question.answers import Answers, listed
from acidtest.question.base import Question, Rung, Sketch
from acidtest.question.parts import ENOUGH, STEADY_S, TPCB
from acidtest.question.text import Draft, Line, Table

CACHE_MB = 128  # it holds all that is written
BUILDS_CACHE_MB = 256
TERMINALS = (4, 1)
LIMIT = "p99 < 10 ms"


class Build(Question):
    """The first engine is the base. Many repetitions find small differences."""

    name: ClassVar[str] = "build"
    asks: ClassVar[str] = "Is this build or version slower than that one?"
    compares_engines: ClassVar[bool] = True
    takes_sql: ClassVar[bool] = True
    rungs: ClassVar[tuple[Rung, ...]] = (Rung(15, STEADY_S), Rung(10, STEADY_S), Rung(None, STEADY_S))

    def title(self, answers: Answers) -> str:
        first, *others = (engine.id for engine in answers.engines)
        return f"{listed(tuple(others))} beside {first}"

    def sketches(self, answers: Answers) -> Sequence[Sketch]:
        # A server by URL has the one level that it is set to.
        levels = self.breadths(answers) if not answers.servers else [parts.LEVELS[-1:]]
        breadths = [*product(levels, TPCB[:2]), (levels[-1], TPCB[2])]
        return [Sketch(partial(self._draft, answers, some, *size)) for some, size in breadths]

    def breadths(self, answers: Answers) -> Sequence[Sequence[str]]:
        """The durability levels, from all of them to those that will do."""
        return [("os", "drive")]  # at drive alone the wait for the flush may hide what the engine itself does

    def levels_said(self, answers: Answers, levels: Sequence[str]) -> str:
        """The comment at the durability levels."""
        return (
            "drive: as in production, where nearly all of a commit may be the wait for the flush, so that a slower "
            "build hardly shows. os: without that wait, where the engine's own work shows."
        )

    def _draft(
        self, answers: Answers, levels: Sequence[str], scale: int, terminals: int, repetitions: int, seconds: float
    ) -> Draft:
        said = self.levels_said(answers, levels)
        if answers.servers:
            said = (
                "Of a server a demand: nothing is run where the server does not have it. Where nearly all of a commit "
                "is the wait for the flush, a server that is slower by itself hardly shows."
            )
        return self.draft(
            answers,
            (parts.repetitions(repetitions), parts.read_against({"engine": answers.engines[0].id})),
            (Line("durability", levels, said), *parts.scripts(answers)),
            *parts.lacking(answers, levels),
            *parts.rates(answers, BUILDS_CACHE_MB, scale, terminals, seconds),
        )


class Engine(Build):
    """The engines beside the first one, at each durability level that two of them have."""

    name: ClassVar[str] = "engine"
    asks: ClassVar[str] = "Which engine is the fastest at equal durability?"
    rungs: ClassVar[tuple[Rung, ...]] = Question.rungs

    def breadths(self, answers: Answers) -> Sequence[Sequence[str]]:
        compared = [level for level in parts.LEVELS if sum(level in engine.levels for engine in answers.engines) > 1]
        return [compared, compared[-2:], compared[-1:]]

    def levels_said(self, answers: Answers, levels: Sequence[str]) -> str:
        return parts.levels_said(answers, levels)


class HighestRate(Question):
    """Rates are offered, from a sketch of the whole curve down to the one that is confirmed: ``acidtest search``."""

    name: ClassVar[str] = "highest-rate"
    asks: ClassVar[str] = "What is the highest rate that keeps a limit of latency?"
    rungs: ClassVar[tuple[Rung, ...]] = (Rung(ENOUGH, STEADY_S),)
    scarce: ClassVar[tuple[Rung, ...]] = (Rung(ENOUGH, 2.0), Rung(3, 2.0), Rung(2, 2.0), Rung(1, 1.0))
    takes_sql: ClassVar[bool] = True
    command: ClassVar[str] = "search"

    def title(self, answers: Answers) -> str:
        return f"The highest rate of {answers.engine_names} under a limit of latency"

    def measurements(self, plan: Plan) -> int:
        return typical_runs(plan) * len(plan.combinations())

    def sketches(self, answers: Answers) -> Sequence[Sketch]:
        return [Sketch(partial(self._draft, answers, *size)) for size in TPCB]

    def _draft(self, answers: Answers, scale: int, terminals: int, repetitions: int, seconds: float) -> Draft:
        limit = 'Also "p99.9 < 50 ms", "mean < 2 ms", or several joined by "and". acidtest search --limit says another.'
        return self.draft(
            answers,
            (
                parts.repetitions(repetitions, "The rate that is found is confirmed by so many fresh runs."),
                parts.at_drive(),
                parts.read_against({"engine": answers.engines[0].id}),
            ),
            parts.scripts(answers),
            Table("search", (Line("limit", LIMIT, limit),), "Latency counts from when a transaction was due."),
            *parts.rates(answers, CACHE_MB, scale, terminals, seconds),
            said="One search for each.",
        )


class OwnSqlQuestion(Question):
    """A folder of SQL, or files over the tables of one; the folder is written where none is there."""

    name: ClassVar[str] = "own-sql"
    asks: ClassVar[str] = "How many transactions of my own SQL a second does it do?"
    of_sql: ClassVar[bool] = True
    takes_sql: ClassVar[bool] = True

    def title(self, answers: Answers) -> str:
        assert answers.sql is not None, "asked for by of_sql"
        return f"{listed(answers.sql.names)} on {answers.engine_names}"

    def sketches(self, answers: Answers) -> Sequence[Sketch]:
        return [Sketch(partial(self._draft, answers, terminals)) for terminals in TERMINALS]

    def _draft(self, answers: Answers, terminals: int, repetitions: int, seconds: float) -> Draft:
        return self.draft(
            answers,
            (
                parts.repetitions(repetitions),
                parts.at_drive(),
                parts.read_against({"engine": answers.engines[0].id}),
            ),
            parts.scripts(answers),
            *parts.rates(answers, CACHE_MB, 1, terminals, seconds),
        )
