"""What a study is: its text's figures (``NAME/text.toml``), and what stands beside them (``NAME/study.toml``)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from acidtest.errors import BadInput, not_among

ROOM = Path(__file__).parent
ROOT = ROOM.parent
Command = Literal["run", "powercut"]
Kind = Literal[
    "recovery", "crash-states", "lost-states", "omission", "forecasts", "tables", "indexes"
]  # of a table that a report has already


class Part(BaseModel):
    """A table of a study's file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Published(Part):
    """Figures of the text, typed: a row's name -> one figure for each column."""

    place: str  # where in the text
    unit: str
    columns: list[str]
    rows: dict[str, list[float | str]]  # of our level where one means the same


class Experiment(Part):
    """What is run for a study. Its recordings are kept under the name that it has in the study."""

    file: str  # below the repository
    quick: bool = False  # at its small size
    commands: list[Command] = ["run"]
    cuts: int | None = None  # of each combination; None: as many as the experiment has repetitions
    full: str = ""  # the experiment of full size, shipped beside it

    def command(self, what: Command, out: str = "DIR") -> list[str]:
        """What is typed to run it."""
        quick = ["--quick"] if self.quick else []
        cuts = ["--cuts", str(self.cuts)] if what == "powercut" and self.cuts is not None else []
        return ["acidtest", what, self.file, *quick, *cuts, "--out", out]


class DiskTest(Part):
    """What ``acidtest probe --disk-test`` measures for a study, on this machine's storage."""

    seconds: float = 60
    size_mb: int = 1024

    def command(self, directory: str = "DIR", out: str = "OUT") -> list[str]:
        """What is typed to run it."""
        size = ["--seconds", f"{self.seconds:g}", "--size-mb", str(self.size_mb)]
        return ["acidtest", "probe", directory, "--disk-test", *size, "--out", out]


class Ours(Part):
    """Figures of ours: rows and columns are factors of the experiment, of rows that have the levels of ``where``."""

    experiment: str
    title: str = ""
    figures: list[str]  # names of studies/figures.py
    rows: str
    columns: str = ""
    where: dict[str, str | list[str]] = {}
    labels: dict[str, str] = {}  # level -> what it is called here


class Report(Part):
    """A table of an experiment's own report."""

    experiment: str
    kind: Kind
    title: str = ""


class Picture(Part):
    """A chart that ``acidtest report`` draws of the rows that have the levels of ``where``."""

    experiment: str
    chart: str = "bars"  # as the page of a run names its charts, without the table's number
    workload: str = ""  # of several
    where: dict[str, str | list[str]] = {}
    says: str  # what is to be seen


class Table(Part):
    """One table or figure of the text, or one of ours that no text has."""

    name: str  # the row in docs/studies/README.md
    place: str = ""  # where in the text, of a table without typed figures
    theirs: str = ""  # its name in text.toml
    ours: list[Ours] = []
    report: list[Report] = []
    disk_test: str = ""  # one of the study's
    picture: Picture | None = None
    cannot: str = ""  # why it cannot be had here
    elsewhere: str = ""  # a document of docs/ that has it, and what it says of it in a few words
    came_out: str = ""  # "reproduced", "differs: …", in a few words
    says: str = ""  # what agrees, what does not, and why

    @property
    def used(self) -> list[str]:
        """The experiments of which it shows something, each once."""
        shown = [*(our.experiment for our in self.ours), *(one.experiment for one in self.report)]
        return [*dict.fromkeys([*shown, *([self.picture.experiment] if self.picture else [])])]


class Study(Part):
    """One text and what came out here; or what no text has."""

    title: str
    text: str = ""  # its name, author and year
    answer: str
    without: str  # what is said in its place as long as it cannot be told
    line: str = ""  # the same in one line, for docs/studies/README.md
    line_without: str = ""
    picture: Picture | None = None
    labels: dict[str, str] = {}  # of all tables: level -> what it is called here
    experiments: dict[str, Experiment] = {}
    disk_tests: dict[str, DiskTest] = {}
    tables: list[Table] = Field(min_length=1)


class Held(BaseModel):
    """A study with its text."""

    name: str
    study: Study
    text: dict[str, Published]


def names() -> list[str]:
    """Of all studies, in the order of their texts' years; last the one that has no text."""
    order = (
        "innodb-commit",
        "linux-file-systems",
        "firebird-windows-file-cache",
        "firebird-growth",
        "wrong-firebird-benchmark",
        "firsts",
    )
    assert {path.parent.name for path in ROOM.glob("*/study.toml")} == {*order}
    return list(order)


def read(name: str) -> Held:
    """The study of that name. Raises BadInput where its files are wrong."""
    if name not in names():
        raise BadInput(not_among("study", name, names()))
    held = Held(name=name, study=_read(ROOM / name / "study.toml", Study), text=_texts(ROOM / name / "text.toml"))
    for table in held.study.tables:
        _check(held, table)
    for one in (held.study.picture, *(table.picture for table in held.study.tables)):
        if one:
            _known(held, "picture", "experiment", one.experiment, held.study.experiments)
    return held


def _check(held: Held, table: Table) -> None:
    if table.theirs:
        _known(held, table.name, "theirs", table.theirs, held.text)
    for experiment in table.used:
        _known(held, table.name, "experiment", experiment, held.study.experiments)
    if table.disk_test:
        _known(held, table.name, "disk_test", table.disk_test, held.study.disk_tests)
    if held.study.text and not (table.place or table.theirs):
        raise BadInput(f"{held.name}: {table.name}: has no place in the text", "give it place, or theirs")
    if not (table.ours or table.report or table.picture or table.disk_test or table.cannot or table.elsewhere):
        why = "give it ours, report, picture, disk_test, cannot or elsewhere"
        raise BadInput(f"{held.name}: {table.name}: has nothing of ours", why)


def _known(held: Held, where: str, key: str, name: str, among: Mapping[str, object]) -> None:
    if name not in among:
        raise BadInput(f"{held.name}: {where}: {not_among(key, name, list(among))}")


def _read(path: Path, kind: type[Study]) -> Study:
    try:
        return kind.model_validate(_toml(path))
    except ValidationError as error:
        raise BadInput(f"{path}: {_where(error)}") from None


def _texts(path: Path) -> dict[str, Published]:
    found: dict[str, Published] = {}
    for name, fields in (_toml(path) if path.exists() else {}).items():
        try:
            one = found[name] = Published.model_validate(fields)
        except ValidationError as error:
            raise BadInput(f"{path}: {name}: {_where(error)}") from None
        for row, figures in one.rows.items():
            if len(figures) != len(one.columns):
                raise BadInput(f"{path}: {name}: {row} has {len(figures)} figures for {len(one.columns)} columns")
    return found


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: {error}") from None


def _where(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"


def fits(levels: Mapping[str, str], where: Mapping[str, str | Sequence[str]]) -> bool:
    """Whether a row's levels are those that are asked for."""
    return all(levels.get(f) in ([want] if isinstance(want, str) else want) for f, want in where.items())
