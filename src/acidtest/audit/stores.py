"""The stores that a kit compares, and what each promises of a write when nobody sets anything.

A store is one of those that are compared if results, tables or headings name it; that the kit only starts one, as an
application's cache is started, says nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from acidtest.audit.bench import Bench, Statement, Where, once
from acidtest.finding import Evidence

# When a write is acknowledged: once it is on the drive, once it is in a log that is flushed later, or before either.
ON_DRIVE, IN_LOG, IN_MEMORY = 2, 1, 0
MEANS = {
    ON_DRIVE: "on the drive when it returns",
    IN_LOG: "in a log that is flushed later",
    IN_MEMORY: "in memory only",
}
WORDS = re.compile(r"[a-z]+", re.IGNORECASE)


@dataclass(frozen=True)
class Store:
    """One that is no engine of ours, or one of ours without a setting."""

    title: str
    promise: int
    knob: str  # a regular expression of what sets it otherwise, or says that it is set
    words: tuple[str, ...] = ()  # what else it is called


MONGODB = (
    r"JOURNALED\b|\bj['\"]?\s{0,3}[:=]\s{0,3}['\"]?true|journal['\"]?\s{0,3}[:=(]\s{0,3}['\"]?true|--replSet\b|"
    r"\breplSetName\b|\bw['\"]?\s{0,3}[:=]\s{0,3}['\"]?majority|WriteConcern\.(?:W_)?MAJORITY"
)
FSYNC = r"\bsynchronous_commit\b|\bfsync\s{0,3}=|\bUNLOGGED\b"
APPEND = r"\bappendonly['\"]?[\s:=]{1,3}['\"]?yes|--appendonly\b|\bappendfsync\b"
PERIODIC = r"\bcommitlog_sync(?:_batch_window_in_ms|_group_window)?\b"
# Each from its manual: MongoDB, Write Concern (a stand-alone server, j unset) and storage.journal.commitIntervalMs;
# Redis, Persistence (no append-only file by default); Cassandra and ScyllaDB, commitlog_sync: periodic; Tarantool,
# wal_mode: write; ClickHouse, fsync_after_insert: 0; YugabyteDB, durable_wal_write: false; CockroachDB and TiKV: each
# entry of the Raft log is flushed; Elasticsearch, index.translog.durability: request.
STORES: Mapping[str, Store] = {
    "postgresql": Store("PostgreSQL", ON_DRIVE, FSYNC, ("postgres", "pg", "pgsql", "pgx")),
    "mysql": Store("MySQL", ON_DRIVE, r"flush_log_at_trx_commit|sync_binlog"),
    "mariadb": Store("MariaDB", ON_DRIVE, r"flush_log_at_trx_commit|sync_binlog", ("maria",)),
    "mongodb": Store("MongoDB", IN_LOG, MONGODB, ("mongo", "mongod")),
    "redis": Store("Redis", IN_MEMORY, APPEND),
    "valkey": Store("Valkey", IN_MEMORY, APPEND),
    "keydb": Store("KeyDB", IN_MEMORY, APPEND),
    "cassandra": Store("Cassandra", IN_LOG, PERIODIC),
    "scylladb": Store("ScyllaDB", IN_LOG, PERIODIC, ("scylla",)),
    "tarantool": Store("Tarantool", IN_LOG, r"\bwal_mode\b|\bTT_WAL_MODE\b", ("taran",)),
    "clickhouse": Store("ClickHouse", IN_LOG, r"\bfsync_after_insert\b"),
    "yugabytedb": Store("YugabyteDB", IN_LOG, r"\bdurable_wal_write\b", ("yugabyte", "ysql")),
    "cockroachdb": Store("CockroachDB", ON_DRIVE, r"raft_log\.synchroni[sz]ation|=type=mem", ("cockroach", "crdb")),
    "tidb": Store("TiDB", ON_DRIVE, r"\bsync-log\b", ("tikv",)),
    "elasticsearch": Store("Elasticsearch", ON_DRIVE, r"translog\.durability"),
}  # fmt: skip
BY_WORD = {word: name for name, store in STORES.items() for word in (name, *store.words)}


FIGURE = re.compile(r"\d")
COMMON = re.compile(r"(?:results?|outputs?|reports?|docs?|data|logs?|benchmarks?|bench)[\w.-]{0,20}", re.IGNORECASE)
RESULT = re.compile(r"result|output|\.(?:out|log|csv|jtl|json|txt)$", re.IGNORECASE)


@once
def compared(bench: Bench) -> list[dict[str, list[Evidence]]]:
    """The stores that are compared with each other, each with where results or tables name it: those of one folder of
    the kit together, for a kit may hold several studies."""
    found: dict[str, dict[str, list[Evidence]]] = defaultdict(lambda: defaultdict(list))
    for where, what, names in _named(bench):
        folder = where.file.partition("/")[0] if "/" in where.file else ""
        folder = "" if named_in(folder) or COMMON.fullmatch(folder) else folder
        for store in sorted(names & STORES.keys()):
            found[folder][store].append(where.says(f"{what} of {STORES[store].title}"))
    return [dict(of) for of in found.values()]


def _named(bench: Bench) -> Iterator[tuple[Where, str, set[str]]]:
    for other in bench.others:
        if not other.planned:
            yield other.where, "a result", named_in(f"{other.where.file} {other.name}") | {other.engine or ""}
    for row in bench.rows:
        if any(FIGURE.search(cell) for cell in row.cells[1:]):
            yield row.where, "a table's row", named_in(" ".join((*row.head, *row.cells[:1])))
    for name in (*bench.unread, *(one.file for one in bench.not_understood), *(name for name, _ in bench.read)):
        if RESULT.search(name):
            yield Where(name), "a result", named_in(name)


def named_in(text: str) -> set[str]:
    """The stores that a text names."""
    return {BY_WORD[word] for word in WORDS.findall(text.lower()) if word in BY_WORD}


def started(bench: Bench) -> dict[str, list[Statement]]:
    """The stores that the kit starts in containers."""
    return _by(bench.said("store"), lambda one: one.text)


def set_otherwise(bench: Bench) -> dict[str, list[Statement]]:
    """The stores of which some file of the kit sets what they promise."""
    return _by(bench.said("promise"), lambda one: one.store)


def _by(facts: Sequence[Statement], store: Callable[[Statement], str]) -> dict[str, list[Statement]]:
    return {name: [fact for fact in facts if store(fact) == name] for name in dict.fromkeys(map(store, facts))}


def titles(stores: Sequence[str]) -> str:
    return ", ".join(STORES[store].title for store in stores)
