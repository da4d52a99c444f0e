"""Which file system is the fastest?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from acidtest.errors import BadInput
from acidtest.experiment.places import RAW
from acidtest.names import SHOWN
from acidtest.question import parts
from acidtest.question.answers import Answers, StorageKind, listed
from acidtest.question.base import Question, Sketch
from acidtest.question.parts import TPCB
from acidtest.question.text import Draft, Line, Table, Value

FEW = (3, 2)  # file systems, where the time does not allow all
CACHE_MB = 64


class FileSystem(Question):
    """File systems made for each cell; or, without root, directories that lie on different ones."""

    name: ClassVar[str] = "file-system"
    asks: ClassVar[str] = "Which file system is the fastest?"
    storages: ClassVar[tuple[StorageKind, ...]] = ("loop", "directory", "disk", "device")
    no_servers: ClassVar[str] = "a server by URL keeps its databases where it has them"
    compares_directories: ClassVar[bool] = True
    takes_sql: ClassVar[bool] = True

    def title(self, answers: Answers) -> str:
        return f"Which file system for {answers.engine_names}"

    def check_storage(self, answers: Answers) -> None:
        super().check_storage(answers)
        if len(_levels(answers)) < 2:
            raise BadInput(
                f"{self.name}: {_levels(answers)[0]} alone compares nothing",
                "name directories on different file systems; or loop, where acidtest makes several of them (as root)",
            )

    def sketches(self, answers: Answers) -> Sequence[Sketch]:
        levels = _levels(answers)
        counts = [len(levels)]
        if answers.storage.kind != "directory":
            counts += [few for few in FEW if few < len(levels)]
        breadths = [(levels[:count], *TPCB[0]) for count in counts]
        breadths += [(levels[: counts[-1]], *size) for size in TPCB[1:]]
        return [Sketch(partial(self._draft, answers, *breadth)) for breadth in breadths]

    def _draft(
        self, answers: Answers, levels: Sequence[str], scale: int, terminals: int, repetitions: int, seconds: float
    ) -> Draft:
        factor, place = _varied(answers, levels)
        first = factor.value[0]  # type: ignore[index]
        return self.draft(
            answers,
            (parts.repetitions(repetitions), parts.read_against({factor.key: _name(first)}), parts.at_drive()),
            (factor, *parts.scripts(answers), *_options(answers)),
            *parts.workloads(answers, scale, terminals, seconds),
            *parts.caches(answers, CACHE_MB, terminals),
            *place,
        )


def _levels(answers: Answers) -> tuple[str, ...]:
    """The directories, or the file systems that can be made."""
    if answers.storage.kind == "directory":
        return answers.storage.paths or (".",)
    raw = (RAW,) if all(engine.on_raw_device for engine in answers.engines) else ()
    return (*answers.filesystems, *raw)


def _varied(answers: Answers, levels: Sequence[str]) -> tuple[Line, tuple[Table, ...]]:
    """The factor, and the table of the place beside it."""
    storage = answers.storage
    left = [level for level in _levels(answers) if level not in levels]
    more = f"More, where there is time: {listed(tuple(left))}." if left else ""
    if storage.kind == "directory":
        named = [path if not SHOWN.complaint(path) else f"directory {n}" for n, path in enumerate(levels, start=1)]
        paths: list[Value] = [
            {"name": name, "set": {"place.path": path}} for name, path in zip(named, levels, strict=True)
        ]
        return Line("directory", paths, "Each on the file system that is there."), ()
    if RAW not in levels or storage.kind == "disk":
        return Line("place.filesystem", list(levels), more), parts.place(storage, None)
    made: list[Value] = [
        {"name": level, "set": {"place.kind": storage.kind, "place.filesystem": level}}
        for level in levels
        if level != RAW
    ]
    raw: Value = {"name": RAW, "set": {"place.kind": RAW}}
    text = "On raw there is no file system: the database is the block device."
    return Line("filesystem", [*made, raw], f"{text} {more}".strip()), parts.place(storage, None, fixed=False)


def _options(answers: Answers) -> tuple[Line, ...]:
    """What else may be varied of a file system that is made."""
    if answers.storage.kind == "directory":
        return ()
    return (Line("place.mount", ["defaults", "noatime"], "Mount options, as one more factor.", offered=True),)


def _name(level: Value) -> str:
    return str(level["name"]) if isinstance(level, dict) else str(level)
