"""What the two machines exchange: messages, each a line of JSON, and between them lines of the acknowledgement log."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from acidtest.journal.models import EngineFacts, PlaceFacts, Record, Recording, SettingInForce

VERSION = 3  # rises when a message changes its meaning


class Greeting(Record):
    """The machine's first message on every connection."""

    say: Literal["greeting"] = "greeting"
    plug: int  # VERSION
    acidtest: str
    digest: str  # of the experiment
    boot_id: str  # see random(4): a new one at every start of the kernel
    uptime_s: float  # CLOCK_BOOTTIME
    program: EngineFacts | None = None  # of the user's, where no engine is tested


class Which(Record):
    """A cell, by what tells it from the first one of its combination; and the name of its database."""

    combination: str
    cell: str
    repetition: int
    order: int
    seed: int
    token: str


class Prepare(Record):
    """Make a database for this cell, all of it flushed. Answered by Prepared."""

    say: Literal["prepare"] = "prepare"
    which: Which


class Prepared(Record):
    say: Literal["prepared"] = "prepared"
    recording: Recording  # of a cell that has not been cut, for the witness to complete if the machine never comes back


class Drive(Record):
    """Drive load on it, and pass on what is acknowledged, until the power fails; with ``count`` so much of it, in
    order. Answered by Running."""

    say: Literal["drive"] = "drive"
    which: Which
    count: int | None = None


class Running(Record):
    """The first commit was acknowledged. Lines of the acknowledgement log follow."""

    say: Literal["running"] = "running"
    settings: list[SettingInForce]
    engine_version: str
    place: PlaceFacts
    database_bytes: int


class Stopped(Record):
    """The load that was asked for has ended in order, and so has the engine."""

    say: Literal["stopped"] = "stopped"


class Look(Record):
    """Recover this database, look for what was kept, and judge. ``lines`` of the acknowledgement log follow, those that
    the witness has kept. Answered by Looked."""

    say: Literal["look"] = "look"
    which: Which
    before: Running
    lines: int
    # As in CutEvidence. None where no power was cut.
    broken_without_cut: list[str] | None = None
    restarted: str | None = None
    witnessed: str | None = None
    unnoticed_loss: str | None = None
    blind_to_loss: str | None = None


class Looked(Record):
    say: Literal["looked"] = "looked"
    recording: Recording


class Forget(Record):
    """Remove the databases of cuts. Not answered."""

    say: Literal["forget"] = "forget"


class Failed(Record):
    """What was asked for could not be done."""

    say: Literal["failed"] = "failed"
    recording: Recording


class Leaving(Record):
    """The machine was told to end: no power has failed."""

    say: Literal["leaving"] = "leaving"
    why: str


ToMachine = Prepare | Drive | Look | Forget
ToWitness = Greeting | Prepared | Running | Stopped | Looked | Failed | Leaving
Said = ToMachine | ToWitness

SAID: TypeAdapter[Said] = TypeAdapter(Annotated[Said, Field(discriminator="say")])


class NotSaid(ValueError):
    """A line that is no message."""


def parsed(line: bytes) -> Said:
    """Raises NotSaid."""
    try:
        return SAID.validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        raise NotSaid(f"{at + ': ' if at else ''}{first['msg']}") from None
