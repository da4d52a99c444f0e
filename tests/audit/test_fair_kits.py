"""Kits that do nothing wrong, and are easily taken for some that do: what is told of repetitions in many languages and
scripts, settings that only an example has, configurations that are elsewhere, and durability that is the point."""

from __future__ import annotations

from pathlib import Path

from acidtest.audit import judge
from tables import Kit, RuleOverKits, over_kits, read, rows

TABLE = "# Bench\n\n| System | TPS |\n|---|---|\n| PostgreSQL | 1234 |\n| MySQL | 1180 |\n"
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


SCRIPTS = {
    "run.sh": [
        "for i in $(seq 5); do ./bench pg; done\n",
        "for ((i=0;i<5;i++)); do ./bench pg; done\n",
        "RUNS=5\nfor i in `seq 1 $RUNS`; do ./bench pg; done\n",
        "repeat 5 ./bench pg\n",
        "./bench -r 5 pg\n",
        "i=0\nwhile [ $i -lt 5 ]; do ./bench pg; i=$((i+1)); done\n",
        "hyperfine --warmup 3 './a' './b'\n",
    ],
    "run.ps1": ["1..5 | ForEach-Object { ./bench.exe pg }\n"],
    "run.bat": ["for /L %%i in (1,1,5) do bench.exe pg\n"],
    "Makefile": [
        "REPEAT ?= 5\nbench:\n\tfor i in $$(seq 1 $(REPEAT)); do ./bench pg; done\n",
        "bench:\n\tgo test -bench=. -count=10 ./...\n",
    ],
    "Bench.java": ["import org.openjdk.jmh.annotations.*;\n"],
    "Bench.cs": ["using BenchmarkDotNet.Attributes;\n"],
}
LOOPS = [  # that repeat no run
    "for i in $(seq 1 60); do\n  pg_isready -h db && break\n  sleep 1\ndone\n./bench pg\n",
    "for i in 1 2 3; do\n  ./bench -c $i pg\ndone\n",
    "# for i in 1 2 3; do ./bench pg; done\n./bench pg\n",
]
FAILED = "| System | req/s | error rate |\n|---|---|---|\n| a | 1200 | {} |\n| b | 1100 | 0% |\n"
ALONE = "services:\n  pg:\n    image: postgres:16.4\n"


def both(more: str = "") -> Kit:
    """Two services; ``more`` is of the first."""
    other = "  my:\n    image: mysql:8.0\n    command: mysqld --innodb-buffer-pool-size=8G\n"
    return {"README.md": TABLE, "docker-compose.yml": f"{ALONE}{more}{other}"}


def job(text: str) -> Kit:
    return {"out.txt": READS, "job.fio": f"[global]\nioengine=libaio\nsize=64G\n{text}"}


# A rule, how severe its finding is, kits of which it speaks and kits of which it does not.
SPOKEN: list[RuleOverKits] = [
    ("few-repetitions", "doubtful", [{"README.md": TABLE, "run.sh": text} for text in LOOPS],
     [{"README.md": TABLE, name: text} for name, listed in SCRIPTS.items() for text in listed]),
    ("few-repetitions", "note", [{"README.md": f"Every cell is the mean of five runs.\n\n{TABLE}"}], [{"README.md": TABLE, "benchmark.toml": "repetitions = 5\n"}]),
    ("too-short-run", "doubtful", [], [{"README.md": "# TPC-H\n\n| Step | first (s) | second (s) |\n|---|---|---|\n| Create tables | 0.12 | 0.03 |\n| Warm-up | 3.0 | 1.0 |\n| All | 640.1 | 212.6 |\n"}]),
    ("autovacuum-off", "doubtful", [RUNS | {"conf/postgresql.conf.example": "shared_buffers = 1GB\nmax_wal_size = 8GB\nautovacuum = off\n"}], []),
    ("settings-all-default", "doubtful", [both()], [
        both("    volumes:\n      - ./conf/pg.conf:/etc/postgresql.conf\n    command: postgres -c config_file=/etc/postgresql.conf\n"),
        both("    volumes:\n      - ${MYCNF}:/etc/postgresql/postgresql.conf\n"),
        both("    env_file: pg.env\n"),
        both("    command: ${PG_COMMAND}\n"),
        both("    extends:\n      file: base.yml\n      service: pg\n"),
    ]),
    ("settings-all-default", "note", [RUNS | {"docker-compose.yml": ALONE}], []),
    ("drive-test-through-cache", "doubtful", [
        {"out.txt": READS, "run.sh": "fio --name=rr --rw=randread --bs=4k --iodepth=32 --size=64G --output=out.txt\n"},
        job("direct=1\n\n[rr]\nrw=randread\nbs=4k\ndirect=0\n"),
    ], [
        job("direct=1\n\n[rr]\nrw=randread\nbs=4k\niodepth=32\n"),
        job("direct=0\n\n[rr]\nrw=randread\nbs=4k\ndirect=1\n"),
        {"out.txt": READS, "run.sh": "ARGS='--direct=1 --size=64G'\nfio --name=rr --rw=randread --bs=4k $ARGS > out.txt\n"},
        {"out.txt": READS},  # fio does not print it
    ]),
    ("durability-differs", "invalid", [{
        "README.md": TABLE,
        "pg/postgresql.conf": f"{TUNED}fsync = on\n",
        "my/my.cnf": "[mysqld]\ninnodb_buffer_pool_size = 8G\ninnodb_flush_log_at_trx_commit = 0\n",
    }], []),
    ("many-failed", "note", [{"README.md": FAILED.format("2%")}], []),
    ("many-failed", "doubtful", [{"README.md": FAILED.format("35%")}], []),
]  # fmt: skip

