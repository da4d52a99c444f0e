"""Our own recordings: what a database that grows looks like inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from acidtest.analysis import database
from acidtest.analysis.database import StatisticsBySize, Unusual
from acidtest.analysis.samples import Row
from acidtest.finding import Evidence, Found, Rule, Severity, rule
from acidtest.journal.models import DatabaseStatistics

GROWTH_STUDY = "IBSurgeon: Firebird performance degradation: tests, myths and truth (2014)"
GARBAGE = "H. Borrie: The Firebird Book, on garbage collection and sweeping; PostgreSQL's manual, Routine Vacuuming"


def _unusual(
    name: str,
    severity: Severity,
    ask: Callable[[DatabaseStatistics], list[Unusual]],
    found: str,
    *,
    says: str,
    remedy: str,
    source: str,
) -> Rule[Row]:
    """A rule over what ``ask`` finds unusual in a row's database."""

    def find(row: Row) -> Iterator[Found]:
        statistics = database.of_row(row)
        if statistics and (unusual := ask(statistics)):
            yield _gathered(unusual, found)

    return rule(name, severity=severity, says=says, remedy=remedy, source=source)(find)


def _gathered(unusual: list[Unusual], says: str) -> Found:
    """One finding, which names the worst and has all as evidence."""
    first, *others = unusual
    more = f", and {len(others):,} more" if others else ""
    return Found(
        f"{says}: {first.where}, {first.text}{more}.", tuple(Evidence(f"{u.where}: {u.text}") for u in unusual)
    )


pages_empty = _unusual(
    "pages-empty", "note", database.low_fill, "Pages are largely empty",
    says="Pages of a table or an index are largely empty: more of them are read and cached than the data need.",
    remedy="Back up and restore, or rebuild the table or the index; in Firebird, leave reserved space out only where "
    "nothing is updated.",
    source=GROWTH_STUDY,
)  # fmt: skip
pages_hollow = _unusual(
    "pages-hollow", "note", database.hollow, "Pages are full of what is no live record",
    says="Pages of a table are full, but not of live records: old versions, or what is left of deleted records, fill "
    "them.",
    remedy="Let the garbage be collected (sweep, vacuum) before it is measured, or state that it is part of the load.",
    source=GROWTH_STUDY,
)  # fmt: skip
versions_many = _unusual(
    "versions-many", "note", database.long_chains, "Many old versions are kept",
    says="Many old versions of records are kept: readers pass over them.",
    remedy="Let the garbage be collected (sweep, vacuum), and look for a transaction that stays open.",
    source=GARBAGE,
)  # fmt: skip
oldest_transaction_stuck = _unusual(
    "oldest-transaction-stuck", "doubtful", database.stuck, "Garbage cannot be removed",
    says="The oldest transaction lags far behind, or purge does: garbage grows and cannot be removed.",
    remedy="Find the transaction that stays open, is in limbo or was rolled back, end it, and sweep or vacuum; then "
    "measure again.",
    source=GARBAGE,
)  # fmt: skip
index_duplicates = _unusual(
    "index-duplicates", "note", database.repeated, "An index tells few rows apart",
    says="An index has few different values: each of them stands for many rows.",
    remedy="Add a column that distinguishes its rows, or leave the index out.",
    source=GROWTH_STUDY,
)  # fmt: skip


@rule(
    "index-deeper",
    severity="note",
    says="An index got another level between two sizes: each look-up reads one page more.",
    remedy="Use a larger page to keep it flat; expect a step in the rate there, not a slope.",
    source=GROWTH_STUDY,
)
def index_deeper(by_size: StatisticsBySize) -> Iterator[Found]:
    if unusual := database.deeper(by_size):
        yield _gathered(unusual, f"Indexes get deeper as it grows ({by_size.name})")
