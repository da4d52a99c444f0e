"""``acidtest plan``: the cells and the time they will take; runs nothing."""

from __future__ import annotations

import json as json_
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from acidtest import conductor, experiment
from acidtest import plan as plan_
from acidtest.cli.spans import span
from acidtest.plan.estimate import load_seconds


def plan(
    file: Annotated[Path, typer.Argument(help="The experiment (.toml).", metavar="FILE.toml")],
    quick: Annotated[bool, typer.Option("--quick", help="Plan the experiment at its small size.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the cells as JSON.")] = False,
) -> None:
    """Show the cells of an experiment, in the order in which they run, and the time they will take."""
    from acidtest.audit import judge

    read = experiment.read(file, quick=quick)
    judge.check_waivers(read.waive, f"{file}: waive")
    planned = conductor.plan_of(read)
    conductor.verify(planned, file)
    families = {c.engine: plan_.family_of(read, c.engine) for c in planned.cells}
    largest = _largest(planned, families)
    seconds = plan_.GrowthPace(families).left(planned.cells, {}) if largest else _seconds(planned)
    if json:
        print(
            json_.dumps(
                {
                    "experiment": planned.experiment.name,
                    "seconds_assumed": round(seconds, 1),
                    **({"bytes_needed": largest} if largest else {}),
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
    orders_of: dict[str, list[int]] = {}
    for cell in planned.cells:
        orders_of.setdefault(cell.combination, []).append(cell.order)
    for cell in planned.combinations():
        orders = orders_of[cell.combination]
        shown = ", ".join(map(str, orders[:3])) + (", …" if len(orders) > 3 else "")
        work = cell.workload
        lasts = f"{work.count:,} tx" if work.count else span(work.warmup_s + (work.duration_s or 0))
        table.add_row(*(cell.levels[factor] for factor in varying), str(work.terminals), lasts, shown)
    console.print(table)
    fixed = [f"{factor} {levels[0].name}" for factor, levels in planned.experiment.factors.items() if len(levels) == 1]
    if fixed:
        console.print(f"All with {', '.join(fixed)}.")
    repetitions = planned.experiment.repetitions
    order = "interleaved" if not largest else "size by size"
    console.print(
        f"\n{len(planned.cells)} cells ({len(planned.cells) // repetitions} combinations × {repetitions} repetitions, "
        f"{order}), about {span(seconds)}: an assumption until the first cells have run."
    )
    if largest:
        most = max(largest.values())
        each = "One database at a time" if len(largest) > 1 else "One database"
        console.print(f"{each}, of up to {most / 1e6:,.0f} MB; its logs and what sorts for its indexes come on top.")


def _seconds(planned: plan_.Plan) -> float:
    """Of cells that each have a copy of a database that is loaded once."""
    loads = {(c.engine, c.workload.database()): load_seconds(c) for c in planned.cells}
    return sum(plan_.cell_seconds(cell) for cell in planned.cells) + sum(loads.values())


def _largest(planned: plan_.Plan, families: Mapping[str, str]) -> dict[str, int]:
    """Bytes of each series' largest database; empty where databases do not grow."""
    largest: dict[str, int] = {}
    for cell in planned.cells:
        if cell.size is not None:
            largest[cell.series] = max(largest.get(cell.series, 0), plan_.size_bytes(cell, families[cell.engine]))
    return largest
