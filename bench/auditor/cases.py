"""What an expert says of a benchmark of other people: one TOML file each, written before the auditor ran on it."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from acidtest.errors import BadInput
from acidtest.finding import Severity

HALVES = ("developed", "untouched")
# What a demand rests on: what programs wrote and the kit declares, or something that only a sentence, an image or the
# logic of a program says, which the auditor does not read.
Basis = Literal["data", "prose"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Demand(_Strict):
    """What the auditor must say."""

    rule: str
    basis: Basis
    severity: Severity
    where: list[
        str
    ] = []  # "file", "file:line" or a folder; one of them must be in the evidence. None: anything will do
    why: str
    also: list[str] = []  # other rules that say the same

    @property
    def rules(self) -> list[str]:
        one_note = ["not-disclosed"] if self.rule.endswith("-undisclosed") else []  # says what several rules said
        return [self.rule, *self.also, *one_note]


class Accepted(_Strict):
    """What the auditor may say, and the expert did not ask for."""

    rule: str
    severity: Severity = "invalid"  # the worst that is accepted
    where: list[str] = []  # where it must be; none: anywhere
    why: str


class Refused(_Strict):
    """What would be false as ``invalid`` or ``doubtful``."""

    rule: str
    where: list[str] = []  # where it is false; none: anywhere
    why: str


class Facts(_Strict):
    """What must be understood of the kit."""

    engines: list[str] = []
    tools: list[str] = []
    results: list[str] = []  # files that hold figures
    settings: list[str] = []  # "file:line name = value", some of those in force
    not_understandable: list[str] = []  # files with figures of which nobody could tell what they are


class Case(_Strict):
    """One benchmark."""

    repository: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    path: str = ""  # the folder that is audited
    only: list[str] = []  # files and folders in it, if not all
    about: str
    careful: bool = False
    demand: list[Demand] = []
    not_: Annotated[list[Refused], Field(alias="not")] = []
    accept: list[Accepted] = []
    facts: Facts = Facts()


def read(directory: Path) -> dict[str, Case]:
    """The cases of a half by name. Raises BadInput for what is none."""
    return {file.stem: _case(file) for file in sorted(directory.glob("*.toml"))}


def _case(file: Path) -> Case:
    try:
        return Case.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{file}: {error}", "mend the file") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise BadInput(f"{file}: {key}: {first['msg']}", "bench/auditor/cases.py has the keys") from None


_LINES = re.compile(r":[\d, -]+$")


def file_of(where: str) -> str:
    """The file of "a/my.cnf:3"."""
    return _LINES.sub("", where).rstrip("/")


def is_at(file: str, wheres: list[str]) -> bool:
    """Whether a file is one of those named, or below a folder that is."""
    named = [file_of(where) for where in wheres]
    return any(file == one or file.startswith(f"{one}/") or ("*" in one and fnmatchcase(file, one)) for one in named)
