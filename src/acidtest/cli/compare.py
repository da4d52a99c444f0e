"""``acidtest compare``: run B read against run A."""

from __future__ import annotations

import json as json_
import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from acidtest.cli.journals import opened
from acidtest.errors import BadInput, not_among


def compare(
    a: Annotated[Path, typer.Argument(help="A run's directory: its results are 100.", metavar="A")],
    b: Annotated[Path, typer.Argument(help="Another run's directory.", metavar="B")],
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", help="Pair rows that differ in this factor. May be repeated.", metavar="FACTOR"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    """Compare run B with run A, row by row, and show what else differs between them."""
    from acidtest.journal.reader import NAME, SEARCH
    from acidtest.report.side_by_side import side_by_side, unlike

    for directory in (a, b):
        if (directory / SEARCH).exists() and not (directory / NAME).exists():
            raise BadInput(
                f"{directory}: holds searches for the highest rate, and runs at set rates are what is compared",
                "make what differs levels of one search; the rates that were found: "
                f"acidtest report {shlex.quote(str(directory))}",
            )
    one, two = opened(a / NAME), opened(b / NAME)
    factors = [factor for factor in {**one.header.factors, **two.header.factors} if factor != "workload"]
    for factor in ignore or ():
        if factor not in factors:
            raise BadInput(not_among("--ignore", factor, factors))
    comparison = side_by_side(one, two, ignore or ())
    if not comparison.pairs:
        apart = {factor: levels for factor, levels in unlike(one, two).items() if factor not in (ignore or ())}
        if not apart or "workload" in apart:
            raise BadInput(f"{a} and {b} have no combination of levels in common", "compare runs of the same workload")
        options = [word for factor in [*(ignore or ()), *apart] for word in ("--ignore", factor)]
        command = shlex.join(["acidtest", "compare", str(a), str(b), *options])
        named = "; ".join(f"A has {factor} {mine}, B {theirs}" for factor, (mine, theirs) in apart.items())
        raise BadInput(f"{a} and {b}: {named}", f"to pair them: {command}")
    if json:
        print(json_.dumps({"a": str(a), "b": str(b), **comparison.as_json()}, indent=2))
    else:
        comparison.show(Console(highlight=False))
