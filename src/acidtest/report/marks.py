"""The small numbers beside figures, and the notes that they stand for."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table as Grid
from rich.text import Text

SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def marks(numbers: Iterable[int]) -> str:
    """The numbers of notes, raised, to stand behind a figure."""
    return "‧".join(str(n).translate(SUPERSCRIPTS) for n in numbers)


def note(position: int, text: str) -> Grid:
    """A warning behind its number, its further lines under its first."""
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_row(Text(marks([position]), style="yellow"), Text(text))
    return grid
