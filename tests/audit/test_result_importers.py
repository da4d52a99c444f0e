"""Results and logs of other tools, from true output where tests/kits/fixtures/README.md says so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from acidtest.audit import importers
from acidtest.audit.bench import LogEntry, Published
from acidtest.audit.importers.file import Broken, File, Part

FIXTURES = Path(__file__).parents[1] / "kits" / "fixtures"


def read(path: Path) -> tuple[str, Sequence[Part]]:
    return importers._import(File(path, path.name))


def written(directory: Path, text: str | bytes, name: str = "result.out") -> Path:
    path = directory / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


READ: list[tuple[str, int, dict[str, Any]]] = [
    ("pgbench-progress.out", 15, {"tool": "pgbench", "name": "<builtin: TPC-B (sort of)>", "rate": 425.40806, "terminals": 4, "threads": 2, "measured_s": 12.0, "errors": 0, "engine": "postgresql", "latency_from": "actual start", "interval_s": pytest.approx(1.0), "unit": "transactions"}),
    ("pgbench-rate.out", 9, {"rate": 51.61549, "latency_from": "scheduled start", "skipped": 1, "latency_ms": {"mean": 11.172}}),
    ("pgbench-deadlocks.out", 2, {"name": "dl.sql", "errors": 112, "retries": 713, "rate": 62.031208, "attempts": pytest.approx(62.031208 * 355 / 243)}),
    ("pgbench-select.out", 3, {"unit": "reads", "rate": 3650.011143}),
    ("pgbench_log.rate", 1, {"rate": None, "latency_from": "scheduled start"}),
    ("pgbench_log.failures", 1, {"errors": 96}),
    ("pgbench_log.aggregated", 1, {"interval_s": 1.0}),
    ("sysbench-1.0.20-oltp.out", 1, {"tool": "sysbench", "rate": 134.38, "terminals": 2, "errors": 14, "measured_s": 10.0087, "asked_rate": None, "latency_from": "actual start", "latency_ms": {"mean": 14.87, "max": 100.08, "p95": 39.65}, "ceiling_ms": 100_000.0}),
    ("sysbench-1.0.20-rate.out", 1, {"asked_rate": 30.0, "latency_from": "scheduled start", "interval_s": 2.0, "series": (25.94, 24.42, 37.17)}),
    ("sysbench-1.0.20-fileio.out", 1, {"unit": "writes", "rate": 407.97, "flushed": True, "terminals": 1}),
    ("pg_test_fsync-15.out", 6, {"name": "open_datasync (Compare file sync methods using one 8kB write)", "rate": 733.626, "flushed": True, "unit": "flushes"}),
    ("fio-fsync-3.33.json", 8, {"name": "w write", "unit": "writes", "flushed": True, "rate": 1325.558147, "terminals": 1, "measured_s": 3.001}),
    ("fio-dsync-3.33.json", 8, {"flushed": True, "rate": 2912.450067}),
    ("fio-rate-3.33.json", 8, {"name": "mix read", "unit": "reads", "terminals": 16, "asked_rate": 1000.0, "warmup_s": 1.0, "flushed": False}),
    ("hammerdb-4.log", 21, {"nopm": 21043.0, "tpm": 48397.0, "terminals": 2, "warmup_s": 120.0, "measured_s": 300.0, "engine": "postgresql", "errors": 1, "latency_ms": {"mean": 2.204, "max": 91.522, "p99": 6.331, "p95": 4.518, "p50": 1.902}}),
    ("hammerdb-3.log", 8, {"nopm": 19904.0, "tpm": 60112.0, "warmup_s": 0.0, "engine": "mysql"}),
    ("hammerdb-6-job.json", 28, {"nopm": 39876.0, "warehouses": 40, "terminals": 8, "engine": "mariadb", "interval_s": 10.0}),
    ("hammerdb-4-timing.json", 1, {"latency_ms": {"mean": 4.5, "max": 80.2, "p99": 12.5, "p95": 8.9, "p50": 4.0}}),
    ("tpcc_2026-01-01_00-00-00.summary.json", 24, {"rate": 134.716, "attempts": 135.333, "terminals": 4, "asked_rate": 200.0, "warmup_s": 10.0, "engine": "postgresql", "warehouses": 1, "latency_from": "actual start"}),
    ("tpcc_2026-01-01_00-00-00.results.csv", 1, {"interval_s": 5.0}),
    ("tpcc_2026-01-01_00-00-00.samples.csv", 1, {"interval_s": 1.0}),
    ("tpcc_2026-01-01_00-00-00.raw.csv", 1, {"latency_from": "actual start"}),
    *((f"go-tpc-{style}.out", line, {"nopm": 461.5, "tpm": 1027.4, "warehouses": 10, "errors": 3, "ceiling_ms": 16_000.0}) for style, line in (("plain", 21), ("table", 15), ("json", 2))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "line", "expected"), READ, ids=[name for name, _, _ in READ])
def test_a_result(name: str, line: int, expected: dict[str, Any]) -> None:
    _, parts = read(FIXTURES / name)
    first = next(part for part in parts if isinstance(part, Published))
    assert {key: getattr(first, key) for key in expected} == expected
    assert first.where.line == line


LOGS = [
    ("postgresql-15.log", {"checkpoint": 6, "checkpoints-frequent": 7, "deadlock": 3, "serialization": 2, "error": 4, "crash": 1, "recovery": 1}),
    ("mariadb.err", {"deadlock": 1, "recovery": 1}),
    ("mysqld-8.0.err", {"deadlock": 2, "flush-behind": 1, "error": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "expected"), LOGS)
def test_a_log(name: str, expected: dict[str, int]) -> None:
    _, parts = read(FIXTURES / name)
    assert {one.kind: one.count for one in parts if isinstance(one, LogEntry)} == expected


def published(path: Path) -> list[Published]:
    return [one for one in read(path)[1] if isinstance(one, Published)]


def test_series_and_percentiles_of_logs() -> None:
    (progress,) = published(FIXTURES / "pgbench-progress.out")
    assert isinstance(progress, Published)
    assert (len(progress.series), progress.series[0]) == (12, 371.9)
    (log,) = published(FIXTURES / "pgbench_log.rate")
    assert isinstance(log, Published)
    times = sorted(
        int(line.split()[2]) / 1000
        for line in (FIXTURES / "pgbench_log.rate").read_text().splitlines()
        if line.split()[2].isdigit()
    )
    assert log.latency_ms["p50"] == pytest.approx(times[len(times) // 2], rel=0.02)
    assert log.latency_ms["max"] == times[-1]
    (job,) = published(FIXTURES / "hammerdb-6-job.json")
    assert isinstance(job, Published)
    assert len(job.series) == 30
    assert min(job.series) > 1000  # neither ramp-up nor the tail


# Forms of other versions than those in the fixtures, from their sources.
OLDER: list[tuple[str, str, dict[str, Any]]] = [
    ("pgbench 9.6", "transaction type: <builtin: TPC-B (sort of)>\nnumber of clients: 4\nduration: 60 s\nnumber of transactions actually processed: 36000\nlatency average: 6.666 ms\ntps = 599.5 (including connections establishing)\ntps = 600.5 (excluding connections establishing)\n", {"rate": 600.5, "latency_ms": {"mean": 6.666}}),
    ("sysbench 0.5", "sysbench 0.5:  multi-threaded system evaluation benchmark\n\nNumber of threads: 8\n[   1s] threads: 8, tps: 300.10, reads: 4201.40, writes: 1200.40, response time: 40.00ms (95%), errors: 0.00, reconnects:  0.00\n[   2s] threads: 8, tps: 310.10, reads: 4201.40\n    transactions:                        18000  (300.00 per sec.)\nGeneral statistics:\n    total time:                          60.0000s\n    response time:\n         avg:                                 26.60ms\n         approx.  95 percentile:              40.10ms\n\nThreads fairness:\n", {"rate": 300.0, "terminals": 8, "series": (300.1, 310.1), "latency_ms": {"mean": 26.6, "p95": 40.1}}),
    ("sysbench 1.1", "sysbench 1.1.0 (using bundled LuaJIT 2.1.0-beta3)\nNumber of threads: 2\nWarming up for 5 seconds...\n    transactions:                        600    (60.00 per sec.)\nThroughput:\n    events/s (eps):                      60.0000\n    time elapsed:                        10.0000s\n", {"rate": 60.0, "warmup_s": 5.0, "measured_s": 10.0}),
    ("OLTP-Bench", "time(sec), throughput(req/sec), avg_lat(ms), min_lat(ms)\n0,100.5,2.0,1.0\n5,101.5,2.0,1.0\n10,40.0,2.0,1.0\n", {"series": (100.5, 101.5), "interval_s": 5.0}),
    ("fio 2.2", 'fio: this platform has no affinity\n{\n  "fio version" : "fio-2.2.10",\n  "jobs" : [{"jobname" : "a", "read" : {"io_bytes": 0, "iops": 0}, "write" : {"io_bytes" : 4096, "iops" : 12.5, "runtime" : 1000, "clat" : {"mean" : 250.0, "percentile" : {"99.000000" : 1000}}}}]\n}\n', {"rate": 12.5, "latency_ms": {"mean": 0.25, "p99": 1.0}, "ceiling_ms": 16711.68}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in OLDER], ids=[row[0] for row in OLDER])
def test_other_versions(text: str, expected: dict[str, Any], tmp_path: Path) -> None:
    _, (found, *_) = read(written(tmp_path, text))
    assert {key: getattr(found, key) for key in expected} == expected


BROKEN = [
    ("result.out", "pgbench (15.4)\ntransaction type: <builtin: TPC-B (sort of)>\nnumber of clients: 4\n", 2),
    ("pgbench_log.1234", "0 1 19951 0 1795297565 478716\n" * 30 + "garbage\n0 1 5 0 1795297565 1\n", 31),
    ("result.out", "sysbench 1.0.20\n[ 1s ] thds: 2 tps: 129.86 qps: 1 lat\n", 1),
    ("result.json", '{\n  "fio version" : "fio-3.33",\n  "jobs" : [\n', 4),
    ("result.json", '{\n "Throughput (requests/second)": "much"\n}', None),
    ("result.csv", "Time (seconds),Throughput (requests/second),Average Latency (millisecond)\n0,100,2\n5,x,3\n", 3),
    ("hammerdb.log", "Vuser 1:RUNNING\nVuser 1:Timing test period of 5 in minutes\n", 2),
]


@pytest.mark.parametrize(("name", "text", "line"), BROKEN)
def test_a_broken_file_says_where(name: str, text: str, line: int | None, tmp_path: Path) -> None:
    with pytest.raises(Broken) as error:
        read(written(tmp_path, text, name))
    assert error.value.line == line


@pytest.mark.parametrize("text", ["", "\0\1\2", "hello\n", "{}", "[]", "<html></html>", "1 2 3\n", "a,b\n1,2\n"])
def test_what_is_none_of_them_is_left(text: str, tmp_path: Path) -> None:
    kind, parts = read(written(tmp_path, text))
    assert kind == ""
    assert list(parts) == []


def test_output_that_is_pasted_into_prose_counts(tmp_path: Path) -> None:
    text = "# Results\n\nOn an SSD:\n\n" + (FIXTURES / "pgbench-select.out").read_text()
    kind, parts = read(written(tmp_path, text, "results.md"))
    assert kind == "pgbench output"
    assert [one.where.line for one in parts if isinstance(one, Published)] == [7]


def test_a_txt_file_is_its_tool_s(tmp_path: Path) -> None:
    kind, _ = read(written(tmp_path, (FIXTURES / "pgbench-select.out").read_bytes(), "run-1.txt"))
    assert kind == "pgbench output"


def test_windows_redirects_utf_16(tmp_path: Path) -> None:
    text = (FIXTURES / "sysbench-1.0.20-oltp.out").read_text()
    _, (found,) = read(written(tmp_path, text.encode("utf-16")))
    assert isinstance(found, Published)
    assert found.rate == 134.38


def test_a_log_beside_its_server_is_its_side_s(tmp_path: Path) -> None:
    written(tmp_path, "fsync = on\n", "postgresql.conf")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "server.log").write_bytes((FIXTURES / "postgresql-15.log").read_bytes())
    (side,) = importers.read(tmp_path).sides
    assert len(side.log) == 7
