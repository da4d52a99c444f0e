"""PostgreSQL: transaction numbers, what holds old versions, its settings, vacuum."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.analysis.database import GAP_MAX, PAGES_MIN
from acidtest.analysis.health.base import HITS_MIN_PERCENT, OPEN_MAX_S, READS_MIN, Rule, Sign, listed, missed, number
from acidtest.journal.inspected import Inspected
from acidtest.words import counted

XID_MAX = 2**31 - 3_000_000
XID_SEVERE = 1_600_000_000  # vacuum_failsafe_age: vacuum then drops all else
IDLE_MAX_S = 300
VACUUM = "PostgreSQL's manual, Routine Vacuuming"
MONITORING = "PostgreSQL's manual, The Cumulative Statistics System"


def wraparound(inspected: Inspected) -> Iterator[Sign]:
    kinds = (
        ("transaction_age", "autovacuum_freeze_max_age", "transaction numbers"),
        ("multixact_age", "autovacuum_multixact_freeze_max_age", "multixact numbers"),
    )
    for fact, setting, what in kinds:
        age, most = number(inspected, fact), number(inspected, setting)
        if most and age > most:
            yield Sign(
                "wraparound",
                "severe" if age >= XID_SEVERE else "note",
                f"The oldest {what} in this database are {age:,} old; at {XID_MAX:,} PostgreSQL refuses to write.",
                f"{setting}, which is {most:,}; severe from {XID_SEVERE:,} on",
                "VACUUM (FREEZE) the tables with the highest age(relfrozenxid), and end what keeps vacuum from it: old "
                "transactions, prepared ones, replication slots.",
                "PostgreSQL's manual, Preventing Transaction ID Wraparound Failures",
            )


def horizon(inspected: Inspected) -> Iterator[Sign]:
    if inspected.family != "postgresql":
        return
    age, seconds = number(inspected, "held_age"), number(inspected, "held_s")
    if age > GAP_MAX or seconds > OPEN_MAX_S:
        since = f", for {seconds:,} s" if seconds else ""
        yield Sign(
            "horizon-held",
            "severe",
            f"The oldest row version that must be kept is {counted(age, 'transaction')} old: "
            f"{inspected.facts.get('held_by')} holds it{since}.",
            f"{GAP_MAX:,} transactions, or {OPEN_MAX_S:,} s",
            "End that session (pg_terminate_backend), prepared transaction (ROLLBACK PREPARED) or slot "
            "(pg_drop_replication_slot), then VACUUM.",
            VACUUM,
        )
    idle, idle_s = number(inspected, "idle_in_transaction"), number(inspected, "idle_in_transaction_s")
    if idle and idle_s > IDLE_MAX_S:
        yield Sign(
            "idle-in-transaction",
            "note",
            f"{counted(idle, 'session is', 'sessions are')} idle within a transaction, one for {idle_s:,} s.",
            f"{IDLE_MAX_S} s",
            "Let the program commit before it waits; idle_in_transaction_session_timeout ends such sessions.",
            "PostgreSQL's manual, idle_in_transaction_session_timeout",
        )
    slots, wal = number(inspected, "inactive_slots"), number(inspected, "inactive_slots_wal_bytes")
    if slots:
        yield Sign(
            "slot-inactive",
            "note",
            f"{counted(slots, 'replication slot is', 'replication slots are')} not in use and keep "
            f"{wal / 1e6:,.1f} MB of WAL, which grows without limit unless max_slot_wal_keep_size is set.",
            "one inactive slot",
            "Let its receiver connect again, or drop it: pg_drop_replication_slot.",
            "PostgreSQL's manual, Replication Slots",
        )


def postgresql_settings(inspected: Inspected) -> Iterator[Sign]:
    what = {
        "fsync": "a crash of the system can damage the database beyond repair",
        "full_page_writes": "a power cut can leave pages that are half old and half new",
        "autovacuum": "nothing removes dead rows or freezes old ones, until a wraparound is near",
    }
    for name, means in what.items():
        if inspected.facts.get(name) == "off":
            yield Sign(
                f"{name.replace('_', '-')}-off",
                "severe",
                f"{name} is off: {means}.",
                f"{name} = off",
                f"Set {name} = on{', unless all of it can be made again' if name != 'autovacuum' else ''}.",
                f"PostgreSQL's manual, {name}",
            )
    if failures := number(inspected, "checksum_failures"):
        yield Sign(
            "checksum-failures",
            "severe",
            f"{counted(failures, 'page')} failed their checksums since the counters were reset.",
            "one page",
            "Look for the storage's errors (dmesg, SMART), check the database with pg_amcheck, and test a backup.",
            "PostgreSQL's manual, Data Checksums",
        )
    hits, reads = number(inspected, "buffer_hits"), number(inspected, "buffer_reads")
    if reads > READS_MIN and 100 * hits < HITS_MIN_PERCENT * (hits + reads):
        yield missed("shared_buffers", hits, reads, MONITORING)


LISTED: tuple[Rule, ...] = (
    listed(
        "vacuum-behind",
        "not_vacuumed",
        "Autovacuum does not keep up",
        "autovacuum_vacuum_threshold and its scale factor, as they are set",
        "See pg_stat_progress_vacuum and what holds rows back; give autovacuum more workers or a higher cost limit.",
        VACUUM,
    ),
    listed(
        "index-unused",
        "unused_indexes",
        "No query has used an index since the counters were reset",
        f"no scan, {PAGES_MIN} pages or more, and not unique",
        "If that also holds on the replicas and over a whole month, drop it: it costs each write.",
        MONITORING,
    ),
    listed(
        "index-invalid",
        "invalid_indexes",
        "An index is invalid: it costs writes, and no query uses it",
        "one index",
        "REINDEX INDEX CONCURRENTLY, or drop it: a CREATE INDEX CONCURRENTLY failed.",
        "PostgreSQL's manual, Building Indexes Concurrently",
    ),
    listed(
        "never-analyzed",
        "not_analyzed",
        "The planner knows nothing of a table",
        "never analyzed, and 1,000 rows or more",
        "ANALYZE it.",
        VACUUM,
    ),
)
