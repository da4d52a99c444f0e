"""What a workload's own database reports of a run beside what its terminals have counted: page and terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acidtest.journal.models import OwnReport

if TYPE_CHECKING:
    from acidtest.report.results import Line

OURS = ("committed", "rolled back", "conflicts", "errors")
EXPLAINED = (
    "Beneath “ours” stands what the terminals have counted of the first repetition, in all other columns what the "
    "database reports of it itself. Its procedures count what one does for another one too, and the terminals do not."
)


@dataclass(frozen=True)
class Shown:
    """One report as a table."""

    label: str  # of the row that it is of
    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def shown(lines: Iterable[Line], *, parts: bool) -> list[Shown]:
    """Each report that has rows; with ``parts`` also the rows of what is no kind of transaction."""
    return [made for line in lines for report in line.own_reports if (made := _table(line, report, parts=parts)).rows]


def _table(line: Line, report: OwnReport, *, parts: bool) -> Shown:
    heads = tuple(column.replace("_", " ") for column in report.columns)
    rows = [tuple(cell or "–" for cell in row) for row in report.rows]
    if report.by_kind:
        ours = _ours(line)
        heads = (heads[0], *(f"ours: {name}" for name in OURS), *heads[1:])
        told = {row[0]: row for row in rows}
        # What was never done has no row in the database's own report.
        names = [*ours, *(name for name in told if name not in ours and parts)]
        blank = ("–",)
        rows = [
            (name, *ours.get(name, blank * len(OURS)), *told.get(name, blank * len(report.columns))[1:])
            for name in names
        ]
    return Shown(line.label, report.title, heads, tuple(rows))


def _ours(line: Line) -> Mapping[str, tuple[str, ...]]:
    result = line.row.done[0].result
    return {
        kind.name: tuple(f"{count:,}" for count in (kind.committed, kind.rolled_back, kind.conflicts, kind.errors))
        for kind in (result.kinds if result else ())
    }
