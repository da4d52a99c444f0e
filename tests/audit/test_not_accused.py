"""What looks like a fault and is none: of each kind a kit in which it is one, and one as alike as can be."""

from __future__ import annotations

from pathlib import Path

from acidtest.audit import importers
from audit.tables import rows
from written_kits import PGBENCH, found

STATUS = (
    "2026-05-01 08:00:{at:02d}:000 {at} sec: {done} operations; {rate} current ops/sec; est completion in 1 minute\n"
)
SUMMARY = """[OVERALL], RunTime(ms), {ms}
[OVERALL], Throughput(ops/sec), {rate}
[INSERT], Operations, {done}
[INSERT], AverageLatency(us), 2600
[INSERT], 95thPercentileLatency(us), 3100
[INSERT], Return=OK, {done}
"""
COMPOSE = (
    "services:\n  db:\n    image: postgres:16.4\n    command: postgres -c shared_buffers=4GB -c max_wal_size=8GB\n"
)
HELPER = "  {name}:\n    image: postgres:16.4\n    command: {command}\n"


def ycsb(*seconds: tuple[int, int], ms: int = 60_000) -> str:
    rows = "".join(STATUS.format(at=at, done=at * 3000, rate=rate) for at, rate in seconds)
    return "YCSB Client 0.17.0\n" + rows + SUMMARY.format(ms=ms, rate=3000, done=180_000)


WHOLE = [(at, 3000) for at in range(5, 65, 5)]


@rows(
    (  # an interval that the end of the run cut off is no stall
        "closed-loop-stall",
        {"load.txt": ycsb(*WHOLE[:-1], (60, 0))},
        {"load.txt": ycsb(*WHOLE, (61, 0), ms=61_000)},
    ),
    (  # each repetition has the time in its name
        "few-repetitions",
        {f"{side}/run_2026-05-01_08-1{n}-00.txt": PGBENCH.format(rate=400 + n) for side in "ab" for n in range(1)},
        {
            f"{side}/run_rep{n}_2026-05-01_08-1{n}-00.txt": PGBENCH.format(rate=400 + n)
            for side in "ab"
            for n in range(1, 4)
        },
    ),
    (  # files of several repetitions each are no repetitions of each other
        "wide-spread",
        {f"test{n}.txt": PGBENCH.format(rate=rate) for n, rate in enumerate((300, 400, 900), start=1)},
        {
            f"test{n}.txt": "".join(PGBENCH.format(rate=rate + n) for n in range(2))
            for n, rate in enumerate((300, 400, 900), start=1)
        },
    ),
    (  # a table of rounds says how often
        "few-repetitions",
        {"summary.csv": "name,clients,tps\nread,8,27715\nwrite,8,349\n"},
        {"summary.csv": "name,clients,rounds,tps\nread,8,5,27715\nwrite,8,5,349\n"},
    ),
    (  # the time of one call is a latency
        "too-short-run",
        {"README.md": "# Codecs\n\n| Codec | Time |\n|---|---|\n| first | 2.23 s |\n| second | 4.11 s |\n"},
        {"README.md": "# Codecs\n\n| Codec | Time per op |\n|---|---|\n| first | 2.23 s |\n| second | 4.11 s |\n"},
    ),
    (  # a piece of work whose whole is told beside it
        "too-short-run",
        {"README.md": "# Loading\n\n| Step | load | query |\n|---|---|---|\n| small | 12.7 s | 0.15 s |\n"},
        {"README.md": "# Loading\n\n| Step | Total | load | query |\n|---|---|---|---|\n| small | 12.9 s | 12.7 s | 0.15 s |\n"},
    ),
    (
        "too-short-run",
        {"RUN": "Time for insert (1000): 0.07 wallclock secs ( 0.00 usr)\nTotal time: 1.1 wallclock secs (0 usr)\n"},
        {"RUN": "Time for insert (1000): 0.07 wallclock secs ( 0.00 usr)\nTotal time: 238 wallclock secs (0 usr)\n"},
    ),
    (  # a first column that grows by equal steps is the clock
        "too-short-run",
        {"README.md": "# Runs\n\n| Time (seconds) | Average latency (ms) |\n|---|---|\n" + "".join(f"| {n} | 17.8 |\n" for n in (1, 3, 4, 2))},
        {"README.md": "# Runs\n\n| Time (seconds) | Average latency (ms) |\n|---|---|\n" + "".join(f"| {n} | 17.8 |\n" for n in range(5))},
    ),
    (  # a helper of the server's image that only asks it
        "setting-differs",
        {"compose.yaml": COMPOSE + HELPER.format(name="db2", command="bash -c 'exec postgres -c shared_buffers=1GB'")},
        {"compose.yaml": COMPOSE + HELPER.format(name="init", command="bash -c 'until psql -h postgres -f a.sql ; do sleep 1 ; done'")},
    ),
    (  # numbered pages are studies of their own
        "setting-differs",
        {f"{name}.md": f"# Two forks\n\n```\nmysqld --key_buffer_size={size}M --sort_buffer_size=2M\n```\n" for name, size in (("old", 32), ("new", 512))},
        {f"{name}.md": f"# Two forks\n\n```\nmysqld --key_buffer_size={size}M --sort_buffer_size=2M\n```\n" for name, size in (("1701", 32), ("1702", 512))},
    ),
)  # fmt: skip
def test_what_only_looks_like_a_fault(rule: str, wrong: dict[str, str], right: dict[str, str], tmp_path: Path) -> None:
    assert rule in found(tmp_path / "wrong", wrong)
    assert rule not in found(tmp_path / "right", right)


