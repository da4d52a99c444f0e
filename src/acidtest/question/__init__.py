"""From a question to an experiment, as text. Nothing of the machine is asked here."""

from collections.abc import Mapping

from acidtest.question.answers import Answers, Chosen, InForce, OwnSql, Storage, StorageKind
from acidtest.question.base import Question
from acidtest.question.durability import Durability
from acidtest.question.file_system import FileSystem
from acidtest.question.fitting import Assessed, Fitted, fit
from acidtest.question.growth import Growth
from acidtest.question.page_and_cache import PageAndCache
from acidtest.question.parts import ENOUGH
from acidtest.question.power_cut import PowerCut
from acidtest.question.rates import Build, Engine, HighestRate, OwnSqlQuestion
from acidtest.question.text import toml

# In the order in which they are offered.
QUESTIONS: Mapping[str, Question] = {
    question.name: question
    for question in (
        Engine(), FileSystem(), Durability(), PageAndCache(), Build(), Growth(), HighestRate(), OwnSqlQuestion(),
        PowerCut(),
    )
}  # fmt: skip

__all__ = [
    "ENOUGH",
    "QUESTIONS",
    "Answers",
    "Assessed",
    "Chosen",
    "Fitted",
    "InForce",
    "OwnSql",
    "Question",
    "Storage",
    "StorageKind",
    "fit",
    "toml",
]
