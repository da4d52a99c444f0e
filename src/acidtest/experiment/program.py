"""``[program]``: what the user starts, loads and checks under power cuts, and is no engine of ours.

What its commands are given is in docs/YOUR-PROGRAM.md; ``acidtest.engine.program`` runs them.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from acidtest.errors import BadInput
from acidtest.experiment.reading import Reading, shown
from acidtest.keys import MIB, SECONDS, Form, Model, Unset, keys_in
from acidtest.names import BUILD

KIND = "program"  # of its workload, which no file names
ONLY_LEVEL = "as-it-is"  # of a program without [program.durability]
# What a file with [program] has no other table or key for.
REPLACED = ("engine", "workload", "settings", "servers", "engines", "growth", "search", "load")
OWN_VARIABLE = "ACIDTEST_"  # begins the names of the variables that commands are given

Command = Annotated[str, Form("a command of the shell")]


class ProgramLevel(Model):
    """``[program.durability.NAME]``: one durability level, which is the user's own."""

    environment: Annotated[dict[str, str], Form('{ NAME = "value" }')] = Field(
        default_factory=dict, description="All commands of the program have these variables at the level."
    )
    may_lose: Annotated[str, Form('"about the last second of writes"'), Unset("nothing")] = Field(
        default="",
        max_length=200,
        description="A power cut may take this at the level although it was acknowledged: such a loss is announced.",
    )
    may_break: bool = Field(
        default=False, description="A power cut may break the data at the level: any loss is announced."
    )


class ProgramSpec(Model):
    """``[program]``."""

    name: Annotated[str, Form("letters, digits, . _ and -")] = Field(
        description="Tables and the page call the program by this name."
    )
    load: Command = Field(
        min_length=1,
        description="It writes items until it is ended, and prints the name of each, one a line, when the program has "
        "acknowledged it.",
    )
    check: Command = Field(
        min_length=1,
        description="It prints for each item of the file $ACIDTEST_ITEMS one line: present, missing or torn, a space, "
        "and the item.",
    )
    start: Annotated[Command, Unset("there is no server: load and check are all of the program")] = Field(
        default="", description="The server, which stays in the foreground."
    )
    ready: Annotated[Command, Unset("none: start needs it")] = Field(
        default="", description="It ends with code 0 as soon as the server answers, and is tried until then."
    )
    stop: Annotated[Command, Unset("the server is sent SIGTERM")] = Field(
        default="", description="It ends the server in order."
    )
    setup: Annotated[Command, Unset("the program begins with an empty directory")] = Field(
        default="", description="It makes what has to be in $ACIDTEST_DATA before the first start."
    )
    version: Annotated[Command, Unset("no version is recorded")] = Field(
        default="", description="The first line that it prints is the version."
    )
    acknowledges: Annotated[Literal["output", "descriptor"], Unset('"output"')] = Field(
        default="output",
        description="The load acknowledges on its standard output, or on the descriptor $ACIDTEST_ACK alone.",
    )
    items: int = Field(
        default=200, ge=1, le=1_000_000, description="Power fails after one of so many items, drawn by the seed."
    )
    room_mb: Annotated[int, MIB] = Field(
        default=200, ge=1, le=1_000_000, description="The program's data take no more than this on the disk."
    )
    start_limit_s: Annotated[float, SECONDS] = Field(
        default=60.0, gt=0, le=3600, description="The server answers within this time, or the cut shows nothing."
    )
    command_limit_s: Annotated[float, SECONDS] = Field(
        default=60.0,
        gt=0,
        le=3600,
        description="Each of setup, stop, version and check ends within this time, or is ended.",
    )
    environment: Annotated[dict[str, str], Form('{ NAME = "value" }')] = Field(
        default_factory=dict, description="All commands of the program have these variables."
    )
    durability: Annotated[
        dict[str, ProgramLevel], Form("[program.durability.NAME]"), Unset(f'one level, "{ONLY_LEVEL}"')
    ] = Field(
        default_factory=dict, description="Each table is a durability level of the program's; all of them are cut."
    )
    # Where the file of the experiment lies, and commands run. No journal holds it: another checkout is the same.
    folder: str = Field(default="", exclude=True)

    @property
    def levels(self) -> Mapping[str, ProgramLevel]:
        """By name, at least one."""
        return self.durability or {ONLY_LEVEL: ProgramLevel()}


