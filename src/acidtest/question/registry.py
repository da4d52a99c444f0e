"""The questions, in the order in which they are offered."""

from __future__ import annotations

from collections.abc import Mapping

from acidtest.question.base import Question
from acidtest.question.build import Build
from acidtest.question.durability import Durability
from acidtest.question.engine import Engine
from acidtest.question.file_system import FileSystem
from acidtest.question.growth import Growth
from acidtest.question.highest_rate import HighestRate
from acidtest.question.own_sql import OwnSqlQuestion
from acidtest.question.page_and_cache import PageAndCache
from acidtest.question.power_cut import PowerCut

QUESTIONS: Mapping[str, Question] = {
    question.name: question
    for question in (
        Engine(),
        FileSystem(),
        Durability(),
        PageAndCache(),
        Build(),
        Growth(),
        HighestRate(),
        OwnSqlQuestion(),
        PowerCut(),
    )
}
