"""Kits that do nothing wrong, and are easily taken for some that do: what is told of repetitions in many languages and
scripts, settings that only an example has, configurations that are elsewhere, and durability that is the point."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.audit import judge
from written_kits import read

TABLE = "| System | TPS |\n|---|---|\n| PostgreSQL | 1234 |\n| MySQL | 1180 |\n"
PGBENCH = """transaction type: <builtin: TPC-B (sort of)>
scaling factor: 100
query mode: simple
number of clients: 8
number of threads: 8
duration: 900 s
number of transactions actually processed: {done}
latency average = {ms:.3f} ms
tps = {rate} (without initial connection time)
"""
FIO = """{name}: (g=0): rw={rw}, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=32
fio-3.36
Starting 1 process

{name}: (groupid=0, jobs=1): err= 0: pid=4242: Mon Jul  3 22:30:33 2023
  {way}: IOPS=12.3k, BW=48.0MiB/s (50.3MB/s)(2880MiB/60001msec)
    clat (usec): min=20, max=9000, avg=120.46, stdev=20.60
"""
READS = FIO.format(name="rr", rw="randread", way="read")


def pgbench(rate: int) -> str:
    return PGBENCH.format(done=rate * 900, ms=8000 / rate, rate=rate)


RUNS = {
    f"results/{side}/run{n}.txt": pgbench(rate + n) for side, rate in (("a", 900), ("b", 1200)) for n in range(1, 6)
}
TUNED = "shared_buffers = 8GB\nmax_wal_size = 32GB\n"
SERVER = "services:\n  db:\n    image: postgres:16.4\n    command: postgres -c shared_buffers=8GB -c max_wal_size=32GB"


def found(at: Path, files: dict[str, str]) -> dict[str, str]:
    """How severe the findings of a kit are, by rule."""
    return {one.rule.name: one.severity for one in judge.of_bench(read(at, files))}


def test_how_often_was_measured_is_declared_and_not_read(tmp_path: Path) -> None:
    text = {"README.md": f"# Bench\n\nEvery cell is the mean of five runs.\n\n{TABLE}"}
    assert found(tmp_path / "read", text)["few-repetitions"] == "note"
    assert "few-repetitions" not in found(tmp_path / "declared", text | {"benchmark.toml": "repetitions = 5\n"})


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("run.sh", "for i in $(seq 5); do ./bench pg; done\n"),
        ("run.sh", "for ((i=0;i<5;i++)); do ./bench pg; done\n"),
        ("run.sh", "RUNS=5\nfor i in `seq 1 $RUNS`; do ./bench pg; done\n"),
        ("run.sh", "repeat 5 ./bench pg\n"),
        ("run.sh", "./bench -r 5 pg\n"),
        ("run.sh", "i=0\nwhile [ $i -lt 5 ]; do ./bench pg; i=$((i+1)); done\n"),
        ("run.sh", "hyperfine --warmup 3 './a' './b'\n"),
        ("run.ps1", "1..5 | ForEach-Object { ./bench.exe pg }\n"),
        ("run.bat", "for /L %%i in (1,1,5) do bench.exe pg\n"),
        ("Makefile", "REPEAT ?= 5\nbench:\n\tfor i in $$(seq 1 $(REPEAT)); do ./bench pg; done\n"),
        ("Makefile", "bench:\n\tgo test -bench=. -count=10 ./...\n"),
        ("bench.py", "for i in range(5):\n    run_benchmark(db)\n"),
        ("bench.py", "def test_a(benchmark):\n    benchmark(fn)\n"),
        ("bench.js", "import { run, bench } from 'mitata';\n"),
        ("Bench.java", "import org.openjdk.jmh.annotations.*;\n"),
        ("Bench.cs", "using BenchmarkDotNet.Attributes;\n"),
        ("benches/all.rs", "use criterion::{criterion_group, criterion_main};\n"),
    ],
)
def test_scripts_and_frameworks_repeat(tmp_path: Path, name: str, script: str) -> None:
    files = {"README.md": f"# Bench\n\n{TABLE}", name: script}
    assert found(tmp_path, files).get("few-repetitions") != "doubtful"


@pytest.mark.parametrize(
    "script",
    [
        "for i in $(seq 1 60); do\n  pg_isready -h db && break\n  sleep 1\ndone\n./bench pg\n",
        "for c in 1 2 4; do ./bench -c $c pg; done\n",
        "for i in 1 2 3; do\n  ./bench -c $i pg\ndone\n",
        "# for i in 1 2 3; do ./bench pg; done\n./bench pg\n",
    ],
)
def test_loops_that_repeat_no_run(tmp_path: Path, script: str) -> None:
    assert found(tmp_path, {"README.md": f"# Bench\n\n{TABLE}", "run.sh": script})["few-repetitions"]


@pytest.mark.parametrize(
    "files",
    [
        {"postgresql.conf": TUNED, "conf/postgresql.conf.example": "shared_buffers = 1GB\nfsync = off\nautovacuum = off\n"},
        {"postgresql.conf": TUNED, "conf/my.cnf.sample": "[mysqld]\ninnodb_flush_log_at_trx_commit = 2\ninnodb_doublewrite = 0\n"},
        {"postgresql.conf": TUNED, "examples/fast/postgresql.conf": "shared_buffers = 1GB\nfsync = off\nautovacuum = off\n"},
        {"postgresql.conf": TUNED, "docs/configuration.md": "# Options\n\n```sql\nALTER SYSTEM SET fsync = off;\nALTER SYSTEM SET autovacuum = off;\n```\n"},
        {"postgresql.conf": TUNED, ".github/workflows/test.yml": "jobs:\n  test:\n    steps:\n      - run: docker run -d mysql:8.0 mysqld --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0\n"},
        {
            "bench.sh": "docker compose -f compose.bench.yml up -d\n",
            "compose.bench.yml": SERVER + "\n",
            "compose.dev.yml": SERVER + " -c fsync=off -c autovacuum=off\n    tmpfs:\n      - /var/lib/postgresql/data\n",
        },
        {"docker-compose.yml": SERVER + '\n  db-debug:\n    image: postgres:16.4\n    profiles: ["debug"]\n    command: postgres -c fsync=off\n'},
        {"docker-compose.yml": SERVER + "\n  wiki-db:\n    image: mysql:8.0\n    command: --innodb-flush-log-at-trx-commit=0\n"},
    ],
)  # fmt: skip
def test_what_nobody_started_was_not_in_force(tmp_path: Path, files: dict[str, str]) -> None:
    assert not {name for name, severity in found(tmp_path, RUNS | files).items() if severity != "note"}


def test_an_example_counts_where_there_is_nothing_else(tmp_path: Path) -> None:
    files = {"conf/postgresql.conf.example": "shared_buffers = 1GB\nmax_wal_size = 8GB\nautovacuum = off\n"}
    assert "autovacuum-off" in found(tmp_path, RUNS | files)


@pytest.mark.parametrize(
    "more",
    [
        "    volumes:\n      - ./conf/pg.conf:/etc/postgresql.conf\n    command: postgres -c config_file=/etc/postgresql.conf\n",
        "    volumes:\n      - ${MYCNF}:/etc/postgresql/postgresql.conf\n",
        "    env_file: pg.env\n",
        "    command: ${PG_COMMAND}\n",
        "    extends:\n      file: base.yml\n      service: pg\n",
    ],
)
def test_a_configuration_that_is_elsewhere_is_no_default(tmp_path: Path, more: str) -> None:
    both = f"services:\n  pg:\n    image: postgres:16.4\n{more}  my:\n    image: mysql:8.0\n    command: mysqld --innodb-buffer-pool-size=8G\n"
    files = {"README.md": f"# Bench\n\nMedian of 5 runs.\n\n{TABLE}", "docker-compose.yml": both}
    assert "settings-all-default" not in found(tmp_path, files)


def test_defaults_of_one_engine_among_several_are_doubtful(tmp_path: Path) -> None:
    both = "services:\n  pg:\n    image: postgres:16.4\n  my:\n    image: mysql:8.0\n    command: mysqld --innodb-buffer-pool-size=8G\n"
    files = {"README.md": f"# Bench\n\nMedian of 5 runs.\n\n{TABLE}", "docker-compose.yml": both}
    assert found(tmp_path, files)["settings-all-default"] == "doubtful"
    alone = RUNS | {"docker-compose.yml": "services:\n  pg:\n    image: postgres:16.4\n"}
    assert found(tmp_path / "alone", alone)["settings-all-default"] == "note"


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"run.sh": "fio --name=rr --rw=randread --bs=4k --iodepth=32 --size=64G --output=out.txt\n"}, "doubtful"),
        ({"job.fio": "[global]\nioengine=libaio\ndirect=1\nsize=64G\n\n[rr]\nrw=randread\nbs=4k\niodepth=32\n"}, None),
        ({"job.fio": "[global]\nioengine=libaio\ndirect=0\nsize=64G\n\n[rr]\nrw=randread\nbs=4k\ndirect=1\n"}, None),
        (
            {"job.fio": "[global]\nioengine=libaio\ndirect=1\nsize=64G\n\n[rr]\nrw=randread\nbs=4k\ndirect=0\n"},
            "doubtful",
        ),
        ({"run.sh": "ARGS='--direct=1 --size=64G'\nfio --name=rr --rw=randread --bs=4k $ARGS > out.txt\n"}, None),
        ({}, None),  # fio does not print it
    ],
)
def test_what_a_job_asked_for(tmp_path: Path, files: dict[str, str], severity: str | None) -> None:
    assert found(tmp_path, {"out.txt": READS} | files).get("drive-test-through-cache") == severity


@pytest.mark.parametrize(
    "files",
    [
        {"README.md": "# ORM\n\nBenchmarkDotNet=v0.13.12\n\n| Method | Mean | Error | StdDev |\n|---|---|---|---|\n| first | 2.396 s | 0.0582 s | 0.0544 s |\n| second | 2.1 s | 0.01 s | 0.02 s |\n"},
        {"README.md": "# TPC-H, median of 5 runs\n\n| Step | first (s) | second (s) |\n|---|---|---|\n| Create tables | 0.12 | 0.03 |\n| Warm-up | 3.0 | 1.0 |\n| All | 640.1 | 212.6 |\n"},
        {"out.log": "".join(f"[{n}] insert 1000 rows took 1.{n:02d} s\n" for n in range(60))},
    ],
)  # fmt: skip
def test_steps_and_samples_are_no_runs(tmp_path: Path, files: dict[str, str]) -> None:
    assert not {"too-short-run", "few-repetitions"} & {
        name for name, severity in found(tmp_path, files).items() if severity != "note"
    }


@pytest.mark.parametrize(
    "files",
    [
        {
            f"{side}/{name}": text
            for side, value, rate in (("sync_commit_on", "on", 900), ("sync_commit_off", "off", 4000))
            for name, text in [("postgresql.conf", f"{TUNED}synchronous_commit = {value}\n"), *((f"run{n}.txt", pgbench(rate + n)) for n in range(1, 6))]
        },
        {
            "README.md": "# fsync on vs off\n\nMedian of 5 runs.\n\n| fsync | tps |\n|---|---|\n| on | 900 |\n| off | 4000 |\n",
            "docker-compose.yml": SERVER + " -c fsync=on\n" + SERVER.partition("services:\n")[2].replace("db:", "other:") + " -c fsync=off\n",
        },
    ],
)  # fmt: skip
def test_durability_may_be_what_is_compared(tmp_path: Path, files: dict[str, str]) -> None:
    assert not {"durability-differs", "durability-given-up"} & found(tmp_path, files).keys()


def test_durability_of_two_engines_still_differs(tmp_path: Path) -> None:
    files = {
        "README.md": f"# Bench\n\nMedian of 5 runs.\n\n{TABLE}",
        "pg/postgresql.conf": f"{TUNED}fsync = on\n",
        "my/my.cnf": "[mysqld]\ninnodb_buffer_pool_size = 8G\ninnodb_flush_log_at_trx_commit = 0\n",
    }
    assert found(tmp_path, files)["durability-differs"] == "invalid"


def test_a_few_failures_that_a_table_tells_are_noted(tmp_path: Path) -> None:
    table = "| System | req/s | error rate |\n|---|---|---|\n| a | 1200 | {} |\n| b | 1100 | 0% |\n"
    few, many = (
        {"README.md": f"# Load\n\nMedian of 5 runs.\n\n{table.format(share)}"} for share in ("2%", "35%")
    )  # fmt: skip
    assert found(tmp_path / "few", few)["many-failed"] == "note"
    assert found(tmp_path / "many", many)["many-failed"] == "doubtful"
