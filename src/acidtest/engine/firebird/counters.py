"""What Firebird counts of each attachment and of the database: MON$IO_STATS and MON$RECORD_STATS.

A transaction that reads a MON$ table gets a snapshot of all attachments that its user may see: an ordinary user sees
the own ones. Both tables have these columns since Firebird 3; see
doc/README.monitoring_tables of its source.
"""

from __future__ import annotations

from acidtest.engine.counters import Counter, Counters

PAGES = ("page_reads", "page_writes", "page_fetches", "page_marks")
RECORDS = (
    "record_seq_reads",
    "record_idx_reads",
    "record_inserts",
    "record_updates",
    "record_deletes",
    "record_backouts",
    "record_purges",
    "record_expunges",
    "record_locks",
    "record_waits",
    "record_conflicts",
    "backversion_reads",
    "fragment_reads",
    "record_rpt_reads",
)


def _rows(of: str, number: str) -> str:
    columns = ", ".join([*(f"p.mon${name}" for name in PAGES), *(f"r.mon${name}" for name in RECORDS)])
    return (
        f"select {number}, {columns} from {of} o "  # noqa: S608 - our words
        "join mon$io_stats p on p.mon$stat_id = o.mon$stat_id "
        "join mon$record_stats r on r.mon$stat_id = o.mon$stat_id"
    )


# In Classic and SuperClassic each session has counters of the database to itself: only a cache that sessions share has
# a writer (CCH_init2 in Firebird's src/jrd/cch.cpp). Who may not see it is not told of the whole database.
SHARED = "exists (select 1 from mon$attachments where mon$system_flag = 1 and mon$user = 'Cache Writer')"

COUNTERS = Counters(
    source="MON$IO_STATS, MON$RECORD_STATS",
    session="select current_connection from rdb$database",
    counted=f"{_rows('mon$attachments', 'o.mon$attachment_id')} "
    f"union all {_rows('mon$database', 'null')} where {SHARED}",
    table=[*(Counter(name, "pages") for name in PAGES), *(Counter(name, "records") for name in RECORDS)],
)
