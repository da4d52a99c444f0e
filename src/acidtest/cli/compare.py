"""``acidtest compare``: run B read against run A."""

from __future__ import annotations

import json as json_
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from acidtest.cli.journals import opened
from acidtest.errors import BadInput

if TYPE_CHECKING:
    from acidtest.report.probes_side_by_side import ProbesSideBySide


def compare(
    a: Annotated[Path, typer.Argument(help="Of a run, probe or diagnosis: its results are 100.", metavar="A")],
    b: Annotated[Path, typer.Argument(help="Another directory of the same kind.", metavar="B")],
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    """Compare run, probe or diagnosis B with A, row by row, and show what else differs between them."""
    from acidtest.journal import probe
    from acidtest.journal.reader import NAME, SEARCH
    from acidtest.report.side_by_side import side_by_side

    for directory in (a, b):
        if (directory / SEARCH).exists() and not (directory / NAME).exists():
            raise BadInput(
                f"{directory}: holds searches for the highest rate, and runs at set rates are what is compared",
                "make what differs levels of one search; the rates that were found: "
                f"acidtest report {shlex.quote(str(directory))}",
            )
    bare = [(one / probe.NAME).exists() and not (one / NAME).exists() for one in (a, b)]
    for only, other in ((a, b), (b, a)) if any(bare) else ():
        if not (other / probe.NAME).exists():
            raise BadInput(f"{only}: holds a probe, and {other} holds none", "compare two of the same kind")
    probes = _probes(a, b) if all((one / probe.NAME).exists() for one in (a, b)) else None
    runs = None
    if probes is None or all((one / NAME).exists() for one in (a, b)):
        runs = side_by_side(opened(a / NAME), opened(b / NAME))
    if not (runs and runs.pairs) and not (probes and probes.pairs):
        raise BadInput(f"{a} and {b} have no combination of levels in common", "compare runs of the same factors")
    if json:
        told = {**(runs.as_json() if runs else {}), **({"probes": probes.as_json()} if probes else {})}
        print(json_.dumps({"a": str(a), "b": str(b), **told}, indent=2))
        return
    console = Console(highlight=False)
    if probes:
        probes.show(console)
    if runs and runs.pairs:
        runs.show(console)
    elif any((one / NAME).exists() for one in (a, b)):
        console.print("Cells are in one of the two only, or have no combination of levels in common.", style="dim")


def _probes(a: Path, b: Path) -> ProbesSideBySide:
    """The probes in both directories, with the diagnoses that they belong to."""
    from acidtest.journal import diagnosis, probe
    from acidtest.report.probes_side_by_side import probes_side_by_side

    both = [one / diagnosis.NAME for one in (a, b)]
    held = (diagnosis.read(both[0]), diagnosis.read(both[1])) if all(one.exists() for one in both) else None
    return probes_side_by_side(probe.read(a / probe.NAME), probe.read(b / probe.NAME), held)
