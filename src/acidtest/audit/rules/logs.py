"""What servers wrote into their logs. Firebird's restarts have rules of their own."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.audit.bench import Bench
from acidtest.audit.rules.builds import named
from acidtest.finding import Found, Rule, Severity, rule
from acidtest.words import counted

UNDATED = "a date of these entries outside of the measured time"

RARE = 0.05  # of all checkpoints


def _entries(bench: Bench, *kinds: str) -> Iterator[Found]:
    for side in bench.sides:
        checkpoints = sum(one.count for one in side.log if one.kind == "checkpoint")
        for one in side.log:
            # Firebird logs each client that goes without a word as an error.
            if one.kind in kinds and not (one.kind == "error" and side.engine == "firebird"):
                times = "once" if one.count == 1 else counted(one.count, "time")
                yield Found(
                    f"{named(side, bench.sides)}: {times}: {one.text}",
                    (one.where.says(f"{times}, the first one here"),),
                    noted=one.kind == "checkpoints-forced"
                    or (one.kind == "flush-stall" and one.count < RARE * checkpoints),
                )


def _logged(
    name: str,
    severity: Severity,
    *kinds: str,
    says: str,
    remedy: str,
    source: str,
) -> Rule[Bench]:
    """A rule that tells each entry of these kinds."""

    def find(bench: Bench) -> Iterator[Found]:
        yield from _entries(bench, *kinds)

    return rule(name, severity=severity, says=says, remedy=remedy, source=source, disproved_by=UNDATED)(find)


deadlocks_in_log = _logged(
    "deadlocks-in-log", "doubtful", "deadlock", "serialization",
    says="Transactions were refused because of others: their retries are part of what was measured.",
    remedy="Count refusals and retries beside the rate; use a workload whose hot rows are intended.",
    source="PostgreSQL's manual, 13.5 (serialization failure handling); MySQL's manual, 17.7.5 (deadlocks in InnoDB); "
    "Firebird's Language Reference, SET TRANSACTION: resolving a lock conflict, and isc_deadlock",
)  # fmt: skip
crash_in_log = _logged(
    "crash-in-log", "doubtful", "crash",
    says="A server process died: figures from around that time are of a restart.",
    remedy="State when it was, and leave out every run that it affects.",
    source="PostgreSQL's postmaster.c, MySQL's signal_handler.cc, Firebird's guard.cpp",
)  # fmt: skip
corruption_in_log = _logged(
    "corruption-in-log", "invalid", "corruption",
    says="The server found its own files damaged: nothing that was measured on them is of a working database.",
    remedy="Find what damages them before measuring; acidtest probe shows whether the storage plausibly flushes.",
    source="PostgreSQL's bufmgr.c, InnoDB's buf0buf.cc, Firebird's err.cpp",
)  # fmt: skip
recovery_in_log = _logged(
    "recovery-in-log", "note", "recovery",
    says="The server had stopped without a shutdown and recovered: its caches were cold, and its files had changed.",
    remedy="Stop servers in order between runs, or state that the crash was intended.",
    source="PostgreSQL's xlogrecovery.c, InnoDB's log0recv.cc",
)  # fmt: skip
errors_in_log = _logged(
    "errors-in-log", "note", "error",
    says="The server logged errors.",
    remedy="Remove their cause, or state why they do not matter.",
    source="PostgreSQL's manual, table 20.2; MySQL's manual, 7.4.2",
)  # fmt: skip
checkpoints_frequent = _logged(
    "checkpoints-frequent", "doubtful", "checkpoints-frequent", "checkpoints-at-once", "checkpoints-forced",
    says="PostgreSQL's log shows that checkpoints began because the write-ahead log was full, not because it was time: "
    "what they write and flush is part of every rate.",
    remedy="Raise max_wal_size until checkpoints come by time, and state its value.",
    source="PostgreSQL's manual: WAL Configuration, max_wal_size and checkpoint_warning",
)  # fmt: skip
flush_behind = _logged(
    "flush-behind", "doubtful", "flush-behind",
    says="InnoDB logs that its page cleaner or its log cannot keep up: work is put off, so the rate cannot last.",
    remedy="Size the log and innodb_io_capacity for the load, and measure longer.",
    source="InnoDB's buf0flu.cc and log0chkp.cc",
)  # fmt: skip
flush_stalls = _logged(
    "flush-stalls", "doubtful", "flush-stall",
    says="A checkpoint waited for more than a second until one file was on the drive: the drive stalls, and commits "
    "with it.",
    remedy="Find what else writes to the drive, and show rates and latencies over time.",
    source="PostgreSQL's manual: log_checkpoints; xlog.c, LogCheckpointEnd",
)  # fmt: skip
