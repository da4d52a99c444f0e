"""From a question to an experiment, as text: one module a question. Nothing of the machine is asked here."""

from acidtest.question.answers import Answers, Chosen, InForce, OwnSql, Storage, StorageKind
from acidtest.question.base import ENOUGH, Question
from acidtest.question.fitting import Assessed, Fitted, fit
from acidtest.question.registry import QUESTIONS
from acidtest.question.text import toml

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
