"""Tables that the reports of a run or of power cuts have already, as a study shows them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acidtest.analysis.omission import omissions
from acidtest.analysis.samples import rows as rows_of
from acidtest.analysis.survival import Survival, survivals
from acidtest.doubts.unchecked import images_at_most, may_still_lose
from acidtest.journal.models import Explored, Journal, Verdict
from acidtest.report import failure_tables, growth_tables, omission_table
from acidtest.report.numbers import number
from acidtest.report.results import results
from acidtest.report.statistics_tables import StatisticsTables, tables_of
from acidtest.report.survival_table import varied_of
from acidtest.report.table import Column, Table, short
from acidtest.words import counted
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
    """Whose journal a table is made of, and how: of its recordings, or of its lines about crash states too."""

    command: Command
    of: Callable[[Journal, Sequence[Explored]], Shown]


def _recordings(of: Callable[[Journal], Shown]) -> Callable[[Journal, Sequence[Explored]], Shown]:
    return lambda journal, _: of(journal)


def _shown(table: Table) -> Shown:
    """As the report has it."""
    return Shown(table.heads, table.texts, " ".join((table.explained, *table.notes)).strip(), table.rows)


def recovery(journal: Journal) -> Shown:
    """Recovery after a cut, piece by piece."""
    return _shown(failure_tables.recovery(journal, varied_of(journal.header)))


def omission(journal: Journal) -> Shown:
    """The same load open and closed."""
    return _shown(omission_table.table(omissions(rows_of(journal.header, journal.recordings))))


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
        "left. Some states are chosen, the others drawn at random; the last column is the share of such draws that may "
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


@dataclass(frozen=True)
class LostStates:
    """What is wrong in the crash states of a combination that did not survive. The last three add up to ``lost``."""

    levels: Mapping[str, str]
    lost: int
    missing: int  # of them without a commit that was acknowledged
    unreadable: int  # the engine does not start, or does not give its data back
    noticed: int  # it does, and its own check says that something is wrong
    unnoticed: int  # and its own check holds


WRONG = ("without an acknowledged commit", "cannot be read", "the engine's own check says so", "nothing is noticed")
WRONG_EXPLAINED = (
    "Without an acknowledged commit: of those that can be read. The last three columns are of all: the engine does not "
    "start or does not give its data back; it does, and its own check finds what is wrong; it does, and that check "
    "holds."
)


def lost_states(journal: Journal, explored: Sequence[Explored]) -> Shown:
    """What the crash states that lost have lost, and whether the engine notices."""
    varied, found = varied_of(journal.header), _lost_states(journal, explored)
    rows = []
    for one in found:
        counts = (one.lost, one.missing, one.unreadable, one.noticed, one.unnoticed)
        rows.append([*(one.levels.get(f, "") for f in varied), *(f"{n:,}" for n in counts)])
    kept = Counter(line.worst.of for line in explored if line.worst)
    kinds = ", ".join(f"{kind} in {n:,}" for kind, n in kept.most_common())
    batches = f" In each of {counted(kept.total(), 'batch', 'batches')} with a loss the shortest such state: {kinds}."
    heads = [*map(short, varied), "states that lost", *WRONG]
    return Shown(heads, rows, WRONG_EXPLAINED + (batches if kept else ""), found)


def _lost_states(journal: Journal, explored: Sequence[Explored]) -> list[LostStates]:
    ends: dict[str, list[Mapping[str, Verdict]]] = defaultdict(list)
    for line in explored:
        for _, _, outcome, _ in line.states:
            if line.outcomes[outcome].verdict == "lost":
                ends[line.cell].append(line.outcomes[outcome].checks)
    return [
        _wrong(recording.levels, ends[recording.cell]) for recording in journal.recordings if ends.get(recording.cell)
    ]


def _wrong(levels: Mapping[str, str], ends: Sequence[Mapping[str, Verdict]]) -> LostStates:
    def lost(checks: Mapping[str, Verdict], *names: str) -> bool:
        return any(checks.get(name) == "lost" for name in names)

    unreadable = [end for end in ends if lost(end, "file-system-mounts", "engine-starts", "engine-reads-its-data")]
    readable = [end for end in ends if end not in unreadable]
    noticed = [end for end in readable if lost(end, "engine-check-holds")]
    missing = [end for end in readable if lost(end, "acknowledged-commits-are-there")]
    unnoticed = len(readable) - len(noticed)
    return LostStates(levels, len(ends), len(missing), len(unreadable), len(noticed), unnoticed)


def forecasts(journal: Journal) -> Shown:
    """What was predicted of sizes, before they were loaded or looking back, and what was measured; the score of all, and
    what the series say of a knee."""
    grown = [table.growth for table in results(journal, waivers={}).tables if table.growth]
    found = [row for of in grown for row in growth_tables.forecasts(of).rows]
    table = Table(growth_tables.shown(growth_tables.FORECASTS, found), found)
    explained = " ".join(sentence for of in grown for sentence in of.answers)
    return Shown(table.heads, table.texts, explained, [])


def tables(journal: Journal) -> Shown:
    """What the tables of the largest database looked like inside."""
    found = _inside(journal)
    return _of_columns(found, found.table_columns, found.tables) if found else Shown([], [], "", [])


def indexes(journal: Journal) -> Shown:
    """The same of its indexes."""
    found = _inside(journal)
    return _of_columns(found, found.index_columns, found.indexes) if found else Shown([], [], "", [])


def _inside(journal: Journal) -> StatisticsTables | None:
    grown = [table.growth for table in results(journal, waivers={}).tables if table.growth]
    sizes = [at for of in grown for at in of.sizes if at.statistics]
    largest = max(sizes, key=lambda at: at.bytes or 0, default=None)
    return tables_of(largest.statistics) if largest and largest.statistics else None


def _of_columns(found: StatisticsTables, columns: Sequence[Column], of: Sequence[Any]) -> Shown:
    table = Table(columns, of)
    return Shown(table.heads, table.texts, f"By {found.statistics.source}.", [])


REPORTS: dict[Kind, Source] = {
    "recovery": Source("powercut", _recordings(recovery)),
    "crash-states": Source("powercut", _recordings(crash_states)),
    "lost-states": Source("powercut", lost_states),
    "omission": Source("run", _recordings(omission)),
    "forecasts": Source("run", _recordings(forecasts)),
    "tables": Source("run", _recordings(tables)),
    "indexes": Source("run", _recordings(indexes)),
}
