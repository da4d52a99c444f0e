"""Files by their roles, and counts of calls put together."""

from __future__ import annotations

import pytest

from acidtest.analysis.calls import joined, role, uses
from acidtest.journal.protocol import CallCount, ObservedCalls, ObservedFile, ObservedLine, TypicalCommit


@pytest.mark.parametrize(
    ("engine", "path", "expected"),
    [
        ("sqlite", "data/acidtest.db", "database"),
        ("sqlite", "data/acidtest.db-wal", "log"),
        ("sqlite", "data/acidtest.db-journal", "journal"),
        ("sqlite", "data/acidtest.db-shm", "shared memory"),
        ("sqlite", ".", "directory"),
        ("firebird-5.0", "data/database.fdb", "database"),
        ("firebird-3.0-server", "tmp/fb_sort_a1b2c3", "temp"),
        ("firebird-4.0", "lock/fb12_lock_8f", "lock table"),
        ("postgresql-17", "data/pg_wal/000000010000000000000001", "log"),
        ("postgresql-17", "data/base/5/1259", "database"),
        ("postgresql-17", "data/base/pgsql_tmp/pgsql_tmp7.0", "temp"),
        ("postgresql-17", "data/pg_xact/0000", "transaction status"),
        ("mariadb-10.11", "data/ib_logfile0", "log"),
        ("mariadb-10.11", "data/ibtmp1", "temp"),
        ("mariadb-10.11", "data/ibdata1", "database"),
        ("mariadb-10.11", "data/acidtest/commits.ibd", "database"),
        ("mysql-5.5", "data/mysql-bin.000001", "binary log"),
        ("mysql-5.5", "*", "not shown"),
        ("mysql-5.5", "?", "not named"),
        ("unheard-of", "data/x", "other"),
    ],
)
def test_roles(engine: str, path: str, expected: str) -> None:
    assert role(engine, path) == expected


def call(name: str, how: str = "", count: int = 10, length: int = 0) -> CallCount:
    return CallCount(call=name, how=how, count=count, errors=0, bytes=length, total_us=count * 2.0, max_us=3.0)


def observed(*files: ObservedFile) -> ObservedCalls:
    return ObservedCalls(
        means="kernel", tied_by="thread", seconds=1, calls=1, dropped=0, commits=10, files=list(files), storage=[],
        per_commit=None, typical=None,
    )  # fmt: skip


def test_a_durable_write_is_a_write_and_a_flush() -> None:
    calls = [
        call("pwrite64", "O_DSYNC|O_DIRECT", 7, 700),
        call("pwrite64", "", 3, 30),
        call("fdatasync", count=2),
        call("openat"),
    ]
    (use,) = uses(observed(ObservedFile(path="data/x.db", flags=["O_RDWR"], calls=calls)), "sqlite")
    assert (use.writes, use.write_bytes, dict(use.flushes), use.others) == (10, 730, {"O_DSYNC": 7, "fdatasync": 2}, 10)
    assert use.flush_us == 18


def test_the_busiest_files_come_first() -> None:
    read = ObservedFile(path="a", flags=[], calls=[call("pread64", count=1000)])
    flushed = ObservedFile(path="b", flags=[], calls=[call("fsync", count=1)])
    assert [use.path for use in uses(observed(read, flushed), "sqlite")] == ["b", "a"]


def test_a_disks_log_is_put_beside_the_calls() -> None:
    line = ObservedLine(
        at_us=50.0, lasted_us=10, layer="call", who="t:1", own=True, what="fsync", how="", path="x", offset=None,
        bytes=None, error=None,
    )  # fmt: skip
    typical = TypicalCommit(
        begin_ns=1_000_000, lasted_us=100, commit_at_us=None, terminal=0, alike=1, lines=[line], left_out=0
    )
    logged = [
        (999_999, "write", 0, 512),
        (1_055_000, "flush", None, None),
        (1_020_000, "write", 4096, 512),
        (2_000_000, "flush", None, None),
    ]
    both = joined(typical, logged)
    assert [(line.layer, line.what, line.at_us) for line in both.lines] == [
        ("device", "write", 20.0),
        ("call", "fsync", 50.0),
        ("device", "flush", 55.0),
    ]
