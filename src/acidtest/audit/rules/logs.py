"""What servers wrote into their logs. Firebird's restarts have rules of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from acidtest.audit.bench import Bench
from acidtest.audit.rules.builds import measured, named
from acidtest.finding import Found, rule
from acidtest.words import counted


def _entries(bench: Bench, *kinds: str) -> Iterator[Found]:
    for side in bench.sides:
        for one in side.log:
            if one.kind in kinds:
                times = "once" if one.count == 1 else counted(one.count, "time")
                yield Found(
                    f"{named(side, bench.sides)}: {times}: {one.text}",
                    (one.where.says(f"{times}, the first one here"),),
                )


@rule(
    "deadlocks-in-log",
    severity="doubtful",
    over=Bench,
    says="Transactions were refused because of others: their retries are part of what was measured.",
    remedy="Count refusals and retries beside the rate; use a workload whose hot rows are intended.",
    disproved_by="a date of these entries outside of the measured time",
    source="PostgreSQL's manual, 13.5 (serialization failure handling); MySQL's manual, 17.7.5 (deadlocks in InnoDB); "
    "Firebird's Language Reference, SET TRANSACTION: resolving a lock conflict, and isc_deadlock",
)
def deadlocks_in_log(bench: Bench) -> Iterator[Found]:
    yield from _entries(bench, "deadlock", "serialization")


@rule(
    "crash-in-log",
    severity="doubtful",
    over=Bench,
    says="A server process died: figures from around that time are of a restart.",
    remedy="State when it was, and leave out every run that it affects.",
    disproved_by="a date of these entries outside of the measured time",
    source="PostgreSQL's postmaster.c, MySQL's signal_handler.cc, Firebird's guard.cpp",
)
def crash_in_log(bench: Bench) -> Iterator[Found]:
    yield from _entries(bench, "crash")


@rule(
    "corruption-in-log",
    severity="invalid",
    over=Bench,
    says="The server found its own files damaged: nothing that was measured on them is of a working database.",
    remedy="Find what damages them before measuring; acidtest probe shows whether the storage plausibly flushes.",
    disproved_by="a check of the measured files that finds nothing, or a date of these entries outside of the "
    "measured time",
    source="PostgreSQL's bufmgr.c, InnoDB's buf0buf.cc, Firebird's err.cpp",
)
def corruption_in_log(bench: Bench) -> Iterator[Found]:
    for side in bench.sides:
        for found in _entries(replace(bench, sides=[side]), "corruption"):
            yield replace(found, evidence=(*found.evidence, *measured(bench, side)))


@rule(
    "recovery-in-log",
    severity="note",
    over=Bench,
    says="The server had stopped without a shutdown and recovered: its caches were cold, and its files had changed.",
    remedy="Stop servers in order between runs, or state that the crash was intended.",
    disproved_by="a date of these entries outside of the measured time",
    source="PostgreSQL's xlogrecovery.c, InnoDB's log0recv.cc",
)
def recovery_in_log(bench: Bench) -> Iterator[Found]:
    yield from _entries(bench, "recovery")


@rule(
    "errors-in-log",
    severity="note",
    over=Bench,
    says="The server logged errors.",
    remedy="Remove their cause, or state why they do not matter.",
    disproved_by="a date of these entries outside of the measured time",
    source="PostgreSQL's manual, table 20.2; MySQL's manual, 7.4.2",
)
def errors_in_log(bench: Bench) -> Iterator[Found]:
    # Firebird logs each client that goes without a word as an error.
    yield from _entries(Bench([side for side in bench.sides if side.engine != "firebird"]), "error")


@rule(
    "checkpoints-frequent",
    severity="doubtful",
    over=Bench,
    says="PostgreSQL logs that its checkpoints come too often: whole pages go into the log again and again.",
    remedy="Raise max_wal_size until checkpoints come by time, and state its value.",
    disproved_by="a date of these entries outside of the measured time",
    source="PostgreSQL's manual: WAL Configuration, checkpoint_warning",
    about="settings",
)
def checkpoints_frequent(bench: Bench) -> Iterator[Found]:
    yield from _entries(bench, "checkpoints-frequent")


@rule(
    "flush-behind",
    severity="doubtful",
    over=Bench,
    says="InnoDB logs that its page cleaner or its log cannot keep up: work is put off, so the rate cannot last.",
    remedy="Size the log and innodb_io_capacity for the load, and measure longer.",
    disproved_by="a date of these entries outside of the measured time",
    source="InnoDB's buf0flu.cc and log0chkp.cc",
    about="settings",
)
def flush_behind(bench: Bench) -> Iterator[Found]:
    yield from _entries(bench, "flush-behind")


@rule(
    "checkpoints-forced",
    severity="doubtful",
    over=Bench,
    says="PostgreSQL's log shows that checkpoints began because the write-ahead log was full, not because it was time: "
    "what they write and flush is part of every rate.",
    remedy="Raise max_wal_size until checkpoints come by time, and state its value.",
    disproved_by="a date of these entries outside of the measured time",
    source="PostgreSQL's manual: WAL Configuration, max_wal_size",
    about="settings",
)
def checkpoints_forced(bench: Bench) -> Iterator[Found]:
    yield from _entries(bench, "checkpoints-at-once")
    yield from (replace(one, noted=True) for one in _entries(bench, "checkpoints-forced"))


@rule(
    "flush-stalls",
    severity="doubtful",
    over=Bench,
    says="A checkpoint waited for more than a second until one file was on the drive: the drive stalls, and commits "
    "with it.",
    remedy="Find what else writes to the drive, and show rates and latencies over time.",
    disproved_by="a date of these entries outside of the measured time",
    source="PostgreSQL's manual: log_checkpoints; xlog.c, LogCheckpointEnd",
)
def flush_stalls(bench: Bench) -> Iterator[Found]:
    yield from _entries(bench, "flush-stall")
