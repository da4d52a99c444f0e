"""The experiment that a diagnosis proposes next."""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import replace

from acidtest.analysis.diagnosis import Answer
from acidtest.cli import init_answers
from acidtest.cli.diagnosing.subject import Course
from acidtest.cli.experiment_file import assess
from acidtest.engine import catalogue
from acidtest.errors import AcidtestError
from acidtest.families import of_engine
from acidtest.journal.diagnosis import Cells, Next
from acidtest.keys import Scalar
from acidtest.question import QUESTIONS, InForce, Storage, fit

NEXT_TIME = "10m"
NEXT_QUESTIONS = {  # by the first bottleneck: a question of acidtest init, and why
    "the drive's flush": ("durability", "It shows what a commit costs at every durability level on this drive."),
    "the file system": ("file-system", "It compares file systems on the same drive."),
    "memory and cache": ("page-and-cache", "It shows what page size and page cache change."),
    "the configuration": ("page-and-cache", "It varies the first of these settings, one at a time."),
}
OTHERWISE = ("durability", "It shows how much of a commit is the wait for the drive.")


def next_of(course: Course, cells: Cells | None, answer: Answer) -> Next | None:
    first = next(
        (bottleneck.name for bottleneck in answer.bottlenecks if bottleneck.standing in ("likely", "possible")), ""
    )
    question_name, why = NEXT_QUESTIONS.get(first, OTHERWISE)
    if cells is None or course.place is None:
        return None
    question = QUESTIONS[question_name]
    kind = question.storages[0]
    storage = Storage(kind, (str(course.place.resolve()),))
    words = [str(course.place.resolve())] if kind == "directory" else [kind, str(course.place.resolve())]
    command = ["acidtest", "init", "next.toml", "--question", question_name, "--engine", cells.engine]
    in_force = found_of(cells)
    engines = init_answers.agreeing(init_answers.chosen([cells.engine]), in_force)
    if len(engines[0].levels) < 2:  # these settings belong to one level: nothing could be compared
        in_force, engines = None, init_answers.chosen([cells.engine])
    if question.takes_found and in_force is not None:
        demands = {**in_force.settings, "durability": in_force.level}
        command += [word for key, value in demands.items() for word in ("--found", f"{key}={_said(value)}")]
    else:
        in_force = None
    command += ["--storage", ",".join(words), "--time", NEXT_TIME, "--yes"]
    text = ""
    with suppress(AcidtestError):
        answers = init_answers.with_storage(engines if in_force else init_answers.chosen([cells.engine]), storage)
        answers = replace(answers, found=in_force, time=NEXT_TIME, file="next.toml", name="next")
        text = fit(question, answers, assess).text
    return Next(question=question_name, asks=question.asks, why=why, command=shlex.join(command), text=text)


def found_of(cells: Cells) -> InForce | None:
    """The settings that were found, which the cells ran with; None where none were."""
    name = next((setting for setting in cells.settings if setting == "found" or (len(cells.settings) == 1)), "")
    if not name:
        return None
    by_level = {key for key, spec in catalogue.find(cells.engine).setting_specs().items() if spec.by_level}
    held_there = cells.settings[name].items()
    kept = {key: value for key, value in held_there if key not in by_level and value is not None}
    held = InForce(kept, cells.levels[name])
    family = of_engine(cells.engine)
    cache = held.of(family.cache.setting) if family else None
    page = held.of(family.page_size) if family else None
    unit = (family.cache.unit_bytes if family else None) or page
    is_bounded = bool(cache and unit and cells.cache_bytes and cache * unit < cells.cache_bytes)
    return replace(held, is_bounded=is_bounded)


def _said(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
