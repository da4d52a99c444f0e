"""``acidtest plan``: the cells and the time they will take; runs nothing."""

from __future__ import annotations

import json as json_
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from acidtest.cli import fleets, planning
from acidtest.cli.options import ExperimentFile, FleetFile, Json, Quick, option
from acidtest.cli.spans import span
from acidtest.report.table import headings
from acidtest.words import counted

if TYPE_CHECKING:
    from acidtest.plan import Cell, Plan

SHOWN_MAX = 100  # combinations in the table
SHOWN_FIRST, SHOWN_LAST = 20, 5  # of more
GAP = "  "
ORDERS_SHOWN = 3
COMPARED_MAX = 100  # combinations: counting their comparisons takes the square of that
OWN = ("terminals", "lasts", "runs as cell")  # columns beside those of the factors
RIGHT = ("terminals", "lasts")
ORDERS = {False: "runs interleaved", True: "cuts one combination after another"}  # by whether power is cut


def plan(
    file: ExperimentFile,
    quick: Quick = False,
    all_: Annotated[bool, option("--all", "Show every combination, one a line, however many.")] = False,
    fleet: FleetFile = None,
    json: Json = False,
) -> None:
    """Show the cells of an experiment, in the order in which they run, and the time they will take."""
    from acidtest import conductor
    from acidtest import plan as plan_

    hosts: Sequence[str] = ()
    if fleet is not None:
        with fleets.opened(fleet) as machines:
            hosts = machines.names
            planned = planning.planned(file, quick=quick, part=machines.part(lambda whole: whole))
    else:
        planned = planning.planned(file, quick=quick)
    if planned.experiment.search is not None:
        from acidtest.cli.search import show_plan

        show_plan(planned, json=json)
        return
    families = {name: plan_.family_of(planned.experiment, name) for name in planned.engines}
    largest = _largest(planned, families)
    seconds = conductor.assumed_seconds(planned) / (len(hosts) or 1)
    if json:
        for text in _as_json(planned, seconds, largest):
            print(text)
        return
    _print(planned, seconds, largest, everything=all_)


def _as_json(planned: Plan, seconds: float, largest: Mapping[str, int]) -> Iterator[str]:
    """One document, in pieces: a line a cell."""
    head: dict[str, object] = {"experiment": planned.experiment.name, "seconds_assumed": round(seconds, 1)}
    if largest:
        head["bytes_needed"] = largest
    if notes := _notes(planned):
        head["told"] = notes
    yield f'{json_.dumps(head)[:-1]}, "cells": ['
    last = len(planned.cells)
    for cell in planned.cells:
        fields = {
            "id": cell.id,
            "order": cell.order,
            "levels": cell.levels,
            "repetition": cell.repetition,
            "seed": cell.seed,
        }
        yield f"  {json_.dumps(fields)}{',' if cell.order < last else ''}"
    yield "]}"


def _print(planned: Plan, seconds: float, largest: Mapping[str, int], *, everything: bool) -> None:
    console = Console(highlight=False)
    console.print(planned.experiment.title or planned.experiment.name, style="bold", markup=False)
    rows = planned.combinations()
    table = _Table(planned)
    if everything:
        for line in table.lines(rows):
            print(line)
    elif len(rows) <= SHOWN_MAX:
        console.print(table.grid(rows))
    else:
        console.print(table.grid(rows[:SHOWN_FIRST], rows[-SHOWN_LAST:]))
        hidden = len(rows) - SHOWN_FIRST - SHOWN_LAST
        of = counted(len(rows), "combination")
        console.print(f"{hidden:,} of {of} are not shown: --all shows every one, --json every cell.")
    fixed = [f"{factor} {levels[0].name}" for factor, levels in planned.experiment.factors.items() if len(levels) == 1]
    if fixed:
        console.print(f"All with {', '.join(fixed)}.", markup=False)
    for line in _notes(planned):
        console.print(line, soft_wrap=True, markup=False)
    repetitions = planned.experiment.repetitions
    cut = {cell.workload.CAN_BE_SURVEYED for cell in planned.cells}
    order = "size by size" if largest else " and ".join(words for of, words in ORDERS.items() if of in cut)
    console.print(
        f"\n{counted(len(planned.cells), 'cell')} ({counted(len(rows), 'combination')} × "
        f"{counted(repetitions, 'repetition')}, {order}), about {span(seconds)}: an assumption until the first cells "
        "have run."
    )
    if largest:
        most = max(largest.values())
        each = "One database at a time" if len(largest) > 1 else "One database"
        console.print(f"{each}, of up to {most / 1e6:,.0f} MB; its logs and what sorts for its indexes come on top.")


