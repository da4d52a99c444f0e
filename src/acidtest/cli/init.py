"""``acidtest init``: from a question to an experiment that fits into a time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from acidtest.cli import complete
from acidtest.cli.options import Json, option


def init(
    file: Annotated[Path | None, typer.Argument(help="The experiment that is written.", metavar="[FILE.toml]")] = None,
    question: Annotated[
        str | None,
        typer.Option(
            help=f"One of: {', '.join(complete.QUESTIONS)}.", metavar="NAME", autocompletion=complete.questions
        ),
    ] = None,
    engine: Annotated[
        list[str] | None,
        typer.Option(help="An engine; may be repeated.", metavar="ENGINE", autocompletion=complete.engines),
    ] = None,
    server: Annotated[list[str] | None, typer.Option(help="A server of yours; may be repeated.", metavar="URL")] = None,
    storage: Annotated[
        list[str] | None, typer.Option(help="A directory, loop, disk (a simulated one), or /dev/X.", metavar="STORAGE")
    ] = None,
    sql: Annotated[
        list[str] | None,
        typer.Option(
            help="SQL of yours: a folder, or files; may be repeated. A folder that is not there is written.",
            metavar="PATH",
        ),
    ] = None,
    time: Annotated[
        str | None, typer.Option(help='How long it may take: "90s", "10m", "1h30m".', metavar="TIME")
    ] = None,
    found: Annotated[
        list[str] | None,
        typer.Option(
            help="A setting that your database has now, or durability=LEVEL: where the experiment begins; may be "
            "repeated.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    whole: Annotated[bool, option("--whole", "Leave out levels at which a power cut may break the database.")] = False,
    yes: Annotated[bool, option("--yes", "Ask nothing: what is not given has a default.")] = False,
    force: Annotated[bool, option("--force", "Overwrite the file if it is there.")] = False,
    json: Json = False,
) -> None:
    """Write an experiment that answers a question in the time that you have. Asks for what the options do not say."""
    from acidtest.cli.experiment_file import write
    from acidtest.cli.init_answers import Given

    given = Given(
        file, question, _words(engine), tuple(server or ()), _words(storage), time, force, tuple(sql or ()), whole,
        tuple(found or ()),
    )  # fmt: skip
    write(given, yes=yes, json=json)


def _words(options: list[str] | None) -> tuple[str, ...]:
    """Also those that stand in one option, with commas."""
    return tuple(word.strip() for option in options or () for word in option.split(",") if word.strip())
