"""What ``acidtest diagnose`` keeps beside its probe and its run: what it found without measuring, and what it left out.

What follows from it is worked out when it is shown (``acidtest.analysis.diagnosis``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from acidtest.journal import document
from acidtest.journal.models import Machine, PlaceFacts, Record, Scalar
from acidtest.journal.probe import Layer

NAME = "diagnosis.json"
FORMAT = 1
DURABLE = "found-durable"  # the settings that were found, but for those that give durability away
REFERENCE = "reference"  # how the configuration begins that others are compared with; in older ones it is "sane"


def is_reference(configuration: str) -> bool:
    """Whether a level of the factor ``configuration`` is the one that others are compared with."""
    return configuration.startswith(REFERENCE) or configuration == "sane"


class Doubt(Record):
    """One thing that ``acidtest doctor`` does not call ok."""

    what: str
    state: str
    detail: str
    remedy: str = ""


class NotLooked(Record):
    """A part of the diagnosis that was not made."""

    what: str  # "the storage beneath the database"
    why: str


class Database(Record):
    """The database in question, as its first page or its address says."""

    where: str  # a path, or a URL without its password
    family: str  # "firebird"
    version: str  # of its format: "on-disk structure 13.1, of Firebird 5.0"; "" where nothing says
    bytes: int | None  # with its logs; None of a server
    facts: dict[str, Scalar] = Field(
        default_factory=dict
    )  # settings that it carries itself, by our names: {"page_size": 8192}


class FoundSetting(Record):
    """One setting that was found, and how the cells have it."""

    name: str  # as its manual writes it
    value: str
    at: str  # "my.cnf:12"
    overridden: list[str] = Field(default_factory=list)  # where else it is set, without effect
    ours: str = ""  # the setting of acidtest that it became: "innodb_buffer_pool_mb = 8192"
    why_not: str = ""  # why it became none


class Logged(Record):
    """One kind of message in the engine's log."""

    kind: str  # as of ``acidtest.audit.bench.LogEntry``
    text: str
    count: int
    at: str  # "postgresql.log:812", of the first


class Audited(Record):
    """A directory with a configuration and logs."""

    directory: str
    engine: str  # the product, as its files name it; "" where none was understood
    version: str
    settings: list[FoundSetting]
    findings: list[dict[str, Any]]  # as ``acidtest audit --json`` has them
    log: list[Logged] = Field(default_factory=list)
    read: int  # files
    not_read: list[str]  # what was not understood, one line each
    unchecked: list[str]


class Inside(Record):
    """What an inspection of the database says is unusual in it."""

    findings: list[str]  # whole sentences; none where nothing is unusual
    severe: dict[str, str] = Field(default_factory=dict)  # of those what is severe, one sentence each by its name
    # Of the findings those that are about safety and cost no time; none in older ones.
    safety: list[str] = Field(default_factory=list)
    looked_at: str  # version of the engine or of the format, as the inspection has it
    notes: list[str] = Field(default_factory=list)  # what a reader of the findings must know


class Processor(Record):
    """How fast one is, and what the host took of them while the diagnosis was made."""

    deflate_mb_per_s: float
    stolen: float  # share of all processors' time, 0 to 1: steal of proc_stat(5)


class Cells(Record):
    """What was measured on a scratch database."""

    engine: str  # id
    version: str
    same_version: bool | None  # as the user's; None where the user's is not known
    said: str  # whole sentences on the engine and what it was given
    levels: dict[str, str]  # durability of each configuration
    risk: str = ""  # what the settings that were found may lose, as a sentence; "" nothing
    settings: dict[str, dict[str, Scalar]]  # the same, the engine's settings by our names
    experiment: str  # TOML
    cache_bytes: int | None = None  # of the page cache that was found; the cells may have had less


class Next(Record):
    """The experiment that would tell more."""

    question: str
    asks: str
    why: str
    command: str
    text: str = ""  # of the file; "" where none could be made here


class Diagnosis(Record):
    """One diagnosis."""

    kind: Literal["diagnosis"] = "diagnosis"
    format: int = FORMAT
    acidtest_version: str
    started_at: str  # ISO 8601, UTC
    ended_at: str
    minutes: float  # that it was given
    machine: Machine
    doubts: list[Doubt]
    place: PlaceFacts | None
    place_bytes: int | None = None  # of its file system
    layers: list[Layer] = Field(default_factory=list)
    processor: Processor | None = None
    database: Database | None = None
    audited: Audited | None = None
    inside: Inside | None = None
    cells: Cells | None = None
    not_looked: list[NotLooked] = Field(default_factory=list)
    next: Next | None = None


def write(directory: Path, diagnosis: Diagnosis) -> Path:
    """Write it into the existing ``directory``; it is on the drive when this returns. Raises OSError."""
    return document.write(directory / NAME, diagnosis)


def read(path: Path) -> Diagnosis:
    """Read the file ``path``. Raises BadInput when it is missing, or is no diagnosis that we can read."""
    return document.read(path, Diagnosis, "a diagnosis")
