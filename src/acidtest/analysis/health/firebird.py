"""Firebird: its transactions' gaps, its header, its indexes."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.analysis.database import GAP_MAX
from acidtest.analysis.health.base import GSTAT, Rule, Sign, listed, number
from acidtest.journal.inspected import Inspected
from acidtest.words import counted

DEPTH_MAX = 3
FRAGMENTS_MIN, FRAGMENTS_SHARE_MIN = 1_000, 0.1
FIREBIRD_TRANSACTIONS_MAX = 2**48 - 1
NEAR_THE_END = 0.5
SWEEP = "Firebird's gfix manual, Sweeping: the automatic sweep begins when the gap is beyond the sweep interval"

STATES = {
    "in_limbo": (
        "is in limbo: prepared, and neither committed nor rolled back",
        "List it with gfix -list, and end it with gfix -commit or -rollback; then sweep.",
    ),
    "rolled_back": (
        "was rolled back, or its program died: only a sweep takes away what it left",
        "Sweep at a quiet hour: gfix -sweep. If sweeps never come, check the sweep interval.",
    ),
    "active": (
        "has not ended, or its program died with the server",
        "",
    ),
}
OPEN = (
    "Look for a transaction that stays open (select * from mon$transactions), end its program or attachment and let "
    "that commit more often; then sweep: gfix -sweep."
)
# Firebird's own words: a transaction without an attachment is dead, and what meets it takes it for rolled back.
CLOSED = (
    "No program is seen to have this file open. If it is a copy, look first in the server that it comes from for a "
    "transaction that stays open (select * from mon$transactions), and end that. If it is the database itself, nobody "
    "holds a transaction: a sweep (gfix -sweep) removes what was left."
)


def end_it(inspected: Inspected) -> str:
    """What to do about a transaction that keeps old versions, for all rules that find its traces."""
    return CLOSED if inspected.is_held is False else OPEN


def old_transaction(inspected: Inspected) -> Iterator[Sign]:
    """Firebird's gaps: what keeps garbage, and whether it is a transaction at work."""
    if inspected.family != "firebird":
        return
    oldest, active, following = (
        number(inspected, name) for name in ("oldest_transaction", "oldest_active", "next_transaction")
    )
    interval = number(inspected, "sweep_interval")
    if following - active > GAP_MAX:
        yield Sign(
            "transaction-stays-open",
            "severe",
            f"The oldest active transaction is {active:,} and the next is {following:,}: {following - active:,} have "
            "begun since, and no version that they made obsolete could be removed.",
            f"{GAP_MAX:,} transactions between oldest active and next",
            end_it(inspected),
            SWEEP,
        )
    if active - oldest > (limit := max(interval, GAP_MAX)):
        state, do = STATES.get(str(inspected.facts.get("oldest_state")), ("", "Sweep at a quiet hour: gfix -sweep."))
        if inspected.is_held is False and inspected.facts.get("oldest_state") == "active":
            state = "did not end, or has not yet in the server that the file comes from"
        yield Sign(
            "oldest-transaction-stuck",
            "severe",
            f"The oldest interesting transaction, {oldest:,}, lies {active - oldest:,} behind the oldest active, "
            f"{active:,}{f'; it {state}' if state else ''}.",
            f"{counted(limit, 'transaction')}, the sweep interval or {GAP_MAX:,}",
            do or end_it(inspected),
            SWEEP,
        )
    if interval == 0 and following - oldest > GAP_MAX:
        yield Sign(
            "no-automatic-sweep",
            "note",
            f"The automatic sweep is off; between oldest and next lie {counted(following - oldest, 'transaction')}.",
            f"an interval of 0, and {GAP_MAX:,} transactions",
            "Sweep by a task at a quiet hour (gfix -sweep), or set an interval (gfix -housekeeping 20000).",
            SWEEP,
        )
    if limbo := number(inspected, "in_limbo"):
        yield Sign(
            "in-limbo",
            "severe",
            f"{counted(limbo, 'transaction is', 'transactions are')} in limbo: prepared, and neither committed nor "
            "rolled back. Rows that they changed cannot be changed by others.",
            "one transaction in limbo",
            "List them with gfix -list, and end them with gfix -commit or -rollback.",
            "Firebird's gfix manual, Limbo Transactions",
        )
    if following > NEAR_THE_END * FIREBIRD_TRANSACTIONS_MAX:
        yield Sign(
            "transaction-numbers-end",
            "severe",
            f"The next transaction is {following:,}, of at most {FIREBIRD_TRANSACTIONS_MAX:,}.",
            f"{NEAR_THE_END:.0%} of them",
            "Back it up and restore it with gbak: numbers then begin again.",
            "Firebird 3.0 release notes: 48-bit transaction numbers",
        )


def firebird_header(inspected: Inspected) -> Iterator[Sign]:
    if inspected.family != "firebird":
        return
    if inspected.facts.get("forced_writes") is False and inspected.facts.get("read_only") is not True:
        yield Sign(
            "forced-writes-off",
            "severe",
            "Forced writes are off: a power cut or a crash of the system can lose commits and damage the database.",
            "forced writes off",
            "Switch them on with gfix -write sync, unless all of it can be made again.",
            "acidtest help docs/DURABILITY.md",
        )
    if inspected.facts.get("backup_locked") is True:
        yield Sign(
            "backup-lock",
            "note",
            "nbackup has locked the file: changes go to another file, and these figures are of the time of the lock.",
            "the lock in the header",
            "If no backup is at work, end the lock with nbackup -N (alter database end backup).",
            "Firebird's nbackup manual, Lock, backup yourself, unlock",
        )
    fragments = number(inspected, "fragments")
    records = sum(table.records or 0 for table in inspected.statistics.tables) if inspected.statistics else 0
    if fragments >= FRAGMENTS_MIN and fragments >= FRAGMENTS_SHARE_MIN * records:
        yield Sign(
            "records-fragmented",
            "note",
            f"{counted(fragments, 'part of a record lies', 'parts of records lie')} on other pages than the records "
            f"themselves, of which there are {records:,}.",
            f"{FRAGMENTS_MIN:,} parts, and a tenth of the records",
            "Back up and restore with a larger page size; rows that are longer than a page are always in parts.",
            GSTAT,
        )


def deep_indexes(inspected: Inspected) -> Iterator[Sign]:
    if inspected.family != "firebird" or not inspected.statistics:
        return
    deep = [index for index in inspected.statistics.indexes if (index.depth or 0) > DEPTH_MAX]
    if deep:
        worst = max(deep, key=lambda index: (index.depth or 0, index.keys or 0))
        page = inspected.statistics.page_bytes
        yield Sign(
            "index-deep",
            "note",
            f"{counted(len(deep), 'index has', 'indexes have')} more than {DEPTH_MAX} levels: {worst.name} of "
            f"{worst.table} has {worst.depth}, with {counted(worst.keys or 0, 'key')} on pages of {page:,} bytes.",
            f"{DEPTH_MAX} levels",
            "Restore with a larger page size (gbak -page_size), up to 16384 or, from Firebird 4 on, 32768.",
            "Firebird's gstat manual, index depth: more than three levels cost each look-up a page",
            tuple(f"index {index.name} of {index.table}: {counted(index.depth or 0, 'level')}" for index in deep),
        )


LISTED: tuple[Rule, ...] = (
    listed(
        "index-off",
        "indexes_off",
        "An index is switched off, and no query uses it",
        "one index",
        "Switch it on with ALTER INDEX ... ACTIVE, or drop it: a restore or a load may have left it so.",
        GSTAT,
    ),
)
