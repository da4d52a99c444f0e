"""How much of the user's own SQL does an engine do?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from acidtest.question import parts
from acidtest.question.answers import Answers, OwnSql, StorageKind, listed
from acidtest.question.base import Question, Sketch
from acidtest.question.text import Draft, Line, Table, Value

CACHE_MB = 128
TERMINALS = (4, 1)


class OwnSqlQuestion(Question):
    """A folder of SQL, or files over the tables of one; the folder is written where none is there."""

    name: ClassVar[str] = "own-sql"
    asks: ClassVar[str] = "How many transactions of my own SQL a second does it do?"
    storages: ClassVar[tuple[StorageKind, ...]] = ("directory", "loop", "disk", "device")
    of_sql: ClassVar[bool] = True

    def title(self, answers: Answers) -> str:
        what = listed(tuple(self._own(answers).names))
        return f"{what} on {listed(tuple(engine.id for engine in answers.engines))}"

    def sketches(self, answers: Answers) -> Sequence[Sketch]:
        return [Sketch(partial(self._draft, answers, terminals)) for terminals in TERMINALS]

    @staticmethod
    def _own(answers: Answers) -> OwnSql:
        assert answers.sql is not None, "asked for by of_sql"
        return answers.sql

    def _draft(self, answers: Answers, terminals: int, repetitions: int, seconds: float) -> Draft:
        own = self._own(answers)
        factors = [parts.engines(answers)]
        base: dict[str, str] = {"engine": answers.engines[0].id}
        if len(own.names) > 1:
            factors.append(Line("workload", list(own.names), "Each of your scripts has rows of its own."))
            base["workload"] = own.names[0]
        return Draft(
            parts.opening(self, answers, parts.repetitions(repetitions), parts.at_drive(), parts.read_against(base)),
            (
                Table("factors", tuple(factors), "Every combination of these levels is run."),
                *(
                    self._workload(own, name, path, terminals, seconds, first=not position)
                    for position, (name, path) in enumerate(zip(own.names, own.paths, strict=True))
                ),
                *parts.caches(answers, CACHE_MB, terminals),
                *(parts.place(answers.storage, parts.filesystem(answers)) if answers.own else ()),
                *parts.servers(answers),
            ),
        )

    @staticmethod
    def _workload(own: OwnSql, name: str, path: str, terminals: int, seconds: float, *, first: bool) -> Table:
        where = "It begins at the directory of this file."
        lines = [Line("kind", "sql"), Line("path", path, where if first else "")]
        if own.database:
            lines.append(
                Line(
                    "database",
                    own.database,
                    "The tables, rows and conditions are those of this folder." if first else "",
                )
            )
        variables: dict[str, Value] = dict(own.variables)
        if variables:
            lines.append(
                Line("variables", variables, "In place of what workload.toml says." if first else "", offered=True)
            )
        lines.append(Line("terminals", terminals, "Clients at once." if first else ""))
        return Table(
            f"workload.{name}",
            (*lines, *parts.measured(seconds)),
            "Your SQL; docs/YOUR-WORKLOAD.md tells how the folder works." if first else "",
        )
