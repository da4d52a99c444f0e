"""Classes of terminals, stages and stalls in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from acidtest.analysis.parts import Part
from acidtest.report import shapes
from acidtest.report.fitted import Column, print_fitted
from acidtest.report.numbers import number
from acidtest.report.results import Line, Table
from acidtest.report.shapes import Cell


def print_shapes(table: Table, console: Console) -> None:
    """What each class and each stage did, and the stalls; nothing where there are none."""
    for title, parts_of in (("Classes of terminals", _classes), ("Stages", _stages)):
        if rows := [(line, part) for line in table.lines for part in parts_of(line)]:
            _title(title, console)
            cells = shapes.part_columns([part for _, part in rows], table.counted)
            print_fitted([_label(rows), *_columns(cells)], rows, console)
            _print_kinds(rows, console)
    if stalled := [line for line in table.lines if line.stalls]:
        _title("Stalls", console)
        for line in stalled:
            _print_stalls(line, console)
        console.print(Text(shapes.AT_THE_SAME_TIME, style="dim"))
    for line in table.lines:
        for sentence in shapes.beside(line):
            console.print(Text(sentence, style="dim"))


def _print_stalls(line: Line, console: Console) -> None:
    """Of one row: each with what was seen then, in lines that break under themselves."""
    console.print(Text(line.label))
    for stall in shapes.stalls_shown(line, shapes.STALLS_PRINTED):
        console.print(Padding(Text(shapes.stall_head(stall)), (0, 0, 0, 2)))
        details = Grid.grid(padding=(0, 1))
        details.add_column(no_wrap=True)
        details.add_column(overflow="fold")
        for name, told in shapes.stall_details(stall):
            details.add_row(Text(name, style="dim"), Text(told))
        console.print(Padding(details, (0, 0, 0, 4)))
    if more := shapes.stalls_left_out(line, shapes.STALLS_PRINTED):
        console.print(Text(f"{more} acidtest report tells all of them with --json.", style="dim"))


def _print_kinds(rows: Sequence[tuple[Line, Part]], console: Console) -> None:
    kinds = [(line, part, kind) for line, part in rows for _, kind in shapes.kinds_of_parts([part])]
    if not kinds:
        return
    console.print()
    columns = [
        Column("row", lambda of: of[0].label, right=False, drop=3),
        Column("class" if rows[0][1].terminals else "stage", lambda of: of[1].name, right=False),
        Column("transaction", lambda of: of[2].name.replace("_", "-"), right=False),
        Column("committed", lambda of: f"{of[2].committed:,}"),
        Column("rolled back", lambda of: f"{of[2].rolled_back:,}", drop=2),
        Column("conflicts", lambda of: f"{of[2].conflicts:,}", drop=1),
        Column("p90 ms", lambda of: number(of[2].p90.value_ms)),
    ]
    print_fitted(columns, kinds, console)


def _title(title: str, console: Console) -> None:
    console.print()
    console.print(Text(title, style="bold"))


def _classes(line: Line) -> tuple[Part, ...]:
    return line.terminal_classes


def _stages(line: Line) -> tuple[Part, ...]:
    return line.stages


def _label(rows: Sequence[tuple[Line, Any]]) -> Column:
    """The row's name, once."""
    first = {id(line): of for line, of in reversed(rows)}
    return Column("row", lambda of: of[0].label if first[id(of[0])] is of[1] else "", right=False)


def _columns(cells: Sequence[Cell]) -> list[Column]:
    def text(cell: Cell) -> Callable[[Any], str]:
        return lambda of: cell.text(of[1])

    return [Column(cell.head, text(cell), right=cell.is_number, drop=cell.drop) for cell in cells]
