"""``acidtest inspect``: statistics and health of any database, without a write to it."""

from __future__ import annotations

import json as json_
from typing import Annotated

import typer
from rich.console import Console

from acidtest.cli import complete
from acidtest.cli.options import Json, option
from acidtest.cli.progress import Bar
from acidtest.cli.spans import seconds_of, span

LIMIT = "10m"


def inspect(
    where: Annotated[
        str,
        typer.Argument(
            help="A Firebird or SQLite database file, or a server: firebird://, postgresql://, mysql:// or "
            "mariadb://USER@HOST/DATABASE.",
            metavar="WHERE",
            autocompletion=complete.databases,
        ),
    ],
    read: Annotated[
        bool | None,
        option(
            "--read/--no-read",
            "Time a cold and a warm reading of the whole; by default unless another program has it open.",
        ),
    ] = None,
    limit: Annotated[str, option("--limit", "The longest that each of the two readings takes.")] = LIMIT,
    json: Json = False,
) -> None:
    """Tell what a database looks like inside, what is unusual in it and what to do. Nothing is written to it.

    The password of a server may stand in ACIDTEST_PASSWORD_INSPECT, or in ACIDTEST_PASSWORD_MINE as for acidtest run.
    Exit code 1: something unusual is severe.
    """
    from acidtest.analysis.health import signs
    from acidtest.conductor.inspect import Options
    from acidtest.conductor.inspect import inspect as look
    from acidtest.report.inspection import as_json, print_inspection

    limit_s = seconds_of(limit)
    console = Console(highlight=False)
    with Bar(Console(stderr=True, highlight=False), "looking", 1.0) as bar:

        def show(what: str, fraction: float | None, left_s: float | None) -> None:
            bar.show(fraction or 0.0, f"{span(left_s)} left" if left_s is not None else "", what)

        inspection = look(where, Options(read, limit_s), show)
    if json:
        print(json_.dumps(as_json(inspection), indent=2))
    else:
        print_inspection(inspection, console)
    if any(sign.severity == "severe" for sign in signs(inspection)):
        raise typer.Exit(1)
