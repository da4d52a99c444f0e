"""The experiment that a diagnosis proposes next."""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import replace

from acidtest.analysis.diagnosis import Answer
from acidtest.cli import answering
from acidtest.cli.diagnosing.course import Course
from acidtest.cli.writing import assess
from acidtest.errors import AcidtestError
from acidtest.journal.diagnosis import Cells, Next
from acidtest.question import QUESTIONS, Storage, fit

NEXT_TIME = "10m"
NEXT_QUESTIONS = {  # by the first bottleneck: a question of acidtest init, and why
    "the drive's flush": ("durability", "It shows what a commit costs at every durability level on this drive."),
    "the file system": ("file-system", "It compares file systems on the same drive."),
    "memory and cache": ("page-and-cache", "It shows what page size and page cache change."),
    "the configuration": ("page-and-cache", "It varies the first of these settings, one at a time."),
}
OTHERWISE = ("durability", "It shows how much of a commit is the wait for the drive.")


def next_of(course: Course, cells: Cells | None, answer: Answer) -> Next | None:
    first = next((one.name for one in answer.bottlenecks if one.standing in ("likely", "possible")), "")
    name, why = NEXT_QUESTIONS.get(first, OTHERWISE)
    if cells is None or course.place is None:
        return None
    question = QUESTIONS[name]
    kind = question.storages[0]
    storage = Storage(kind, (str(course.place.resolve()),))
    words = [str(course.place.resolve())] if kind == "directory" else [kind, str(course.place.resolve())]
    command = ["acidtest", "init", "next.toml", "--question", name, "--engine", cells.engine]
    command += ["--storage", ",".join(words), "--time", NEXT_TIME, "--yes"]
    text = ""
    with suppress(AcidtestError):
        answers = answering.with_storage(answering.chosen([cells.engine]), storage)
        text = fit(question, replace(answers, time=NEXT_TIME, file="next.toml", name="next"), assess).text
    return Next(question=name, asks=question.asks, why=why, command=shlex.join(command), text=text)
