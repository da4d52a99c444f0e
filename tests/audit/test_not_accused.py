"""What looks like a fault and is none: of each kind a kit in which it is one, and one as alike as can be."""

from __future__ import annotations

from pathlib import Path

from acidtest.audit import importers
from tables import Kit, RuleOverKits, over_kits, rows
from written_kits import PGBENCH

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
VENDORED = {
    "conf/log_small.cnf": MINE.format(n=0),
    "conf/log_large.cnf": MINE.format(n=1),
    "results/1-log_small/run.out": RUN.format(rate=400),
    "results/2-log_large/run.out": RUN.format(rate=410),
    "vendor/tool/config/postgresql.conf": "shared_buffers = 24MB\nautovacuum = off\n",
    "vendor/tool/config/innodb_big.cnf": OTHERS,
}
BESIDE = {
    "results/3-postgresql/postgresql.conf": "shared_buffers = 24MB\n",
    "results/3-postgresql/run.out": RUN.format(rate=420),
}


def text(title: str, *lines: str) -> Kit:
    return {"README.md": f"# {title}\n\n" + "".join(f"{line}\n" for line in lines)}


def clock(*seconds: int) -> Kit:
    return text("Runs", "| Time (seconds) | Average latency (ms) |", "|---|---|", *(f"| {n} | 17.8 |" for n in seconds))


def pages(one: str, other: str) -> Kit:
    block = "# Two forks\n\n```\nmysqld --key_buffer_size={}M --sort_buffer_size=2M\n```\n"
    return {f"{one}.md": block.format(32), f"{other}.md": block.format(512)}


def helper(name: str, command: str) -> Kit:
    return {"compose.yaml": COMPOSE + HELPER.format(name=name, command=f"bash -c '{command}'")}


def wallclock(total: str) -> Kit:
    return {
        "RUN": f"Time for insert (1000): 0.07 wallclock secs ( 0.00 usr)\nTotal time: {total} wallclock secs (0 usr)\n"
    }


def go(*names: str) -> str:
    return "goos: linux\n" + "".join(f"Benchmark{name}-8   100000   49350 ns/op\n" for name in names)


def quoted(heading: str) -> Kit:
    blocks = (
        f"{heading.format(n)}\n\n```\n{PGBENCH.format(rate=rate)}```\n"
        for n, rate in enumerate((300, 400, 900), start=1)
    )
    return {"README.md": "# All\n\n" + "\n".join(blocks)}


SCALED = "| {} | {}00.11 | {}4.71 | 1{}.25 | 2{}.31 | 30{}.4 |".replace("{}", "{0}", 1).replace("{}", "{1}")
SCALING = [
    "| clients | tps | avg ms | p95 ms | p99 ms | max ms |",
    "|---|---|---|---|---|---|",
    SCALED.format(1, 1),
    SCALED.format(2, 2),
]
RATIOS = [
    "| test | before tps | after tps | change |", "|---|---|---|---|", "| reads | 1342.52 | 559.71 | -58.3% |",
    "| points | 18096.01 | 3403.69 | -81.2% |", "| ranges | 18309.55 | 4424.09 | -75.8% |", "| writes | 2625.10 | 1108.85 | -57.8% |",
]  # fmt: skip
SERIES = (
    RUN.format(rate=400)
    + "\nLatency (ms):\n         avg:   34.27\n         max:   3121.77\n         99th percentile:   61.06\n"
)
VALUES = "sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)\n\nNumber of threads: 56\n\n" + "".join(
    f"{n},56,397{n % 10}.08,114500.21,52256.01,54302.05,7942.15,29.19,16.00,0.00\n" for n in range(1, 60)
)

