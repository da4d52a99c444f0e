"""What a question is."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from acidtest.errors import BadInput
from acidtest.plan import Plan
from acidtest.plan.verdicts import shown_nothing
from acidtest.question import parts
from acidtest.question.answers import Answers, Chosen, Storage, StorageKind
from acidtest.question.parts import ENOUGH, STEADY_S
from acidtest.question.text import Draft, Line, Table
from acidtest.words import counted

EVERY = "Every combination of these levels is run."


@dataclass(frozen=True)
class Sketch:
    """An experiment of some breadth: ``draw`` gives it with so many repetitions of so many seconds each."""

    draw: Callable[[int, float], Draft]
    lasting: bool = True  # each measurement lasts as long as is asked; of power cuts none does
    least_s: float = 0.0  # which each measurement is worth making for, beside what the rung says


@dataclass(frozen=True)
class Rung:
    """So many repetitions, if each can be measured for so long; with None as many as a verdict needs."""

    repetitions: int | None
    least_s: float


class Question(ABC):
    """One of the questions that ``acidtest init`` makes an experiment of."""

    name: ClassVar[str]
    asks: ClassVar[str]  # as a user says it
    elsewhere: ClassVar[str] = ""  # what is near to it and asked in another way
    # Where it can be answered, the usual one first.
    storages: ClassVar[tuple[StorageKind, ...]] = ("directory", "loop", "disk", "device")
    # From the one that is wanted most to the one that will do; SCARCE is for too little time.
    rungs: ClassVar[tuple[Rung, ...]] = (Rung(10, 30.0), Rung(None, STEADY_S))
    scarce: ClassVar[tuple[Rung, ...]] = (Rung(None, 0.5), Rung(ENOUGH, 0.5), Rung(3, 0.5), Rung(2, 0.5), Rung(1, 0.5))
    no_servers: ClassVar[str] = ""  # why servers by URL cannot answer it; "": they can
    compares_directories: ClassVar[bool] = False
    compares_engines: ClassVar[bool] = False  # so that it takes two, of which the first is the base
    of_levels: ClassVar[bool] = False  # of what durability levels cost and lose
    of_sql: ClassVar[bool] = False  # of the user's own, which is asked for
    takes_found: ClassVar[bool] = False  # begins at the settings that are in force, where these are told
    takes_sql: ClassVar[bool] = False  # in place of its own workload, where some is given
    no_sql: ClassVar[str] = "has a workload of its own"  # why it does not
    command: ClassVar[str] = "run"

    def check(self, answers: Answers) -> None:
        """Raise BadInput for answers of which no experiment can be made."""
        self.check_engines(answers.engines)
        self.check_storage(answers)
        if answers.found is not None and not self.takes_found:
            raise BadInput(f"{self.name}: does not begin at settings that are in force", "leave --found out")
        if answers.found is not None and len(answers.engines) > 1:
            raise BadInput(f"{self.name}: settings that are in force are those of one engine", "name one --engine")

    def check_engines(self, engines: Sequence[Chosen]) -> None:
        """The part of ``check`` that needs no other answer."""
        servers = [engine.id for engine in engines if engine.url]
        if servers and self.no_servers:
            raise BadInput(f"{self.name}: {servers[0]}: {self.no_servers}", "name an engine that acidtest starts")
        if self.compares_engines and len(engines) < 2:
            raise BadInput(
                f"{self.name}: {engines[0].id} alone compares nothing",
                "name two, the one that the other is held against first",
            )

    def check_storage(self, answers: Answers) -> None:
        """The part of ``check`` that is about storage."""
        storage = answers.storage
        if storage.kind not in self.storages:
            raise BadInput(
                f"{self.name}: {'a device' if storage.kind == 'device' else storage.kind} cannot answer it",
                f"name {' or '.join('a directory' if kind == 'directory' else kind for kind in self.storages)}",
            )
        if len(storage.paths) > 1 and not self.compares_directories:
            raise BadInput(f"{self.name}: databases lie in one directory", "name one")
        if not answers.own and storage != Storage("directory"):
            raise BadInput(
                f"{self.name}: a server by URL keeps its databases where it has them", "leave the storage out"
            )
        if storage.kind != "directory" and not answers.filesystems:
            raise BadInput(
                f"{self.name}: no file system can be made on this machine",
                "acidtest doctor shows what is missing; or name a directory",
            )

    @abstractmethod
    def sketches(self, answers: Answers) -> Sequence[Sketch]:
        """Experiments that answer it, from the one that shows most to the one that takes least."""

    @abstractmethod
    def title(self, answers: Answers) -> str:
        """Of the experiment."""

    def commands(self, answers: Answers) -> list[str]:
        """What comes after the file was written and planned."""
        device = ["--use-device", answers.storage.device] if answers.storage.device else []
        return [shlex.join(["acidtest", self.command, answers.file, "--out", answers.out, *device])]

    def measurements(self, plan: Plan) -> int:
        """How many there are that last as long as is asked."""
        return sum(cell.workload.duration_s is not None for cell in plan.cells)

    def shortcomings(self, plan: Plan) -> list[str]:
        """What little time has left out, in sentences."""
        repetitions = plan.experiment.repetitions
        if repetitions >= ENOUGH:
            too_few = shown_nothing(plan)
            return [f"There is time for no more: {too_few}"] if too_few else []
        time = f"There is time for {counted(repetitions, 'repetition')}"
        return [f"{time}: below {ENOUGH} there are medians, no intervals and no verdicts."]

    def draft(
        self, answers: Answers, opening: Sequence[Line], factors: Sequence[Line], *tables: Table, said: str = EVERY
    ) -> Draft:
        """The experiment: its names, the keys that open it, engines and other factors, and tables."""
        names = (Line("name", answers.name), Line("title", self.title(answers)), Line("question", self.asks))
        table = Table("factors", (parts.engines(answers), *factors), said)
        return Draft((*names, *opening), (table, *tables))

    def heading(self, answers: Answers) -> tuple[str, ...]:
        """What stands above everything."""
        return (
            f"{self.asks} Written by acidtest init, to take {answers.time} at most.",
            "",
            *(f"   {command}" for command in [shlex.join(["acidtest", "plan", answers.file]), *self.commands(answers)]),
            "",
            "Every line may be changed: acidtest help KEY explains one, and acidtest plan shows what becomes of it.",
        )
