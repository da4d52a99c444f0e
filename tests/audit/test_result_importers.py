"""Results and logs of other tools, from true output where tests/kits/fixtures/README.md says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from acidtest.audit import importers
from acidtest.audit.bench import LogEntry, Published, Statement
from acidtest.audit.importers.file import Broken, File, Part

FIXTURES = Path(__file__).parents[1] / "kits" / "fixtures"


def read(path: Path) -> tuple[str, Sequence[Part]]:
    return importers._import(File(path, path.name))


def written(directory: Path, text: str | bytes, name: str = "result.out") -> Path:
    path = directory / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


SAMPLES = sorted(FIXTURES.glob("*.expected.json"))


@pytest.mark.parametrize("expected", SAMPLES, ids=[path.name.removesuffix(".expected.json") for path in SAMPLES])
def test_a_result(expected: Path) -> None:
    """The first result of each recorded output is what the file beside it says."""
    wanted = json.loads(expected.read_text())
    _, parts = read(expected.with_name(expected.name.removesuffix(".expected.json")))
    found = [part for part in parts if isinstance(part, Published)]
    first = next((one for one in found if not one.planned), found[0])
    for name, value in wanted.items():
        held: Any = first.where.line if name == "line" else getattr(first, name, None)
        if name == "tools":
            held = [one.tool for one in found if not one.planned]
        assert (list(held) if isinstance(held, tuple) else held) == (
            pytest.approx(value) if isinstance(value, float | dict | list) and name != "parameters" else value
        ), name


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
    assert [one for one in parts if not (isinstance(one, Statement) and one.kind == "empty")] == []


TEXTS = [
    ("We took the best of 5 runs.", {"best-of", "repeated"}),
    ("Version 2 is 40% faster!", {"relative"}),
    ("Version 2 is 40% faster than version 1.", set()),
    ("Version 1 does 100 tps.\nVersion 2 is 40% faster.", {"figure"}),
    ("It has a 7,200 rpm SATA disk with ext4.", {"turns", "drive", "file-system"}),
    ("A gp3 volume with 3,000 provisioned IOPS.", {"drive", "iops"}),
    ("It reached 12,000 tpmC.", {"tpc-word", "figure"}),
    ("Derived from TPC-C; no tpmC is claimed.", {"tpc-word", "not-tpc"}),
    ("The mean of ten runs, ± one standard deviation.", {"spread", "repeated"}),
    ("The controller has a battery.", {"write-cache"}),
]


@pytest.mark.parametrize(("text", "kinds"), TEXTS)
def test_what_a_text_says(text: str, kinds: set[str], tmp_path: Path) -> None:
    _, parts = read(written(tmp_path, text, "README.md"))
    assert {one.kind for one in parts if isinstance(one, Statement)} == {"text", *kinds}


@pytest.mark.parametrize(
    ("text", "value"), [("7,200 rpm", 7200.0), ("7200rpm", 7200.0), ("10k rpm", 10_000.0), ("5.4k rpm", 5400.0)]
)
def test_turns(text: str, value: float, tmp_path: Path) -> None:
    _, parts = read(written(tmp_path, text, "README.md"))
    assert [one.value for one in parts if isinstance(one, Statement) and one.kind == "turns"] == [value]


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
