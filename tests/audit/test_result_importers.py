"""Results and logs of other tools, from true output where tests/kits/fixtures/README.md says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tables
from acidtest.audit import importers, judge
from acidtest.audit.bench import LogEntry, Published, Side
from acidtest.audit.importers.file import Broken, File, Part
from acidtest.cli import suggested_experiment
from tables import rows

FIXTURES = Path(__file__).parents[1] / "kits" / "fixtures"


def read(path: Path) -> tuple[str, Sequence[Part]]:
    return importers._import(File(path, path.name))


def written(directory: Path, text: str | bytes, name: str = "result.out") -> Path:
    path = directory / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


SAMPLES = sorted(FIXTURES.glob("*.expected.json"))


@rows(*SAMPLES)
def test_a_result(expected: Path) -> None:
    """The first result of each recorded output is what the file beside it says."""
    wanted = json.loads(expected.read_text())
    _, parts = read(expected.with_name(expected.name.removesuffix(".expected.json")))
    found = [part for part in parts if isinstance(part, Published)]
    first = next((part for part in found if not part.planned), found[0])
    for name, value in wanted.items():
        held: Any = first.where.line if name == "line" else getattr(first, name, None)
        if name == "tools":
            held = [part.tool for part in found if not part.planned]
        assert (list(held) if isinstance(held, tuple) else held) == (
            pytest.approx(value) if isinstance(value, float | dict | list) and name != "parameters" else value
        ), name


LOGS = [
    ("postgresql-15.log", {"checkpoint": 6, "checkpoints-frequent": 7, "deadlock": 3, "serialization": 2, "error": 4, "crash": 1, "recovery": 1}),
    ("mariadb.err", {"deadlock": 1, "recovery": 1}),
    ("mysqld-8.0.err", {"deadlock": 2, "flush-behind": 1, "error": 1}),
]  # fmt: skip


@rows(*LOGS)
def test_a_log(name: str, expected: dict[str, int]) -> None:
    _, parts = read(FIXTURES / name)
    assert {part.kind: part.count for part in parts if isinstance(part, LogEntry)} == expected


CHECKPOINTS = """2026-03-01 10:00:00.100 CET [9] LOG:  checkpoint starting: time
2026-03-01 10:02:00.100 CET [9] LOG:  checkpoint complete: wrote 90 buffers (1.0%); write=1.0 s, sync=0.100 s, total=1.2 s; sync files=8, longest=0.050 s, average=0.010 s
2026-03-01 10:04:00.100 CET [9] LOG:  checkpoint starting: wal
2026-03-01 10:04:50.900 CET [9] LOG:  checkpoint complete: wrote 90 buffers (1.0%); write=1.0 s, sync=4.500 s, total=5.7 s; sync files=8, longest=3.250 s, average=0.500 s
2026-03-01 10:04:51.000 CET [9] LOG:  checkpoint starting: wal
"""
DUMP = "".join(
    f"{name}{{0}}{value}\n"
    for name, value in (
        ("shared_buffers", "4GB"), ("effective_cache_size", "12GB"), ("wal_buffers", "16MB"),
        ("max_wal_size", "1GB"), ("synchronous_commit", "{1}"), ("checkpoint_timeout", "5min"),
    )
)  # fmt: skip
RELOAD = "psql -c 'ALTER SYSTEM SET max_connections = 500'\npsql -c 'SELECT pg_reload_conf()'\n"
OUTSIDE = "Insert: 81,274 rec/s\np99: 12 ms\n17 samples were outside the histogram range\n"
SPEAKS: list[tuple[str, dict[str, str], set[tuple[str, str]]]] = [
    ("forced checkpoints", {"server.log": CHECKPOINTS}, {("checkpoints-frequent", "doubtful"), ("flush-stalls", "doubtful")}),
    ("forced, with time between", {"server.log": CHECKPOINTS.replace("10:04:51.0", "10:14:51.0")}, {("checkpoints-frequent", "note"), ("flush-stalls", "doubtful")}),
    ("checkpoints by time", {"server.log": CHECKPOINTS.replace(": wal", ": time").replace("longest=3", "longest=0")}, set()),
    ("a trace", {"trace.txt": "fsync(3) = 0 <0.050000>\n"}, {("flush-bounds-commits", "note")}),
    ("fsync of macOS", {"x.txt": "Compare file sync methods using one 8kB write:\n   fsync   9000,100 ops/sec   111 usecs/op\n   fsync_writethrough   80,200 ops/sec   12468 usecs/op\n"}, {("fsync-does-not-flush", "doubtful")}),
    ("fsync of macOS that flushes", {"x.txt": "Compare file sync methods using one 8kB write:\n   fsync   81.1 ops/sec   12330 usecs/op\n   fsync_writethrough   80.2 ops/sec   12468 usecs/op\n"}, set()),
    ("a reload", {"run.sh": RELOAD}, {("reload-needs-restart", "doubtful")}),
    ("a reload and a restart", {"run.sh": RELOAD + "pg_ctl -D data restart\n"}, set()),
    ("a reload of what it changes", {"run.sh": RELOAD.replace("max_connections", "work_mem")}, set()),
    ("latencies left out", {"run.log": OUTSIDE}, {("latencies-out-of-range", "doubtful")}),
    ("no latencies left out", {"run.log": OUTSIDE.replace("17", "0")}, set()),
    ("what a program's source says of a range", {"codes.h": f"/* {OUTSIDE}*/\n#define LATENCY_OUT_OF_RANGE 17\n"}, set()),
    ("durability within one engine, from dumps", {"a/dump.txt": DUMP.format(": ", "on"), "b/dump.txt": DUMP.format(": ", "off")}, {("durability-differs", "invalid")}),
    ("the same with bars", {"a/dump.txt": DUMP.format(" | ", "on"), "b/dump.txt": DUMP.format(" | ", "off")}, {("durability-differs", "invalid")}),
]  # fmt: skip
NEW = frozenset(
    ("checkpoints-frequent", "flush-stalls", "flush-bounds-commits", "fsync-does-not-flush", "reload-needs-restart",
     "latencies-out-of-range", "durability-differs")
)  # fmt: skip


@rows(*SPEAKS)
def test_what_programs_wrote_is_held_against_the_benchmark(
    _: str, files: dict[str, str], expected: set[tuple[str, str]], tmp_path: Path
) -> None:
    found = judge.of_bench(tables.read(tmp_path, files))
    assert {(finding.rule.name, finding.severity) for finding in found if finding.rule.name in NEW} == expected


def test_what_a_tool_tests_itself_with_is_no_side(tmp_path: Path) -> None:
    names = ("src/test/resources/my.cnf", "test/fixtures/my.cnf", "node_modules/x/my.cnf")
    assert tables.read(tmp_path, dict.fromkeys(names, "[mysqld]\nsync_binlog = 0\n")).sides == []


def test_a_side_is_headed_by_its_product_and_not_by_a_file(tmp_path: Path) -> None:
    log = "host\tMon Mar  2 10:00:00 2026\n\tdeadlock\n\tupdate conflicts with concurrent update\n\n"
    files = {"firebird.conf": "DefaultDbCachePages = 2048\nServerMode = Super\n", "firebird.log": log * 3}
    found = {finding.rule.name: finding for finding in judge.of_bench(tables.read(tmp_path, files))}["deadlocks-in-log"]
    assert (found.text.partition(":")[0], "Firebird" in found.rule.source) == ("Firebird", True)


@rows(("pg15", "postgresql-15"), ("postgres-17.2-big", "postgresql-17"))
def test_what_is_proposed_instead_has_the_version_of_the_side_s_name(name: str, engine: str) -> None:
    assert suggested_experiment._word(Side(name, "postgresql")) == engine


def published(path: Path) -> list[Published]:
    return [one for one in read(path)[1] if isinstance(one, Published)]


def test_the_series_of_a_run() -> None:
    (job,) = published(FIXTURES / "hammerdb-6-job.json")
    assert isinstance(job, Published)
    assert len(job.series) == 30
    assert min(job.series) > 1000  # neither ramp-up nor the tail
    (progress,) = published(FIXTURES / "pgbench-progress.out")
    assert isinstance(progress, Published)
    assert (len(progress.series), progress.series[0]) == (12, 371.9)


BROKEN = [
    ("result.out", "pgbench (15.4)\ntransaction type: <builtin: TPC-B (sort of)>\nnumber of clients: 4\n", 2),
    ("result.out", "sysbench 1.0.20\n[ 1s ] thds: 2 tps: 129.86 qps: 1 lat\n", 1),
    ("result.json", '{\n  "fio version" : "fio-3.33",\n  "jobs" : [\n', 4),
    ("result.json", '{\n "Throughput (requests/second)": "much"\n}', None),
    ("result.csv", "Time (seconds),Throughput (requests/second),Average Latency (millisecond)\n0,100,2\n5,x,3\n", 3),
    ("hammerdb.log", "Vuser 1:RUNNING\nVuser 1:Timing test period of 5 in minutes\n", 2),
]


@rows(*BROKEN)
def test_a_broken_file_says_where(name: str, text: str, line: int | None, tmp_path: Path) -> None:
    with pytest.raises(Broken) as error:
        read(written(tmp_path, text, name))
    assert error.value.line == line


@rows("", "\0\1\2", "hello\n", "{}", "[]", "<html></html>", "1 2 3\n", "a,b\n1,2\n")
def test_what_is_none_of_them_is_left(text: str, tmp_path: Path) -> None:
    kind, parts = read(written(tmp_path, text))
    assert kind == ""
    assert list(parts) == []


SELECT = (FIXTURES / "pgbench-select.out").read_text()
SYSBENCH = (FIXTURES / "sysbench-1.0.20-oltp.out").read_text()
FIO = "   READ: bw=48.0MiB/s (50.3MB/s), 48.0MiB/s-48.0MiB/s, io=2880MiB (3020MB), run=60001-60001msec"


@rows(
    ("pasted into prose", "results.md", f"# Results\n\nOn an SSD:\n\n{SELECT}", "pgbench output", [7]),
    ("a .txt", "run-1.txt", SELECT, "pgbench output", [3]),
    ("as Windows redirects", "result.out", SYSBENCH.encode("utf-16"), "sysbench output", [1]),
    ("a line, once", "README.md", f"# Drive\n\n| a | b |\n|---|---|\n\n```\n{FIO}\n```\n", "fio output", [7]),
)
def test_output_counts_wherever_it_is(
    _: str, name: str, text: str | bytes, kind: str, lines: list[int], tmp_path: Path
) -> None:
    of_kind, parts = read(written(tmp_path, text, name))
    assert (of_kind, [part.where.line for part in parts if isinstance(part, Published)]) == (kind, lines)


def test_a_log_beside_its_server_is_its_side_s(tmp_path: Path) -> None:
    log = (FIXTURES / "postgresql-15.log").read_bytes()
    (side,) = tables.read(tmp_path, {"postgresql.conf": "fsync = on\n", "logs/server.log": log}).sides
    assert len(side.log) == 7
