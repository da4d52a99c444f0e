"""SQLite: its log, the order of its pages, its statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidtest.analysis import database
from acidtest.analysis.database import PAGES_MIN
from acidtest.analysis.health.base import Sign, number
from acidtest.journal.inspected import Inspected
from acidtest.journal.models import IndexStatistics
from acidtest.words import counted

CHECKPOINT_PAGES, WAL_TIMES = 1_000, 4
APART_MIN_PERCENT = 50


def sqlite(inspected: Inspected) -> Iterator[Sign]:
    if inspected.family != "sqlite":
        return
    page, wal = number(inspected, "page_bytes"), number(inspected, "wal_bytes")
    if wal > WAL_TIMES * CHECKPOINT_PAGES * page > 0:
        yield Sign(
            "wal-long",
            "note",
            f"The write-ahead log has {wal / 1e6:,.1f} MB: checkpoints do not get to its end, and each reader looks "
            "through it.",
            f"{WAL_TIMES} times the {CHECKPOINT_PAGES:,} pages after which SQLite checkpoints by itself",
            "Look for a reader that stays open; then PRAGMA wal_checkpoint(TRUNCATE).",
            "https://sqlite.org/wal.html, Avoiding Excessively Large WAL Files",
        )
    followed, apart = number(inspected, "leaves_followed"), number(inspected, "leaves_apart")
    if followed >= PAGES_MIN and 100 * apart > APART_MIN_PERCENT * followed:
        yield Sign(
            "leaves-scattered",
            "note",
            f"{apart:,} of {followed:,} leaf pages ({100 * apart / followed:.0f} %) do not lie behind the one before "
            "them: a scan jumps about in the file.",
            f"{APART_MIN_PERCENT} %, of {PAGES_MIN} pages or more",
            "Run VACUUM: it writes each table and index in order.",
            "https://sqlite.org/sqlanalyze.html, non-sequential pages",
        )
    has_indexes = any(index.name not in ("rowid", "primary key") for index in _indexes(inspected))
    rows = sum(table.records or 0 for table in inspected.statistics.tables) if inspected.statistics else 0
    if inspected.facts.get("has_statistics") is False and has_indexes and rows >= database.KEYS_MIN:
        yield Sign(
            "never-analyzed",
            "note",
            f"There is no table sqlite_stat1, and {counted(rows, 'row')} with indexes: SQLite guesses which index is "
            "better.",
            f"{database.KEYS_MIN:,} rows, and an index",
            "Run ANALYZE, or PRAGMA optimize from time to time.",
            "https://sqlite.org/lang_analyze.html",
        )


def _indexes(inspected: Inspected) -> Sequence[IndexStatistics]:
    return inspected.statistics.indexes if inspected.statistics else ()
