"""A table that leaves out columns where the terminal is too narrow, and names them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text


@dataclass(frozen=True)
class Column:
    head: str
    cell: Callable[[Any], Text | str]  # of a line, or of a line and a kind of its transactions
    right: bool = True
    drop: int = 0  # where the terminal is too narrow, the highest goes first; 0 stays


def print_fitted(columns: list[Column], rows: Iterable[Any], console: Console, whole: str = "the page has all") -> None:
    """A table with as many columns as fit; those left out are named, and ``whole`` says where they are."""
    left_out: list[str] = []
    unbounded = console.options.update_width(10_000)
    while Measurement.get(console, unbounded, _grid(rows, columns)).maximum > console.width:
        least = max(columns, key=lambda column: column.drop)
        if not least.drop:
            break
        columns.remove(least)
        left_out.append(least.head)
    console.print(_grid(rows, columns))
    if left_out:
        console.print(f"A wider terminal also shows {', '.join(sorted(left_out))}; {whole}.", style="dim")


def _grid(rows: Iterable[Any], columns: list[Column]) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        grid.add_column(column.head, justify="right" if column.right else "left", no_wrap=column.right, overflow="fold")
    for row in rows:
        grid.add_row(*(column.cell(row) for column in columns))
    return grid
