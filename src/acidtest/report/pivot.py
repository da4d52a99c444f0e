"""Two factors against each other: one grid for each combination of the other factors' levels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from acidtest.journal.models import NOT_APPLICABLE
from acidtest.report.line import Line
from acidtest.report.looks import covers
from acidtest.report.numbers import interval, number, percent
from acidtest.report.table import NOTHING, Cell, Column, Table, short

PLAIN = ("engine", "durability")  # what varies but these is seen at a glance in the table itself
MARKS = {"faster": "▲", "slower": "▼"}


@dataclass(frozen=True)
class Grid:
    """Rows of a table with one factor's levels down, another's across. A row to which the factor across does not
    apply, as a raw device has no mount options, stands in every column."""

    down: str  # factor
    across: str
    fixed: Mapping[str, str]  # the other factors' levels
    rows: tuple[str, ...]  # levels of ``down``
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], Line]

    @property
    def title(self) -> str:
        title = f"{short(self.down)} by {short(self.across)}"
        fixed = ", ".join(f"{short(factor)} {level}" for factor, level in self.fixed.items())
        return f"{title}, {fixed}" if fixed else title


def grids(
    lines: Sequence[Line], factors: Sequence[str], base: Mapping[str, str], down: str | None, across: str | None
) -> tuple[Grid, ...]:
    """The grids of one workload; none where fewer than two factors have levels to set against each other.

    Down goes the factor that the base names (the study's file systems, raw device = 100), else the one with the most
    levels; across, of the others, the one with the most.
    """
    levels = {f: _levels(lines, f) for f in factors}
    able = [f for f in factors if len(levels[f]) > 1]
    asked = [f for f in (down, across) if f]
    if len(able) < 2 or any(f not in able for f in asked) or not (asked or set(able) - set(PLAIN)):
        return ()
    ranked = sorted(able, key=lambda f: (f not in base, -len(levels[f])))
    down = down or next(f for f in ranked if f != across)
    across = across or max((f for f in able if f != down), key=lambda f: len(levels[f]))
    others = [f for f in factors if f not in (down, across)]
    combinations = list(dict.fromkeys(tuple(line.levels[f] for f in others) for line in lines))
    tables = []
    for combination in combinations:
        if any(covers(other, combination) for other in combinations):
            continue  # its rows stand in that grid
        fixed = dict(zip(others, combination, strict=True))
        fitting = [line for line in lines if all(line.levels[f] in (v, NOT_APPLICABLE) for f, v in fixed.items())]
        cells: dict[tuple[str, str], Line] = {}
        # Those to which a factor does not apply last: what was measured for a place goes before.
        for line in sorted(fitting, key=lambda line: list(line.levels.values()).count(NOT_APPLICABLE)):
            row, column = line.levels[down], line.levels[across]
            for one in levels[down] if row == NOT_APPLICABLE else (row,):
                for other in levels[across] if column == NOT_APPLICABLE else (column,):
                    cells.setdefault((one, other), line)
        rows = tuple(level for level in levels[down] if any((level, column) in cells for column in levels[across]))
        columns = tuple(level for level in levels[across] if any((row, level) in cells for row in rows))
        if len(rows) > 1 and len(columns) > 1:
            tables.append(Grid(down, across, fixed, rows, columns, cells))
    return tuple(tables)


def _levels(lines: Sequence[Line], factor: str) -> list[str]:
    return [level for level in dict.fromkeys(line.levels[factor] for line in lines) if level != NOT_APPLICABLE]


def table(
    grid: Grid,
    unit: str,
    relative: bool,
    *,
    columns: Sequence[str] = (),
    bounds: bool = True,
    apart: Collection[int] = (),
    tints: Mapping[tuple[str, str], str] | None = None,
) -> Table:
    """Rates in ``unit``, or with the base as 100: of these ``columns``, or all; in a terminal with the ``bounds`` of
    intervals and the numbers of the warnings that stand ``apart``, on a page with ``tints``."""

    def figure(line: Line) -> str:
        return percent(line.relative) if relative else number(line.goodput.median)

    def of(level: str) -> list[Column]:
        def in_terminal(row: str) -> Cell:
            line = grid.cells.get((row, level))
            if line is None or not line.row.done:
                return Cell(NOTHING if line is None else "none", "soft")
            tone = "strong" if line.is_base else "soft" if line.verdict == "cannot tell" else line.verdict
            mark = MARKS.get(line.verdict, " " if relative else "")
            return Cell(figure(line) + mark, tone, marks={n: "" for n in line.notes if n in apart})

        def on_page(row: str) -> Cell:
            line = grid.cells.get((row, level))
            if line is None or not line.row.done:
                return Cell(NOTHING, "soft") if line is None else Cell("no result", "bad")
            verdict = ("base" if line.is_base else line.verdict) if relative else ""
            tone = f"strong {line.verdict if line.verdict in MARKS and relative else ''}"
            return Cell(figure(line), tone, verdict, tint=(tints or {}).get((row, level), ""))

        def between(row: str) -> Cell:
            line = grid.cells.get((row, level))
            return Cell(bounds_of(line, relative) if line and line.row.done else "", "soft")

        return [
            Column(level, in_terminal, only="terminal"),
            Column(level, on_page, only="page"),
            Column("95 %", between, only="" if bounds else "page"),
        ]

    down = Column(short(grid.down), lambda row: row, right=False)
    said = "blue: above the base, orange: below" if relative else "the bluer, the faster"
    of_what = "Base = 100" if relative else f"{unit.capitalize()} a second"
    return Table(
        [down, *(column for level in columns or grid.columns for column in of(level))],
        grid.rows,
        "grid",
        page_title=grid.title,
        caption=f"{of_what}, with 95 % intervals from five repetitions on; {said}",
    )


def bounds_of(line: Line, relative: bool) -> str:
    if relative:
        return NOTHING if line.is_base else interval(line.relative, 100)
    return interval(line.goodput)
