"""A table that leaves out columns where the terminal is too narrow, and names them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, JustifyMethod
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from acidtest.report.pivot import short

GAP = 2  # between columns
FOLDED = 8  # characters to which a column of words may be narrowed


@dataclass(frozen=True)
class Column:
    head: str
    cell: Callable[[Any], Text | str]  # of a line, or of a line and a kind of its transactions
    right: bool = True
    drop: int = 0  # where the terminal is too narrow, the highest goes first; 0 stays
    typed: bool = False  # a name that a user has to type

    @property
    def unbroken(self) -> bool:
        """Whether what it shows stays on one line."""
        return self.right or self.typed


def print_fitted(columns: list[Column], rows: Sequence[Any], console: Console, whole: str = "the page has all") -> None:
    """A table with as many columns as fit; those left out are named, and ``whole`` says where they are.

    Figures and names that have to be typed are never cut: a terminal that is too narrow for those alone breaks lines.
    """
    left_out: list[str] = []
    while (widest := _width(rows, columns, console)) > console.width:
        least = max(columns, key=lambda column: column.drop)
        if not least.drop:
            break
        columns.remove(least)
        left_out.append(least.head)
    shown = _grid(rows, columns)
    folded = _width(rows, [one for one in columns if one.unbroken], console) + sum(
        GAP + FOLDED for one in columns if not one.unbroken
    )
    if widest > console.width < folded:
        shown.width = folded
    console.print(shown, crop=False)
    if left_out:
        console.print(f"A wider terminal also shows {', '.join(sorted(left_out))}; {whole}.", style="dim")


def print_combinations(
    title: str,
    varied: Sequence[str],
    columns: Sequence[Column],
    rows: Sequence[Any],
    explained: str,
    notes: Sequence[str],
    console: Console,
) -> None:
    """A table of combinations under its title: their levels of ``varied``, then ``columns``, and what it means."""
    console.print()
    console.print(Text(title, style="bold"))
    levels = [
        Column(short(factor), lambda row, factor=factor: row.levels.get(factor, ""), right=False)  # type: ignore[misc]
        for factor in varied
    ]
    print_fitted([*levels, *columns], rows, console)
    for said in (f"\n{explained}", *notes):
        console.print(said, style="dim", markup=False)


def _width(rows: Sequence[Any], columns: list[Column], console: Console) -> int:
    return Measurement.get(console, console.options.update_width(10_000), _grid(rows, columns)).maximum


def _grid(rows: Sequence[Any], columns: list[Column]) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for column in columns:
        justify: JustifyMethod = "right" if column.right else "left"
        grid.add_column(column.head, justify=justify, no_wrap=column.unbroken, overflow="fold")
    for row in rows:
        grid.add_row(*(column.cell(row) for column in columns))
    return grid
