"""Rules over what was run and what is told of it: a bench of which each speaks, and a fair one of which it is silent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from acidtest.audit import importers
from acidtest.audit.bench import (
    Bench,
    Configuration,
    LogEntry,
    Mount,
    Published,
    Setting,
    Side,
    Statement,
    StatementKind,
    Where,
)
from acidtest.audit.rules import (
    builds,
    clients,
    drive_cache,
    duration,
    in_memory,
    over,
    rates,
    state,
    stated,
    systems,
    workload,
)
from acidtest.finding import Rule
from settings_kits import SPOKEN as OVER_KITS
from tables import over_benches, rows

PG = Published(
    Where("pg/run.out", 3), "pgbench", "<builtin: TPC-B (sort of)>", rate=4000.0, terminals=32, measured_s=600.0,
    engine="postgresql", script="<builtin: TPC-B (sort of)>", scale=100.0, query_mode="prepared", isolation="",
    reconnects=False, latency_ms={"mean": 8.0},
)  # fmt: skip
BENCH = Published(
    Where("mysql/run.out", 3), "sysbench", "run.out", rate=3000.0, terminals=32, measured_s=600.0, engine="mysql",
    script="oltp_read_write", parameters={"tables": "10", "table-size": "1000000"}, isolation="READ-COMMITTED",
)  # fmt: skip
OTHER = replace(BENCH, where=Where("maria/run.out", 3), engine="mariadb")
PLAN = replace(PG, where=Where("bench.sh", 2), rate=None, measured_s=5.0, planned=True)
TPCC = Published(Where("tpcc.out", 5), "go-tpc", "tpcc", rate=1000.0, terminals=64, warehouses=100, measured_s=600.0)
FIO = Published(
    Where("fio.json", 9), "fio", "w write", rate=28_000.0, measured_s=60.0, unit="writes",
    parameters={"rw": "randwrite", "size": "4g", "direct": "0"},
)  # fmt: skip
WEB = Published(Where("k6.txt", 5), "k6", "load", rate=140.0, measured_s=60.0, unit="requests", errors=2500)
LOG = Published(
    Where("results/pg.log", 20), "hammerdb", "pg.log", nopm=43_210.0, tpm=100_321.0, rate=1672.0, measured_s=600.0
)
CELL = Published(Where("README.md", 8), "", "postgres", told=True)
MEMORY = Statement(Where("benchmark.toml", 2), "memory", "memory_gb = 64", 64 << 30)
SMALL = Statement(Where("benchmark.toml", 2), "memory", "memory_gb = 1", 1 << 30)


def bench(*published: Published, **more: Any) -> Bench:
    return Bench(**{"sides": [], "published": published, **more})


def says(kind: StatementKind, text: str = "", value: float | None = None) -> Statement:
    return Statement(Where("README.md", 5), kind, text or kind, value)


def side(*mounts: Mount, log: tuple[LogEntry, ...] = (), source: Any = "file", **settings: str) -> Side:
    where = Where("compose.yaml", 7)
    values = tuple(Setting(name, value, where) for name, value in settings.items())
    return Side("db", "postgresql", configurations=(Configuration(where, "postgresql", "arguments", values, source=source),),
                mounts=mounts, log=log)  # fmt: skip


def mounted(point: str, filesystem: str = "tmpfs", of: str = "db") -> Mount:
    return Mount(Where("compose.yaml", 15), point, filesystem, frozenset(), of)


def cell(line: int, name: str, **figures: Any) -> Published:
    return replace(CELL, where=Where("README.md", line), name=name, **figures)


def table(*rates: float, tool: str = "pgbench") -> list[Published]:
    return [cell(8 + n, f"row {n}", rate=rate, written=f"{rate:,.0f}", tool=tool) for n, rate in enumerate(rates)]


def runs(*of: float) -> list[Published]:
    return [replace(PG, rate=rate, where=Where(f"pg/run-{n}.out", 3)) for n, rate in enumerate(of, start=1)]


SPOKEN: list[tuple[Rule[Bench], Bench, Bench]] = [
    (workload.workload_differs, bench(BENCH, replace(OTHER, terminals=64)), bench(BENCH, OTHER)),
    (workload.workload_differs, bench(BENCH, replace(OTHER, terminals=64)), bench(BENCH, replace(OTHER, terminals=64), OTHER)),
    (workload.workload_differs, bench(BENCH, replace(OTHER, terminals=64)), bench(BENCH, replace(OTHER, terminals=None))),
    (workload.workload_differs, bench(BENCH, replace(OTHER, parameters={"tables": "10", "table-size": "100000"})), bench(BENCH, replace(OTHER, parameters={"tables": "10", "table-size": "1000000", "mysql-host": "b"}))),
    (workload.workload_differs, bench(BENCH, replace(OTHER, script="oltp_read_only")), bench(BENCH, replace(OTHER, script="oltp_read_only"), replace(OTHER, script="oltp_read_write"), replace(BENCH, script="oltp_read_only"))),
    (workload.workload_differs, bench(BENCH, replace(OTHER, script="oltp_read_only")), bench(replace(BENCH, script="orders-mysql.lua"), replace(OTHER, script="orders-mariadb.lua"))),
    (workload.workload_differs, bench(BENCH, replace(OTHER, terminals=64)), bench(BENCH, replace(OTHER, terminals=64), factors=frozenset(["clients"]))),
    (workload.workload_differs, bench(BENCH, replace(OTHER, terminals=64)), bench(BENCH, replace(BENCH, terminals=64))),
    (workload.workload_differs, bench(replace(BENCH, engine=None, where=Where("redis/a.txt", 1)), replace(BENCH, engine=None, terminals=8, where=Where("mongodb/a.txt", 1))), bench(replace(BENCH, engine=None, where=Where("first/a.txt", 1)), replace(BENCH, engine=None, terminals=8, where=Where("second/a.txt", 1)))),
    (workload.workload_differs, bench(BENCH, replace(OTHER, isolation="SERIALIZABLE")), bench(BENCH, replace(OTHER, isolation="TRANSACTION_READ_COMMITTED"))),
    (workload.workload_differs, bench(BENCH, replace(OTHER, isolation="SERIALIZABLE")), bench(BENCH, replace(OTHER, isolation=""))),
    (workload.workload_differs, bench(PG, replace(PG, engine="yugabyte", query_mode="simple")), bench(PG, replace(PG, query_mode="simple"), replace(PG, engine="yugabyte", query_mode="simple"))),
    (workload.workload_differs, bench(PG, replace(PG, engine="yugabyte", reconnects=True)), bench(replace(PG, reconnects=True), replace(PG, engine="yugabyte", reconnects=True))),
    (workload.connect_per_transaction, bench(replace(PG, reconnects=True)), bench(PG)),
    (clients.scale_below_clients, bench(replace(PG, scale=1.0)), bench(PG)),
    (clients.scale_below_clients, bench(replace(PG, scale=1.0)), bench(replace(PG, scale=1.0, script="<builtin: select only>"), replace(PG, scale=1.0, script="listen.sql"), replace(PG, scale=1.0, script="<builtin: simple update>"))),
    (clients.scale_below_clients, bench(replace(TPCC, warehouses=4)), bench(TPCC)),
    (clients.scale_below_clients, bench(replace(TPCC, warehouses=4, planned=True, rate=None)), bench(replace(TPCC, warehouses=4), factors=frozenset(["scale"]))),
    (duration.too_few_transactions, bench(replace(PG, rate=0.1, measured_s=30.0)), bench(replace(PG, rate=10.0, measured_s=30.0))),
    (duration.too_short_run, bench(replace(PG, measured_s=10.0)), bench(replace(PG, measured_s=61.0))),
    (duration.too_short_run, bench(replace(PG, measured_s=10.0)), bench(replace(FIO, measured_s=30.0))),
    (duration.too_short_run, bench(cell(8, "insert", took_s=0.4, written="0.4 s")), bench(cell(8, "insert", took_s=0.4, written="0.4 s", runs=1000))),
    (duration.too_short_run, bench(cell(8, "insert", took_s=0.4, written="0.4 s")), bench(cell(8, "insert", took_s=40.0, written="40 s"), cell(9, "point query", took_s=0.0004, written="0.4 ms"))),
    (duration.too_short_run, bench(replace(FIO, measured_s=3.0)), bench(replace(FIO, measured_s=5.0, tool="pg_test_fsync", unit="flushes"))),
    (duration.too_short_run, bench(replace(PG, measured_s=10.0), PLAN), bench(PG, PLAN)),
    (duration.too_short_run, bench(PLAN), bench(replace(PLAN, where=Where("config/sample/bench.xml", 2)))),
    (duration.too_short_run, bench(replace(PG, measured_s=None, series=(100.0,) * 20)), bench(replace(PG, measured_s=None, series=(100.0,) * 200))),
    (clients.scale_below_clients, bench(replace(BENCH, script="tpcc", parameters={}, scale=10.0)), bench(replace(BENCH, script="tpcc", parameters={"tables": "10"}, scale=10.0))),
    (rates.many_failed, bench(replace(PG, errors=400_000)), bench(replace(PG, rate=1.0, measured_s=1.0, errors=1))),
    (rates.throughput_is_not_goodput, bench(WEB), bench(replace(WEB, errors=3))),
    (rates.failed_in_latency, bench(replace(WEB, latency_ms={"mean": 6.2}, answered_ms={"mean": 7.8})), bench(replace(WEB, latency_ms={"mean": 6.2}, answered_ms={"mean": 6.2}))),
    (rates.failed_in_latency, bench(replace(WEB, latency_ms={"mean": 6.2}, answered_ms={"mean": 7.8})), bench(replace(WEB, latency_ms={"mean": 6.2}, answered_ms={"mean": 7.8}, errors=3))),
    (rates.throughput_is_not_goodput, bench(WEB), bench(replace(PG, errors=500_000))),
    (rates.many_failed, bench(replace(PG, errors=400_000)), bench(replace(PG, errors=4_000))),
    (rates.many_failed, bench(replace(PG, errors=400_000)), bench(replace(PG, errors=0))),
    (drive_cache.drive_test_through_cache, bench(FIO), bench(replace(FIO, parameters=FIO.parameters | {"direct": "1"}))),
    (drive_cache.drive_test_through_cache, bench(FIO), bench(replace(FIO, parameters={}))),
    (drive_cache.drive_test_through_cache, bench(FIO), bench(replace(FIO, parameters=FIO.parameters | {"fsync": "1"}), replace(FIO, flushed=True))),
    (drive_cache.drive_test_through_cache, bench(FIO, facts=[MEMORY]), bench(FIO, facts=[SMALL])),
    (drive_cache.drive_test_through_cache, bench(replace(FIO, tool="dd", parameters={"bs": "1M", "of": "/data/x"})), bench(replace(FIO, tool="dd", parameters={"bs": "1M", "conv": "fdatasync"}))),
    (drive_cache.drive_test_through_cache, bench(replace(FIO, tool="sysbench", parameters={"file-extra-flags": "", "file-total-size": "4G"})), bench(replace(FIO, tool="sysbench", parameters={"file-extra-flags": "direct", "file-total-size": "4G"}))),
    (in_memory.data_on_tmpfs, bench(sides=[side(mounted("/var/lib/postgresql/data"))]), bench(sides=[side(mounted("/var/lib/postgresql/data", "volume"))])),
    (in_memory.data_on_tmpfs, bench(sides=[side(mounted("/var/lib/postgresql/data"))]), bench(sides=[side(mounted("/dev/shm"), mounted("/run"), mounted("/tmp"))])),
    (in_memory.data_on_tmpfs, bench(sides=[side(mounted("/mnt/ram"), data_directory="/mnt/ram/pg")]), bench(sides=[side(mounted("/mnt/ram"), data_directory="/mnt/ssd/pg")])),
    (in_memory.data_on_tmpfs, bench(sides=[side(mounted("/var/lib/postgresql/data"))]), bench(sides=[side(mounted("/var/lib/postgresql/data"))], facts=[says("drive", "tmpfs")])),
    (stated.volume_mounted_elsewhere, bench(facts=[says("volume-elsewhere", "a volume at /var/lib/postgresql")]), bench(facts=[says("store", "postgresql")])),
    (rates.generator_threads, bench(replace(PLAN, terminals=5, threads=6)), bench(replace(PLAN, terminals=6, threads=6))),
    (stated.reload_needs_restart, bench(facts=[says("reloaded", "wal_level")]), bench(facts=[says("setting", "wal_level")])),
    (systems.system_differs, bench(facts=[says("platform", "arch x64"), replace(says("platform", "arch arm64"), where=Where("b.json", 2))]), bench(facts=[says("platform", "arch x64"), replace(says("platform", "arch amd64"), where=Where("b.json", 2))])),
    (builds.debug_build, bench(sides=[side(source="dump", debug_assertions="on")]), bench(sides=[side(source="dump", debug_assertions="off")])),
    (builds.debug_build, bench(sides=[side(log=(LogEntry(Where("mysqld.err", 1), "mysql", "debug-build", "mysqld 8.0.36-debug starting"),))]), bench(sides=[side(log=(LogEntry(Where("mysqld.err", 1), "mysql", "error", "a debug message"),))])),
    (builds.debug_build, bench(sides=[replace(side(), version="5.5.20-debug")]), bench(sides=[replace(side(), version="5.5.20")])),
]  # fmt: skip

test_a_rule_speaks_of_the_one_and_not_of_the_other = over_benches(SPOKEN)


def test_every_rule_here_has_a_row() -> None:
    modules = (workload, clients, duration, drive_cache, in_memory)
    ours = {var.name for module in modules for var in vars(module).values() if isinstance(var, Rule)}
    assert ours <= {rule.name for rule, _, _ in SPOKEN} | {name for name, *_ in OVER_KITS}
    assert ours <= {one.name for one in over(Bench)}


def test_results_with_one_cause_are_one_finding_that_tells_the_worst() -> None:
    short = [replace(PG, measured_s=float(n), where=Where(f"run-{n}.out", 1)) for n in range(3, 40)]
    (found,) = duration.too_short_run(bench(*short))
    assert found.text.startswith(f"{PG.name} in run-3.out: 3 s")
    assert "36 more results" in found.text
    assert len(found.evidence) == len(short)


SCRIPTS = [
    ("bench.sh", "for run in $(seq 1 7); do", {("repeated", 7.0)}),
    ("bench.sh", "for clients in 1 2 4; do", set()),
    ("bench.sh", "# REPEATS=5", set()),
    ("bench.sh", "REPEATS=5", {("repeated", 5.0)}),
    ("load.js", "  iterations: 50000,", set()),
    ("README.md", "Every test was repeated 5 times.", set()),
]


@rows(*SCRIPTS)
def test_how_often_a_script_repeats_runs(name: str, text: str, said: set[Any], tmp_path: Path) -> None:
    (tmp_path / name).write_text(f"{text}\n")
    assert {(one.kind, one.value) for one in importers.read(tmp_path).said("repeated")} == said


@rows(
    "2026-11-21T10:00:00.123456Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld-debug (mysqld 8.0.36-debug) starting",
    "2026-11-21T10:00:00.123456Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld (mysqld 8.0.36) starting",
)
def test_a_debug_build_is_known_by_its_log(line: str, tmp_path: Path) -> None:
    (tmp_path / "mysqld.err").write_text(f"{line}\n")
    (side,) = importers.read(tmp_path).sides or [Side("none")]
    assert any(entry.kind == "debug-build" for entry in side.log) == ("8.0.36-debug" in line)


def test_what_a_script_asks_for_is_evidence_beside_the_runs() -> None:
    (found,) = duration.too_short_run(bench(replace(PG, measured_s=5.0), PLAN))
    assert {one.file for one in found.evidence} == {PG.where.file, PLAN.where.file}


def test_a_column_of_megabytes_a_second_is_none_of_seconds(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "| storage | read_mb_s | total_mb_s |\n|---|---|---|\n| a | 0.06 | 0.12 |\n| b | 0.07 | 0.13 |\n"
    )
    published = importers.read(tmp_path).published
    assert [one.took_s for one in published] == [None] * len(published)
    assert {one.bytes_per_s for one in published} == {6e4, 7e4, 1.2e5, 1.3e5}


@rows(0.0, 0.5, 30.0, 900.0, 5_000.0)
def test_chance_is_a_share_however_many_there_are(expected: float) -> None:
    shares = [state._at_least(count, expected) for count in (1, 2, 40, 1_000, 10_000)]
    assert all(-1e-9 <= share <= 1 + 1e-9 for share in shares)
    assert shares == sorted(shares, reverse=True)
