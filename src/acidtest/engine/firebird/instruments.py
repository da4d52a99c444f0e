"""What Firebird counts of each attachment and of the database, and where a database stands.

Counters are those of MON$IO_STATS and MON$RECORD_STATS, which have these columns since Firebird 3; see
doc/README.monitoring_tables of its source. A transaction that reads a MON$ table gets a snapshot of all attachments
that its user may see: an ordinary user sees the own ones. Each such look makes every attachment write down where it is,
so that the figures of each second come by isc_database_info instead. Pages are those of a cache that sessions share; in
the other modes the session that asks would tell of its own.
"""

from __future__ import annotations

from acidtest.engine.instruments import Counter, Counters, Figure, Figures

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
SHARED_CACHE = "exists (select 1 from mon$attachments where mon$system_flag = 1 and mon$user = 'Cache Writer')"

COUNTERS = Counters(
    source="MON$IO_STATS, MON$RECORD_STATS",
    session="select current_connection from rdb$database",
    counted=f"{_rows('mon$attachments', 'o.mon$attachment_id')} "
    f"union all {_rows('mon$database', 'null')} where {SHARED_CACHE}",
    table=[*(Counter(name, "pages") for name in PAGES), *(Counter(name, "records") for name in RECORDS)],
)

TRANSACTIONS = (
    Figure("next_transaction", "transactions begun"),
    Figure("oldest_gap", "transactions from the oldest interesting one to the next", rises=False),
    Figure("active_gap", "transactions from the oldest active one to the next", rises=False),
)
PAGE_FIGURES = (
    Figure("page_reads", "pages read"),
    Figure("page_writes", "pages written"),
    Figure("page_marks", "pages changed"),
    Figure("page_fetches", "pages fetched from the cache"),
)


def figures_of_cache(*, shared: bool) -> Figures:
    """What a database is asked for, whose sessions share a cache or have one each."""
    return Figures("isc_database_info", [], (*(PAGE_FIGURES if shared else ()), *TRANSACTIONS))
