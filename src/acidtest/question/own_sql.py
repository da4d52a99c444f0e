"""How much of the user's own SQL does an engine do?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from acidtest.question import parts
from acidtest.question.answers import Answers, StorageKind, listed
from acidtest.question.base import Question, Sketch
from acidtest.question.text import Draft, Table

CACHE_MB = 128
TERMINALS = (4, 1)


class OwnSqlQuestion(Question):
    """A folder of SQL, or files over the tables of one; the folder is written where none is there."""

    name: ClassVar[str] = "own-sql"
    asks: ClassVar[str] = "How many transactions of my own SQL a second does it do?"
    storages: ClassVar[tuple[StorageKind, ...]] = ("directory", "loop", "disk", "device")
    of_sql: ClassVar[bool] = True
    takes_sql: ClassVar[bool] = True

    def title(self, answers: Answers) -> str:
        assert answers.sql is not None, "asked for by of_sql"
        return f"{listed(answers.sql.names)} on {listed(tuple(engine.id for engine in answers.engines))}"

    def sketches(self, answers: Answers) -> Sequence[Sketch]:
        return [Sketch(partial(self._draft, answers, terminals)) for terminals in TERMINALS]

    def _draft(self, answers: Answers, terminals: int, repetitions: int, seconds: float) -> Draft:
        return Draft(
            parts.opening(
                self,
                answers,
                parts.repetitions(repetitions),
                parts.at_drive(),
                parts.read_against({"engine": answers.engines[0].id}),
            ),
            (
                Table(
                    "factors",
                    (parts.engines(answers), *parts.scripts(answers)),
                    "Every combination of these levels is run.",
                ),
                *parts.workloads(answers, 1, terminals, seconds),
                *parts.caches(answers, CACHE_MB, terminals),
                *(parts.place(answers.storage, parts.filesystem(answers)) if answers.own else ()),
                *parts.servers(answers),
            ),
        )
