"""Which engine is the fastest at equal durability?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from acidtest.question import parts
from acidtest.question.answers import Answers
from acidtest.question.base import Question, Rung
from acidtest.question.build import Build


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
