"""``acidtest compare``: run B read against run A."""

from __future__ import annotations

import json as json_
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from acidtest.cli.options import Json, option
from acidtest.cli.report import opened
from acidtest.errors import BadInput, not_among

if TYPE_CHECKING:
    from acidtest.report.probes_side_by_side import ProbesSideBySide
    from acidtest.report.side_by_side import SideBySide


def compare(
    a: Annotated[Path, typer.Argument(help="Of a run, probe or diagnosis: its results are 100.", metavar="A")],
    b: Annotated[Path, typer.Argument(help="Another directory of the same kind.", metavar="B")],
    ignore: Annotated[
        list[str] | None,
        option("--ignore", "Pair rows that differ in this factor. May be repeated.", "FACTOR"),
    ] = None,
    json: Json = False,
) -> None:
    """Compare run, probe or diagnosis B with A, row by row, and show what else differs between them."""
    from acidtest.journal import probe
    from acidtest.journal.reader import CUTS, NAME, SEARCH

    for directory in (a, b):
        if (directory / CUTS).exists() and not (directory / NAME).exists() and not (directory / probe.NAME).exists():
            raise BadInput(
                f"{directory}: holds power cuts, which are not compared with those of another directory",
                "make what differs levels of one experiment; what survived: "
                f"acidtest report {shlex.quote(str(directory))}",
            )
        if (directory / SEARCH).exists() and not (directory / NAME).exists():
            raise BadInput(
                f"{directory}: holds searches for the highest rate, and runs at set rates are what is compared",
                "make what differs levels of one search; the rates that were found: "
                f"acidtest report {shlex.quote(str(directory))}",
            )
    probed, ran = ([(one / name).exists() for one in (a, b)] for name in (probe.NAME, NAME))
    if any(has and not runs_too for has, runs_too in zip(probed, ran, strict=True)):
        for only, other, has in ((a, b, probed[1]), (b, a, probed[0])):
            if not has:
                raise BadInput(f"{only}: holds a probe, and {other} holds none", "compare two of the same kind")
    probes = _probes(a, b) if all(probed) else None
    runs = None
    if probes is None or all(ran):
        runs = _runs(a, b, ignore or (), needed=not (probes and probes.pairs))
    if json:
        fields = {**(runs.as_json() if runs else {}), **({"probes": probes.as_json()} if probes else {})}
        print(json_.dumps({"a": str(a), "b": str(b), **fields}, indent=2))
        return
    console = Console(highlight=False)
    if probes:
        probes.show(console)
    if runs and runs.pairs:
        runs.show(console)
    elif any(ran):
        console.print("Cells are in one of the two only, or have no combination of levels in common.", style="dim")


def _runs(a: Path, b: Path, ignore: Sequence[str], *, needed: bool) -> SideBySide:
    """The runs in both directories. Raises BadInput where they are ``needed`` and have nothing in common."""
    from acidtest.journal.reader import NAME
    from acidtest.report.side_by_side import side_by_side, unlike

    first, second = opened(a / NAME), opened(b / NAME)
    factors = [factor for factor in {**first.header.factors, **second.header.factors} if factor != "workload"]
    for factor in ignore:
        if factor not in factors:
            raise BadInput(not_among("--ignore", factor, factors))
    compared = side_by_side(first, second, ignore)
    if needed and not compared.pairs:
        apart = {factor: levels for factor, levels in unlike(first, second).items() if factor not in ignore}
        if not apart or "workload" in apart:
            raise BadInput(f"{a} and {b} have no combination of levels in common", "compare runs of the same workload")
        options = [word for factor in [*ignore, *apart] for word in ("--ignore", factor)]
        command = shlex.join(["acidtest", "compare", str(a), str(b), *options])
        named = "; ".join(f"A has {factor} {mine}, B {theirs}" for factor, (mine, theirs) in apart.items())
        raise BadInput(f"{a} and {b}: {named}", f"to pair them: {command}")
    return compared


def _probes(a: Path, b: Path) -> ProbesSideBySide:
    """The probes in both directories, with the diagnoses that they belong to."""
    from acidtest.journal import diagnosis, probe
    from acidtest.report.probes_side_by_side import probes_side_by_side

    both = [one / diagnosis.NAME for one in (a, b)]
    held = (diagnosis.read(both[0]), diagnosis.read(both[1])) if all(one.exists() for one in both) else None
    return probes_side_by_side(probe.read(a / probe.NAME), probe.read(b / probe.NAME), held)
