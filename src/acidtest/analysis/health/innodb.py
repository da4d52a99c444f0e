"""InnoDB: its history, open transactions, its settings, its tables."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.analysis.database import HISTORY_MAX
from acidtest.analysis.health.base import HITS_MIN_PERCENT, OPEN_MAX_S, READS_MIN, Rule, Sign, listed, missed, number
from acidtest.journal.inspected import Inspected

INNODB = "MySQL's manual, InnoDB Purge Configuration"


def innodb(inspected: Inspected) -> Iterator[Sign]:
    if inspected.family != "mysql":
        return
    if (history := number(inspected, "history_list")) > HISTORY_MAX:
        yield Sign(
            "history-long",
            "severe",
            f"{history:,} committed transactions wait in the history list to be purged, and reads pass over what they "
            "left.",
            f"{HISTORY_MAX:,} transactions",
            "Find the oldest in information_schema.innodb_trx and end it; if there is none, let purge catch up "
            "(innodb_purge_threads, innodb_max_purge_lag).",
            INNODB,
        )
    if (seconds := number(inspected, "oldest_transaction_s")) > OPEN_MAX_S:
        yield Sign(
            "transaction-stays-open",
            "severe",
            f"A transaction has been open for {seconds:,} s: nothing that was changed since can be purged.",
            f"{OPEN_MAX_S:,} s",
            "Find it in information_schema.innodb_trx and end its connection: KILL.",
            INNODB,
        )
    at_commit = inspected.facts.get("innodb_flush_log_at_trx_commit")
    if at_commit in (0, 2):
        yield Sign(
            "commits-not-flushed",
            "note",
            f"innodb_flush_log_at_trx_commit is {at_commit}: a power cut loses about the last second of commits.",
            "any value but 1",
            "Set it to 1, unless that loss was decided on.",
            "acidtest help docs/DURABILITY.md",
        )
    if str(inspected.facts.get("innodb_doublewrite", "")).upper() in ("OFF", "0", "DETECT_ONLY"):
        yield Sign(
            "doublewrite-off",
            "severe",
            "innodb_doublewrite is off: a power cut can leave pages that are half old and half new.",
            "innodb_doublewrite = OFF",
            "Switch it on, unless the storage writes whole pages at once and says so.",
            "acidtest help docs/DURABILITY.md",
        )
    requests = number(inspected, "innodb_buffer_pool_read_requests")
    reads = number(inspected, "innodb_buffer_pool_reads")
    if reads > READS_MIN and 100 * (requests - reads) < HITS_MIN_PERCENT * requests:
        yield missed("innodb_buffer_pool_size", requests - reads, reads, "MySQL's manual, Server Status Variables")


LISTED: tuple[Rule, ...] = (
    listed(
        "files-hollow",
        "hollow_files",
        "Room in a table's file is free and stays with the table",
        "a quarter of the file, and 100 pages",
        "OPTIMIZE TABLE gives it back, if the room is needed: it rebuilds the table.",
        "MySQL's manual, INFORMATION_SCHEMA TABLES, DATA_FREE",
    ),
    listed(
        "no-primary-key",
        "without_primary_key",
        "A table has no primary key: InnoDB stores it by a number of its own, and replicas search it row by row",
        "one table",
        "Give it a primary key.",
        "MySQL's manual, Clustered and Secondary Indexes",
    ),
    listed(
        "not-innodb",
        "other_engines",
        "A table is not InnoDB's: it has no transactions, and figures here are without it",
        "one table",
        "ALTER TABLE ... ENGINE = InnoDB, if it is to survive a crash.",
        "MySQL's manual, Alternative Storage Engines",
    ),
)