RUN = """sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)

Running the test with following options:
Number of threads: 32

SQL statistics:
    transactions:                        240000 ({rate} per sec.)
    queries:                             4800000 (8000.0 per sec.)

General statistics:
    total time:                          600.0s
    total number of events:              240000
"""
MINE = "[mysqld]\nport=3306\ninnodb_buffer_pool_size=4G\ninnodb_flush_log_at_trx_commit=2\nsync_binlog={n}\n"
OTHERS = "[mysqld]\nport=3306\ninnodb_buffer_pool_size=1G\ninnodb_flush_log_at_trx_commit=1\n"


def test_another_tool_in_the_repository_has_no_sides(tmp_path: Path) -> None:
    mine = {
        "conf/log_small.cnf": MINE.format(n=0),
        "conf/log_large.cnf": MINE.format(n=1),
        "results/1-log_small/run.out": RUN.format(rate=400),
        "results/2-log_large/run.out": RUN.format(rate=410),
    }
    vendored = {
        "vendor/tool/config/postgresql.conf": "shared_buffers = 24MB\nautovacuum = off\n",
        "vendor/tool/config/innodb_big.cnf": OTHERS,
    }
    assert "durability-differs" not in found(tmp_path / "a", mine | vendored)
    beside = {"results/3-postgresql/postgresql.conf": "shared_buffers = 24MB\n"}
    beside |= {"results/3-postgresql/run.out": RUN.format(rate=420)}
    assert "durability-differs" in found(tmp_path / "b", mine | beside)


FSYNC = "\n```\nfsync = off\nmax_wal_size = 8GB\n```\n"


@rows(
    ("# PostgreSQL\n\n## Setup\n\nThe server ran with:\n", True),
    ("# Tips for PostgreSQL\n\nThe server ran with:\n", True),  # the title is of the whole text
    ("# PostgreSQL\n\n## Recommendations\n\n### Later\n\nThat is:\n", False),
    ("# PostgreSQL\n\n## Recommendations\n\nNone.\n\n## Setup\n\nThe server ran with:\n", True),
    ("# PostgreSQL\n\n## Setup\n\nTo go faster you could set\n", False),
    ("# PostgreSQL\n\n## 建议\n\n", False),
)
def test_what_a_text_advises_was_not_in_force(above: str, in_force: bool, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(above + FSYNC, encoding="utf-8")
    (tmp_path / "run.txt").write_text(PGBENCH.format(rate=400), encoding="utf-8")
    told = [side.in_force("fsync") for side in importers.read(tmp_path).sides]
    assert any(told) is in_force
