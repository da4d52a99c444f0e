"""What does a durability level cost?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from acidtest.question import parts
from acidtest.question.answers import Answers
from acidtest.question.base import Question, Sketch
from acidtest.question.parts import LEVELS
from acidtest.question.text import Draft, Line, Table

# A page cache that holds all that is written.
CACHE_MB = 128
CUTS = 200  # commits, on one of which a power cut falls


class Durability(Question):
    """Commits and nothing else, at every level; on a simulated disk also what each level loses."""

    name: ClassVar[str] = "durability"
    asks: ClassVar[str] = "What does a durability level cost?"
    takes_found: ClassVar[bool] = True
    of_levels: ClassVar[bool] = True
    no_servers: ClassVar[str] = "acidtest changes nothing on a server of yours, and a level is made of its settings"

    def title(self, answers: Answers) -> str:
        return f"What a durability level costs on {answers.engine_names}"

    def commands(self, answers: Answers) -> list[str]:
        run = super().commands(answers)
        return [*run, run[0].replace("acidtest run", "acidtest powercut", 1)] if _is_cut(answers) else run

    def sketches(self, answers: Answers) -> Sequence[Sketch]:
        found = (answers.found.level,) if answers.found else ()
        few = tuple(level for level in LEVELS if level in (*parts.shared(answers)[-2:], *found))
        breadths = dict.fromkeys([(LEVELS, (1, 8)), (LEVELS, (1,)), (few, (1,))])
        return [Sketch(partial(self._draft, answers, *breadth)) for breadth in breadths]

    def _draft(
        self, answers: Answers, wanted: Sequence[str], terminals: Sequence[int], repetitions: int, seconds: float
    ) -> Draft:
        levels = parts.durabilities(answers, wanted)
        base = answers.found.level if answers.found else "drive"
        commits = (*parts.measured(seconds), Line("row_bytes", 100, "Text in each row.", offered=True))
        return self.draft(
            answers,
            (parts.repetitions(repetitions), parts.read_against({"durability": base})),
            (
                Line("durability", levels, parts.levels_said(answers, levels)),
                Line("terminals", terminals, "Clients at once: commits that wait at the same time may share a flush."),
            ),
            *parts.lacking(answers, levels),
            Table("workload.commits", commits, "Each transaction is one insert and one commit."),
            *_cut(answers),
            *parts.caches(answers, CACHE_MB, max(terminals)),
            *parts.place(answers.storage, parts.filesystem(answers)),
        )


def _is_cut(answers: Answers) -> bool:
    return answers.storage.kind == "disk"


def _cut(answers: Answers) -> tuple[Table, ...]:
    if not _is_cut(answers):
        return ()
    text = "For acidtest powercut, which says what each level loses: a cut falls on one of the first commits."
    return (Table("workload.numbered", (Line("count", CUTS),), text),)
