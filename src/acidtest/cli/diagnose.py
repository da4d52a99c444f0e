"""``acidtest diagnose``: it is slow. Is it the disk, the file system or the configuration?"""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from acidtest.cli import stop_signals, streams
from acidtest.cli.options import Json, option
from acidtest.errors import BadInput

MINUTES = 5.0
MINUTES_LEAST, MINUTES_MOST = 0.25, 60.0


def diagnose(
    place: Annotated[
        Path | None,
        typer.Argument(help="A directory on the drive in question; by default beside the database.", metavar="PLACE"),
    ] = None,
    database: Annotated[
        str | None,
        option("--database", "A Firebird or SQLite file, or a server by URL.", "WHERE"),
    ] = None,
    config: Annotated[
        Path | None,
        option("--config", "A directory with the engine's configuration and logs.", "DIR"),
    ] = None,
    minutes: Annotated[float, option("--minutes", "About how long it may take, in all: 0.25 to 60.", "N")] = MINUTES,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Keep the recordings and the next experiment in this new directory."),
    ] = None,
    html: Annotated[Path | None, option("--html", "Also write a page to hand over to somebody else.", "FILE")] = None,
    json: Json = False,
) -> None:
    """It is slow: is it the disk, the file system or the configuration? One report in minutes; nothing is changed.

    Exit code 1: the storage does not flush, a finding is severe, or a cell is invalid. Exit code 3: a cell failed.
    """
    from acidtest.cli.diagnosing.making import make
    from acidtest.cli.diagnosing.subject import Asked
    from acidtest.report.diagnosis import print_report

    if not MINUTES_LEAST <= minutes <= MINUTES_MOST:
        raise BadInput(f"--minutes {minutes:g}: must be {MINUTES_LEAST:g} to {MINUTES_MOST:g}", "5 is usual")
    if html is not None and (html.is_dir() or not html.parent.is_dir()):
        raise BadInput(f"--html {html}: cannot be a file there", "name a file in a directory that is there")
    console = Console(stderr=streams.is_taken(json=json, html=html) or json, highlight=False)
    with stop_signals.leaving(stop_signals.NOTHING_KEPT):
        made = make(Asked(database, config, place, minutes, out), console)
    results = made.report
    if json:
        print(json_.dumps(results.as_json(), indent=2))
    else:
        print_report(results, console)
    if html is not None:
        from acidtest.report.diagnosis_page import write_page

        with streams.written(html, "--html") as file:
            write_page(results, file)
        if not json and html != streams.STDOUT:
            console.print(f"Page: {html}", soft_wrap=True, markup=False)
    if out is not None and not json:
        console.print(f"Kept in {out}; the run again: acidtest report {out}", soft_wrap=True, markup=False)
    if results.failed:
        raise typer.Exit(3)
    if results.severe:
        raise typer.Exit(1)
