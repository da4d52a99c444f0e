"""``acidtest plan``: the cells and the time they will take; runs nothing."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from acidtest import experiment, runner
from acidtest import plan as plan_
from acidtest.cli.spans import span
from acidtest.plan.estimate import load_seconds


def plan(
    file: Annotated[Path, typer.Argument(help="The experiment (.toml).", metavar="FILE.toml")],
    quick: Annotated[bool, typer.Option("--quick", help="The experiment's small size.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the cells as JSON.")] = False,
) -> None:
    """Show the cells of an experiment, in the order in which they run, and the time they will take."""
    planned = plan_.make(experiment.read(file, quick=quick))
    runner.verify(planned, file)
    seconds = sum(plan_.cell_seconds(cell) for cell in planned.cells) + sum(
        {
            (c.engine, c.workload_name, c.workload.model_dump_json(exclude={"read"})): load_seconds(c)
            for c in planned.cells
        }.values()
    )
    if json:
        print(
            json_.dumps(
                {
                    "experiment": planned.experiment.name,
                    "seconds_assumed": round(seconds, 1),
                    "cells": [
                        {
                            "id": c.id,
                            "order": c.order,
                            "levels": dict(c.levels),
                            "repetition": c.repetition,
                            "seed": c.seed,
                        }
                        for c in planned.cells
                    ],
                },
                indent=2,
            )
        )
        return
    console = Console(highlight=False)
    heading = planned.experiment.title or planned.experiment.name
    table = Table(
        title=heading, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    # A factor of one level tells no rows apart: it stands beneath.
    varying = [factor for factor, levels in planned.experiment.factors.items() if len(levels) > 1]
    for factor in varying:
        table.add_column(factor.rpartition(".")[2], overflow="fold")
    for name in ("terminals", "lasts"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("runs as cell", overflow="fold")
    for cell in planned.combinations():
        orders = [c.order for c in planned.cells if c.combination == cell.combination]
        shown = ", ".join(map(str, orders[:3])) + (", …" if len(orders) > 3 else "")
        work = cell.workload
        lasts = f"{work.count:,} tx" if work.count else span(work.warmup_s + (work.duration_s or 0))
        table.add_row(*(cell.levels[factor] for factor in varying), str(work.terminals), lasts, shown)
    console.print(table)
    fixed = [f"{factor} {levels[0].name}" for factor, levels in planned.experiment.factors.items() if len(levels) == 1]
    if fixed:
        console.print(f"All with {', '.join(fixed)}.")
    repetitions = planned.experiment.repetitions
    console.print(
        f"\n{len(planned.cells)} cells ({len(planned.cells) // repetitions} combinations × {repetitions} repetitions, "
        f"interleaved), about {span(seconds)}: an assumption until the first cells have run."
    )