def _notes(planned: Plan) -> list[str]:
    """What is to be known before it runs: of its workloads, and that its repetitions can show nothing."""
    from acidtest import conductor

    notes = [*planning.notes(planned), *conductor.build_doubts(planned)]  # a run tells these itself
    if planned.experiment.asks_for_cuts and not any(cell.workload.CAN_BE_SURVEYED for cell in planned.cells):
        from acidtest.report.survival_table import not_numbered

        names = list(dict.fromkeys(cell.workload_name for cell in planned.cells))
        notes.append(f"acidtest powercut leaves the commits of it {not_numbered(names)}")
    if len(planned.combinations()) <= COMPARED_MAX:
        from acidtest.plan.verdicts import shown_nothing

        notes += [too_few] if (too_few := shown_nothing(planned)) else []
    return notes


class _Table:
    """A row a combination: the levels of the factors that tell rows apart, and what follows from them."""

    def __init__(self, planned: Plan) -> None:
        self._varying = [factor for factor, levels in planned.experiment.factors.items() if len(levels) > 1]
        of_program = planned.experiment.program is not None
        self._unit = "items" if of_program else "tx"
        # Else that factor's column shows them; a program has none.
        self._terminals = "terminals" not in self._varying and not of_program
        own = OWN if self._terminals else OWN[1:]
        self._heads = [*headings(self._varying, own), *own]
        self._right = [name in RIGHT for name in self._heads]
        self._orders: dict[str, list[int]] = {}
        for cell in planned.cells:
            self._orders.setdefault(cell.combination, []).append(cell.order)

    def grid(self, first: Sequence[Cell], last: Sequence[Cell] = ()) -> Table:
        """As wide as the terminal; with ``last``, dots stand for what is left out before them."""
        grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for name, right in zip(self._heads, self._right, strict=True):
            grid.add_column(Text(name), justify="right" if right else "left", no_wrap=right, overflow="fold")
        for row in map(self._texts, first):
            grid.add_row(*map(Text, row))
        if last:
            grid.add_row(*("…" for _ in self._heads))
        for row in map(self._texts, last):
            grid.add_row(*map(Text, row))
        return grid

    def lines(self, rows: Sequence[Cell]) -> Iterator[str]:
        """A line a row, however wide: not cut to the terminal, whose table would take minutes for many of them."""
        texts = [self._heads, *map(self._texts, rows)]
        widths = [max(map(_width, column)) for column in zip(*texts, strict=True)]
        for line in texts:
            padded = (
                f"{' ' * (width - _width(text))}{text}" if right else f"{text}{' ' * (width - _width(text))}"
                for text, width, right in zip(line, widths, self._right, strict=True)
            )
            yield GAP.join(padded).rstrip()

    def _texts(self, cell: Cell) -> list[str]:
        work, orders = cell.workload, self._orders[cell.combination]
        return [
            *(cell.levels[factor] for factor in self._varying),
            *([str(work.terminals)] if self._terminals else []),
            f"{work.count:,} {self._unit}" if work.count else span(work.warmup_s + (work.duration_s or 0)),
            ", ".join(map(str, orders[:ORDERS_SHOWN])) + (", …" if len(orders) > ORDERS_SHOWN else ""),
        ]


def _width(text: str) -> int:
    """Columns of a terminal that it takes."""
    return len(text) if text.isascii() else cell_len(text)


def _largest(planned: Plan, families: Mapping[str, str]) -> dict[str, int]:
    """Bytes of each series' largest database; empty where databases do not grow."""
    from acidtest.plan import size_bytes

    largest: dict[str, int] = {}
    for cell in planned.cells:
        if cell.size is not None:
            largest[cell.series] = max(largest.get(cell.series, 0), size_bytes(cell, families[cell.engine]))
    return largest