def refusal(file: Path, why: str) -> BadInput:
    """The error of a command that is for engines alone and was given a file with ``[program]``, with what to do."""
    quoted = shlex.quote(str(file))
    return BadInput(
        f"{file}: [program] is for power cuts, and {why}",
        f"acidtest powercut {quoted} --out DIR cuts its power; to run it yourself, make a disk that stays with "
        "acidtest disk create NAME: acidtest disk status NAME shows the writes and flushes that reached it",
    )


def take(reading: Reading, written: dict[str, Any], base: Path) -> None:
    """Put in ``written``, which has a ``[program]``, what follows from it: an engine, a workload, levels.

    Raises BadInput where it is no program, and adds to ``reading`` what else is wrong with it.
    """
    table = reading.known_keys("program", reading.table("program", written["program"]), keys_in(ProgramSpec))
    for key in REPLACED:
        if key in written:
            why = "with [program] the program stands in its place, and its power is cut"
            reading.refuse(f"{key}: {why}", "leave it out, or make it an experiment of its own")
            del written[key]
    _refuse_factors(reading, written)
    for key in ("name", "load", "check"):
        if not isinstance(table.get(key), str) or not table[key].strip():
            found = "is missing" if key not in table else f"found {shown(table[key])}, must be a text"
            raise reading.bad(
                f"program.{key}: {found}", "acidtest help program has its keys, acidtest help docs/YOUR-PROGRAM.md one"
            )
    if wrong := BUILD.complaint(table["name"]):
        raise reading.bad(f"program.name: found {shown(table['name'])}, {wrong}")
    if table.get("start") and not table.get("ready"):
        raise reading.bad(
            "program.start: nothing says when the server answers",
            'write ready = "…", a command that ends with code 0 as soon as it does',
        )
    for key in ("ready", "stop"):
        if table.get(key) and not table.get("start"):
            raise reading.bad(f"program.{key}: there is no server without start", "write start, or leave it out")
    table["durability"] = levels = _levels(reading, table.get("durability", {}))
    table["environment"] = _environment(reading, "program", table.get("environment", {}))
    table["folder"] = str(base.absolute())
    written["program"] = table
    written["engine"] = table["name"]
    items = table.get("items", ProgramSpec.model_fields["items"].default)
    room_mb = table.get("room_mb", ProgramSpec.model_fields["room_mb"].default)
    written["workload"] = {KIND: {"kind": KIND, "count": items, "room_mb": room_mb}}
    factors = written.get("factors", {})
    if "durability" not in written and isinstance(factors, dict) and "durability" not in factors:
        written["factors"] = {"durability": list(levels) or [ONLY_LEVEL], **factors}


def _refuse_factors(reading: Reading, written: Mapping[str, Any]) -> None:
    factors = written.get("factors")
    for name in ("engine", "workload"):
        if isinstance(factors, dict) and name in factors:
            reading.refuse(
                f"factors.{name}: with [program] there is one, the program", "leave it out; durability and place.* vary"
            )
            del factors[name]


def _levels(reading: Reading, given: Any) -> dict[str, Any]:
    levels: dict[str, Any] = {}
    for name, one in reading.table("program.durability", given, "write [program.durability.NAME] tables").items():
        key = f"program.durability.{name}"
        with reading.gather():
            if wrong := BUILD.complaint(name):
                raise reading.bad(f"{key}: the name {wrong}")
            level = reading.known_keys(key, reading.table(key, one), keys_in(ProgramLevel))
            level["environment"] = _environment(reading, key, level.get("environment", {}))
            levels[name] = level
    return levels


def _environment(reading: Reading, at: str, given: Any) -> dict[str, Any]:
    variables = reading.table(f"{at}.environment", given, 'write environment = { NAME = "value" }')
    for name, value in variables.items():
        if not isinstance(value, str):
            raise reading.bad(f"{at}.environment.{name}: found {shown(value)}, must be a text", "put it in quotes")
        if name.startswith(OWN_VARIABLE) or not name or "=" in name or "\0" in f"{name}{value}":
            raise reading.bad(
                f"{at}.environment: {shown(name)} cannot be set", f"{OWN_VARIABLE}… is acidtest's: name it otherwise"
            )
    return variables