# A rule, how severe its finding is, kits of which it speaks and kits of which it does not.
SPOKEN: list[RuleOverKits] = [
    # An interval that the end of the run cut off is no stall.
    ("closed-loop-stall", "doubtful", [{"load.txt": ycsb(*WHOLE[:-1], (60, 0))}], [{"load.txt": ycsb(*WHOLE, (61, 0), ms=61_000)}]),
    # Each repetition has the time in its name; a table of rounds says how often.
    ("few-repetitions", "doubtful", [
        {f"{side}/run_2026-05-01_08-10-00.txt": PGBENCH.format(rate=400) for side in "ab"},
    ], [
        {f"{side}/run_rep{n}_2026-05-01_08-1{n}-00.txt": PGBENCH.format(rate=400 + n) for side in "ab" for n in range(1, 4)},
    ]),
    ("few-repetitions", "note", [{"summary.csv": "name,clients,tps\nread,8,27715\nwrite,8,349\n"}],
     [{"summary.csv": "name,clients,rounds,tps\nread,8,5,27715\nwrite,8,5,349\n"}]),
    # Files of several repetitions each are no repetitions of each other.
    ("wide-spread", "doubtful", [{f"test{n}.txt": PGBENCH.format(rate=rate) for n, rate in enumerate((300, 400, 900), start=1)}],
     [{f"test{n}.txt": PGBENCH.format(rate=rate) + PGBENCH.format(rate=rate + 1) for n, rate in enumerate((300, 400, 900), start=1)}]),
    # The time of one call is a latency; a piece of work may have its whole beside it; a column of equal steps is the clock.
    ("too-short-run", "doubtful", [
        text("Codecs", "| Codec | Time |", "|---|---|", "| first | 2.23 s |", "| second | 4.11 s |"),
        text("Loading", "| Step | load | query |", "|---|---|---|", "| small | 12.7 s | 0.15 s |"),
        wallclock("1.1"),
    ], [
        text("Codecs", "| Codec | Time per op |", "|---|---|", "| first | 2.23 s |", "| second | 4.11 s |"),
        text("Loading", "| Step | Total | load | query |", "|---|---|---|---|", "| small | 12.9 s | 12.7 s | 0.15 s |"),
        wallclock("238"),
        clock(*range(5)),
    ]),
    # What is a time or a latency alone is measured as often as it stands there.
    ("few-repetitions", "doubtful", [{"out.txt": go("Insert", "Select")}], [{"out.txt": go(*3 * ("Insert", "Select"))}]),
    # Of outputs under one heading of a text nobody knows whether they are repetitions; a part that folds has a heading.
    ("wide-spread", "doubtful", [quoted("### Run {}")], [quoted("#### with {}")]),
    ("few-repetitions", "doubtful", [quoted("<summary>with {} connections</summary>")], [quoted("### Run {}")]),
    # What a script or a tool prints of how long it measured; rounds of a minute are short however many there are.
    ("too-short-run", "doubtful", [
        {"summary.csv": "name,clients,duration_s,rounds,tps\nread,8,50,5,277\nwrite,8,50,5,34\n"},
        {"out.txt": "store a\nInsertOne: 2.5 sec | 12,500.5 rec/s\n"},
    ], [
        {"summary.csv": "name,clients,duration_s,rounds,tps\nread,8,600,5,277\nwrite,8,600,5,34\n"},
        {"out.txt": "store a\nInsertOne: 2.5 ms | 12,500.5 rec/s\n"},
    ]),
    ("too-short-run", "note", [{"summary.csv": "name,clients,duration_s,tps\nread,8,60,277\nwrite,8,60,34\n"}],
     [{"summary.csv": "name,clients,duration_s,tps\nread,8,61,277\nwrite,8,61,34\n"}]),
    ("many-failed", "doubtful", [{"summary.csv": "name,clients,tps\nread,8,277\nwrite,8,0\n"}],
     [{"summary.csv": "name,clients,tps\nread,8,277\nwrite,8,1\n"}]),
    # A row that stands twice is a copy where its table says that it is of another run, and no quotation of all.
    ("figures-repeated", "doubtful", [
        text("Clients", *SCALING, SCALED.format(8, 1)),
        text("Two machines", *SCALING, SCALED.format(4, 3), "", "The other one:", "", *SCALING[:2],
             SCALED.format(1, 5), SCALED.format(2, 6), SCALED.format(4, 3)),
        {f"result-{n}-default/sysbench.32.res": SERIES for n in (25, 26)},
    ], [
        text("Clients", *SCALING, SCALED.format(4, 3)),
        text("A table that is quoted again", *SCALING, "", "As above:", "", *SCALING),
        {f"{name}/sysbench.32.res": SERIES for name in ("results", "backup")},
    ]),
    # A ratio that those of the other rows show to be wrong; a mean of ratios is none of the means.
    ("arithmetic", "doubtful", [text("Before", *RATIOS, "| load | 1003.99 | 354.22 | -59% |")],
     [text("Before", *RATIOS, "| load | 1003.99 | 354.22 | -64.7% |"), text("Before", *RATIOS, "| average | 1003.99 | 354.22 | -59% |")]),
    # Files that should hold results, as those beside them do.
    ("results-missing", "note", [{"a/c1.txt": PGBENCH.format(rate=400), "a/c2.txt": ""}],
     [{"a/c1.txt": PGBENCH.format(rate=400), "a/__init__.py": ""}]),
    ("too-few-transactions", "doubtful", [{"out.txt": RUN.format(rate=0.04)}], [{"out.txt": RUN.format(rate=0.4)}]),
    # Counts have headings in Chinese too.
    ("many-failed", "doubtful", [{"data.csv": "事务,并发,发送请求,成功请求,TPS\n订单,10,300,170,37.5\n"}],
     [{"data.csv": "事务,并发,发送请求,成功请求,TPS\n订单,10,300,300,37.5\n"}]),
    # Rates in sysbench's table of values, which ends before its summary.
    ("unfinished-run", "note", [{"out.txt": VALUES}], [{"out.txt": VALUES + SERIES.partition("\n")[2]}]),
    # A helper of the server's image only asks it; numbered pages are studies of their own.
    ("setting-differs", "doubtful", [helper("db2", "exec postgres -c shared_buffers=1GB"), pages("old", "new")],
     [helper("init", "until psql -h postgres -f a.sql ; do sleep 1 ; done"), pages("1701", "1702")]),
    # Another tool in the repository has no sides.
    ("durability-differs", "invalid", [VENDORED | BESIDE], [VENDORED]),
]  # fmt: skip

test_a_rule_speaks_of_these_kits_and_not_of_those = over_kits(SPOKEN)


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
