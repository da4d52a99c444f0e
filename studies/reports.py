"""Tables that the reports of a run or of power cuts have already, as a study shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from acidtest.analysis.omission import omissions
from acidtest.analysis.recovered import recovered
from acidtest.analysis.samples import rows as rows_of
from acidtest.analysis.survival import Survival, survivals
from acidtest.audit.unchecked.cuts import images_at_most, may_still_lose
from acidtest.journal.models import Journal
from acidtest.report import omission_table, recovery_table
from acidtest.report.numbers import number
from acidtest.report.pivot import short
from acidtest.report.survival_table import varied_of
from studies.study import Command, Kind


@dataclass(frozen=True)
class Shown:
    """A table; nothing to show has no rows. ``found`` is what each row is of."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    explained: str
    found: Sequence[Any]


@dataclass(frozen=True)
class Source:
    """Whose journal a table is made of, and how."""

    command: Command
    of: Callable[[Journal], Shown]


def recovery(journal: Journal) -> Shown:
    """Recovery after a cut, piece by piece."""
    varied, found = varied_of(journal.header), recovered(journal.recordings)
    rows = [[*(row.levels.get(f, "") for f in varied), *recovery_table.cells(row)] for row in found]
    notes = " ".join(recovery_table.notes(found))
    explained = f"{recovery_table.EXPLAINED} {notes}".rstrip()
    return Shown([*map(short, varied), *recovery_table.COLUMNS], rows, explained, found)


def omission(journal: Journal) -> Shown:
    """The same load open and closed."""
    found = omissions(rows_of(journal.header, journal.recordings))
    columns = omission_table.columns(found)
    rows = [[str(column.cell(one)) for column in columns] for one in found]
    notes = " ".join(omission_table.notes(found))
    return Shown([column.head for column in columns], rows, f"{omission_table.EXPLAINED} {notes}".rstrip(), found)


def crash_states(journal: Journal) -> Shown:
    """How many states were looked at, of how many, and what became of them."""
    varied = varied_of(journal.header)
    found = [row for row in survivals(journal.recordings) if row.states]
    rows = [[*(row.levels.get(f, "") for f in varied), *_explored(row)] for row in found]
    heads = ["verdict", "states", "different images", "of at most", "states that lost", "ends of recovery"]
    return Shown(
        [*map(short, varied), *heads, "draws that may lose, at 95 %"],
        rows,
        "An image is what the disk holds; “of at most” is how many images a cut at any moment of the load could have "
        "left. Some states are chosen, the others drawn by lot; the last column is the share of such draws that may "
        "still lose something although none did.",
        found,
    )


def _explored(row: Survival) -> list[str]:
    lost = row.losses_announced + row.losses_unannounced
    drawn = f"up to {number(100 * may_still_lose(row.states_drawn), 2)} %" if row.states_drawn and not lost else "–"
    return [
        row.said,
        f"{row.states:,}",
        "–" if row.images is None else f"{row.images:,}",
        "–" if row.legal_log10 is None else images_at_most(row.legal_log10),
        f"{lost:,}",
        "–" if row.outcomes is None else f"{row.outcomes:,}",
        drawn,
    ]


REPORTS: dict[Kind, Source] = {
    "recovery": Source("powercut", recovery),
    "crash-states": Source("powercut", crash_states),
    "omission": Source("run", omission),
}
