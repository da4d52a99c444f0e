"""What engines and databases themselves count and report, beside what the terminals have counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acidtest.analysis.engine_figures import EngineWork
from acidtest.journal.models import OwnReport
from acidtest.report.line import Line
from acidtest.report.numbers import number
from acidtest.report.table import NOTHING, Column, Table, figure
from acidtest.words import counted

WHAT = "Counted by the engine itself for each commit"
OURS = ("committed", "rolled back", "conflicts", "errors")
OWN_EXPLAINED = (
    "Beneath “ours” stands what the terminals have counted of the first repetition, in all other columns what the "
    "database reports of it itself. Its procedures count what one does for another one too, and the terminals do not."
)
# Of a table that is too wide, the first columns stay.
FIRST = ("page_reads", "page_writes", "page_fetches", "page_marks")


def counted_lines(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if line.engine_work and line.engine_work.counted]


def _works(lines: Sequence[Line]) -> list[EngineWork]:
    return [line.engine_work for line in counted_lines(lines) if line.engine_work]


def names(lines: Sequence[Line]) -> list[str]:
    """Counters that some line has and that some line counted."""
    seen: dict[str, bool] = {}
    for work in _works(lines):
        for name in work.units:
            seen[name] = seen.get(name, False) or bool(work.sessions[name] or work.database[name])
    return [name for name, counted in seen.items() if counted]


def table(lines: Sequence[Line]) -> Table:
    """What the terminals' sessions did: a column for each counter that is not 0 in every row."""
    kept = " Medians of the repetitions; pages and records. A counter that is 0 in every row is left out."
    return _table(lines, "sessions", WHAT, f"{explained(lines)}{kept}" if counted_lines(lines) else "")


def of_database(lines: Sequence[Line]) -> Table:
    return _table(
        lines,
        "database",
        "",
        "With what the engine's own threads did (writing pages, collecting garbage), and whoever else used the "
        "database; the session that asked is left out.",
    )


def _table(lines: Sequence[Line], scope: str, title: str, explained: str) -> Table:
    def column(name: str, drop: int) -> Column:
        return Column(_head(name), figure(f"engine_work.{scope}", lambda each: number(each.get(name))), drop=drop)

    columns = [
        Column("row", figure("label", str), right=False),
        *(column(name, 0 if name in FIRST else drop) for drop, name in enumerate(names(lines), start=1)),
    ]
    return Table(columns, counted_lines(lines), "engine-work", title, page_explained=explained)


def _head(name: str) -> str:
    return name.replace("_", " ").replace("seq reads", "sequential reads").replace("idx reads", "indexed reads")


def not_counted(lines: Sequence[Line]) -> list[str]:
    """A sentence for each line of which figures are missing."""
    found = []
    for line in lines:
        if (work := line.engine_work) and work.not_counted is not None:
            part = "not in every repetition" if work.counted else "not counted"
            found.append(f"{line.label}: {part}: {work.not_counted}.")
    return found


def explained(lines: Sequence[Line]) -> str:
    works = _works(lines)
    sources = "; ".join(dict.fromkeys(work.source for work in works))
    committed = sum(work.committed for work in works)
    most = max(work.uncertain for work in works)
    unsure = f", of which up to {most * 100:.2g} % in a repetition were under way at the first reading" if most else ""
    return f"By the sessions of the terminals ({sources}), over {counted(committed, 'commit')}{unsure}."


def own_reports(lines: Sequence[Line], *, parts: bool) -> list[Table]:
    """Each report of a database that has rows; with ``parts`` also the rows of what is no kind of transaction."""
    made = [_own_report(line, report, parts=parts) for line in lines for report in line.own_reports]
    return [table for table in made if table.rows]


def _own_report(line: Line, report: OwnReport, *, parts: bool) -> Table:
    heads = tuple(column.replace("_", " ") for column in report.columns)
    rows = [tuple(cell or NOTHING for cell in row) for row in report.rows]
    if report.by_kind:
        ours = _ours(line)
        heads = (heads[0], *(f"ours: {name}" for name in OURS), *heads[1:])
        theirs = {row[0]: row for row in rows}
        # What was never done has no row in the database's own report.
        names = [*ours, *(name for name in theirs if name not in ours and parts)]
        blank = (NOTHING,)
        rows = [
            (name, *ours.get(name, blank * len(OURS)), *theirs.get(name, blank * len(report.columns))[1:])
            for name in names
        ]
    columns = [
        Column(head, lambda row, at=at: row[at], right=at > 0, drop=at if at > 4 else 0)  # type: ignore[misc]
        for at, head in enumerate(heads)
    ]
    return Table(
        columns,
        rows,
        "own-report",
        f"{line.label}: the database's own report: {report.title}",
        caption=f"{line.label}: {report.title}",
    )


def _ours(line: Line) -> Mapping[str, tuple[str, ...]]:
    result = line.row.done[0].result
    return {
        kind.name: tuple(f"{count:,}" for count in (kind.committed, kind.rolled_back, kind.conflicts, kind.errors))
        for kind in (result.kinds if result else ())
    }
