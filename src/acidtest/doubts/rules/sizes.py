"""Our own recordings: logs that grew while they were measured."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.analysis import sizes
from acidtest.analysis.samples import Row
from acidtest.finding import Found, rule


@rule(
    "log-not-reused",
    severity="note",
    says="The engine's log grew all through the run and was not reused: readers held it back, one that keeps an "
    "old snapshot or several in turn. The longer such a run is, the larger the log, and the slower its readers.",
    remedy="End transactions that stay open, and leave checkpoints a moment without readers; of PostgreSQL see "
    "replication slots and archive_command.",
    source="SQLite's documentation, wal.html, Avoiding Excessively Large WAL Files; PostgreSQL's manual, 28.5",
)
def log_not_reused(row: Row) -> Iterator[Found]:
    grown = [(r.sizes, over) for r in row.done if r.sizes and (over := sizes.not_reused(r.sizes))]
    if grown:
        of, (before, after) = max(grown, key=lambda one: one[1][1])
        yield Found(
            f"The log ({of.log}) grew from {before / 1e6:,.0f} to {after / 1e6:,.0f} MB and was not reused: readers "
            "held it back, one that keeps an old snapshot or several in turn."
        )
