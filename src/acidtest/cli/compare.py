"""``acidtest compare``: run B read against run A."""

from __future__ import annotations

import json as json_
import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from acidtest.cli.journals import opened
from acidtest.errors import BadInput


def compare(
    a: Annotated[Path, typer.Argument(help="A run's directory: its results are 100.", metavar="A")],
    b: Annotated[Path, typer.Argument(help="Another run's directory.", metavar="B")],
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    """Compare run B with run A, row by row, and show what else differs between them."""
    from acidtest.journal.reader import NAME, SEARCH
    from acidtest.report.side_by_side import side_by_side

    for directory in (a, b):
        if (directory / SEARCH).exists() and not (directory / NAME).exists():
            raise BadInput(
                f"{directory}: holds searches for the highest rate, and runs at set rates are what is compared",
                "make what differs levels of one search; the rates that were found: "
                f"acidtest report {shlex.quote(str(directory))}",
            )
    comparison = side_by_side(opened(a / NAME), opened(b / NAME))
    if not comparison.pairs:
        raise BadInput(f"{a} and {b} have no combination of levels in common", "compare runs of the same factors")
    if json:
        print(json_.dumps({"a": str(a), "b": str(b), **comparison.as_json()}, indent=2))
    else:
        comparison.show(Console(highlight=False))
