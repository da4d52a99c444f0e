"""Takes a question's sketches to the experiment that fits into the time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from acidtest.errors import BadInput
from acidtest.plan import Plan
from acidtest.plan.verdicts import repetitions_for_verdicts
from acidtest.question.answers import Answers
from acidtest.question.base import Question, Rung, Sketch
from acidtest.question.parts import STEADY_S, WARM_UP

LONGEST_S = 60.0  # a measurement: beyond, more repetitions tell more
STEP_S = 0.5


@dataclass(frozen=True)
class Assessed:
    """An experiment's plan and the seconds that it is assumed to take."""

    plan: Plan
    seconds: float


@dataclass(frozen=True)
class Fitted:
    """The experiment that is written."""

    text: str
    plan: Plan
    seconds: float


Assess = Callable[[str], Assessed]


def fit(question: Question, answers: Answers, assess: Assess) -> Fitted:
    """The experiment that answers ``question`` best within the time.

    ``assess`` reads and plans a text. Breadth goes first, then repetitions above those that an interval and a verdict
    need; below these only what asks least, if even that takes too long. Raises BadInput where no experiment can be made
    of the answers, or none in so little time.
    """
    question.check(answers)
    search = _Search(question, answers, assess)
    sketches = question.sketches(answers)
    for sketch in sketches:
        for rung in question.rungs:
            if fitted := search.on(sketch, rung):
                return fitted
    for rung in question.scarce:
        if fitted := search.on(sketches[-1], rung):
            return fitted
    least = search.at(sketches[-1], question.scarce[-1].repetitions or 1, question.scarce[-1].least_s)
    raise BadInput(
        f"{question.name}: takes at least {_time(least.seconds)}, and {answers.time} was asked for",
        f"--time {_time(least.seconds)}, or fewer engines",
    )


class _Search:
    def __init__(self, question: Question, answers: Answers, assess: Assess) -> None:
        self._question, self._answers, self._assess = question, answers, assess

    def at(self, sketch: Sketch, repetitions: int, seconds: float) -> Fitted:
        text = sketch.draw(repetitions, seconds).text(self._question.heading(self._answers))
        assessed = self._assess(text)
        return Fitted(text, assessed.plan, assessed.seconds)

    def on(self, sketch: Sketch, rung: Rung) -> Fitted | None:
        """The sketch with so many repetitions, as long as the time allows; None where that is too short."""
        repetitions, least_s = rung.repetitions, max(rung.least_s, sketch.least_s)
        if repetitions is None:
            repetitions = repetitions_for_verdicts(self.at(sketch, 1, least_s).plan)
        shortest = self.at(sketch, repetitions, least_s)
        spare = self._answers.seconds - shortest.seconds
        if spare < 0:
            return None
        if not sketch.lasting:
            return shortest
        lasting = self._question.measurements(shortest.plan)
        length = min(LONGEST_S, least_s + spare / lasting / (1 + WARM_UP))
        step = 1.0 if length >= STEADY_S else STEP_S
        return self.at(sketch, repetitions, math.floor(length / step) * step)


def _time(seconds: float) -> str:
    """Rounded up, as --time takes it."""
    return f"{math.ceil(seconds)}s" if seconds < 120 else f"{math.ceil(seconds / 60)}m"