test_a_rule_speaks_of_these_kits_and_not_of_those = over_kits(SPOKEN)


# Kits of which nobody is accused: settings that nobody started, durability that is compared, steps and samples.
FAIR: list[Kit] = [
    *(RUNS | {"postgresql.conf": TUNED, name: text} for name, text in {
        "conf/postgresql.conf.example": "shared_buffers = 1GB\nfsync = off\nautovacuum = off\n",
        "conf/my.cnf.sample": "[mysqld]\ninnodb_flush_log_at_trx_commit = 2\ninnodb_doublewrite = 0\n",
        "examples/fast/postgresql.conf": "shared_buffers = 1GB\nfsync = off\nautovacuum = off\n",
        "docs/configuration.md": "# Options\n\n```sql\nALTER SYSTEM SET fsync = off;\nALTER SYSTEM SET autovacuum = off;\n```\n",
        ".github/workflows/test.yml": "jobs:\n  test:\n    steps:\n      - run: docker run -d mysql:8.0 mysqld --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0\n",
    }.items()),
    RUNS | {
        "bench.sh": "docker compose -f compose.bench.yml up -d\n",
        "compose.bench.yml": SERVER + "\n",
        "compose.dev.yml": SERVER + " -c fsync=off -c autovacuum=off\n    tmpfs:\n      - /var/lib/postgresql/data\n",
    },
    RUNS | {"docker-compose.yml": SERVER + '\n  db-debug:\n    image: postgres:16.4\n    profiles: ["debug"]\n    command: postgres -c fsync=off\n'},
    RUNS | {"docker-compose.yml": SERVER + "\n  wiki-db:\n    image: mysql:8.0\n    command: --innodb-flush-log-at-trx-commit=0\n"},
    {"README.md": "# ORM\n\nBenchmarkDotNet=v0.13.12\n\n| Method | Mean | Error | StdDev |\n|---|---|---|---|\n| first | 2.396 s | 0.0582 s | 0.0544 s |\n| second | 2.1 s | 0.01 s | 0.02 s |\n"},
    {"out.log": "".join(f"[{n}] insert 1000 rows took 1.{n:02d} s\n" for n in range(60))},
    {f"{side}/{name}": text
     for side, value, rate in (("sync_commit_on", "on", 900), ("sync_commit_off", "off", 4000))
     for name, text in [("postgresql.conf", f"{TUNED}synchronous_commit = {value}\n"), *((f"run{n}.txt", pgbench(rate + n)) for n in range(1, 6))]},
    {"README.md": "# fsync on vs off\n\n| fsync | tps |\n|---|---|\n| on | 900 |\n| off | 4000 |\n",
     "docker-compose.yml": SERVER + " -c fsync=on\n" + SERVER.partition("services:\n")[2].replace("db:", "other:") + " -c fsync=off\n"},
]  # fmt: skip


@rows(*FAIR)
def test_nobody_is_accused(files: Kit, tmp_path: Path) -> None:
    assert [finding.text for finding in judge.of_bench(read(tmp_path, files)) if finding.severity != "note"] == []
