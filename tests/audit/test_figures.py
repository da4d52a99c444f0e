"""Tables of results that people write: what their units make of the figures, and what is left without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acidtest.audit import importers
from acidtest.audit.bench import Published
from acidtest.audit.importers.figures import value_of
from acidtest.audit.importers.file import File
from acidtest.audit.repeated import repetitions
from tables import rows


def told(directory: Path, text: str, name: str = "README.md") -> list[Published]:
    path = directory / name
    path.write_text(text)
    _, parts = importers._import(File(path, name))
    return [part for part in parts if isinstance(part, Published)]


TABLES: list[tuple[str, str, str, list[dict[str, Any]]]] = [

    ("a column a side", "notes.md", "| threads | PostgreSQL 16 (TPM) | MariaDB (TPM) | change |\n|--|--|--|--|\n| 4 | 60k | 54k | -10 % |\n", [
        {"tpm": 60_000.0, "rate": 1000.0, "engine": "postgresql", "terminals": 4, "tool": ""},
        {"tpm": 54_000.0, "rate": 900.0, "engine": "mariadb"},
    ]),
    ("NOPM beside TPM is one result", "t.md", "| VU | NOPM | TPM |\n|-|-|-|\n| 10 | 43000 | 100000 |\n", [{"nopm": 43_000.0, "tpm": 100_000.0, "terminals": 10}]),
    ("rows are the measures", "t.md", "| | before | after |\n|---|---|---|\n| QPS | 900 | 1100 |\n| mean latency (µs) | 1100 | 900 |\n", [
        {"rate": 900.0, "unit": "queries", "latency_ms": {"mean": 1.1}, "name": "before"},
        {"rate": 1100.0, "unit": "queries", "latency_ms": {"mean": 0.9}, "name": "after"},
    ]),
    ("unit behind the figure", "t.md", "| metric | old | new |\n|---|---|---|\n| avg | 7.1 ms | 3.2 ms |\n| p(95) | 10.0 ms | 4.2 ms |\n", [
        {"latency_ms": {"mean": 7.1, "p95": 10.0}, "name": "old"},
        {"latency_ms": {"mean": 3.2, "p95": 4.2}, "name": "new"},
    ]),

    ("comma-separated", "runs.csv", "clients,duration,tps,latency_avg_ms\n1,60,100.5,9.9\n2,60,190.5,10.5\n", [{"rate": 100.5, "terminals": 1, "latency_ms": {"mean": 9.9}}, {"rate": 190.5}]),
    ("semicolons, tabs, quotes", "runs.tsv", 'engine\t"IOPS read"\nsqlite\t5000\nfirebird\t6000\n', [{"rate": 5000.0, "unit": "reads"}, {"engine": "firebird"}]),
    ("of a client", "out.txt", "+---------+------+\n| threads | qps  |\n+---------+------+\n|       1 | 1000 |\n+---------+------+\n", [{"rate": 1000.0, "terminals": 1}]),

    ("megabytes a second", "t.md", "| test | MB/s |\n|---|---|\n| write | 500 |\n", [{"bytes_per_s": 5e8, "rate": None}]),
    ("time of a fixed work", "t.md", "| engine | insert of a million rows (s) |\n|---|---|\n| SQLite | 12.5 |\n", [{"took_s": 12.5, "engine": "sqlite", "rate": None}]),
]  # fmt: skip


@rows(*TABLES)
def test_a_table(_: str, name: str, text: str, expected: list[dict[str, Any]], tmp_path: Path) -> None:
    found = told(tmp_path, text, name)
    assert len(found) == len(expected)
    for one, wanted in zip(found, expected, strict=True):
        assert {key: getattr(one, key) for key in wanted} == {
            key: pytest.approx(value) if isinstance(value, dict | float) else value for key, value in wanted.items()
        }


@rows(
    "| option | default |\n|---|---|\n| --time | 60 |\n| --threads | 8 |\n",
    "| item | value |\n|---|---|\n| memory | 32 GB |\n| cores | 8 |\n",
    "| metric | target |\n|---|---|\n| p95 | < 500 ms |\n",
    "| a | change in % |\n|---|---|\n| tps | +12 |\n",
    "| a | throughput |\n|---|---|\n| x | 12 |\n",
)
def test_what_is_no_figure_is_no_result(text: str, tmp_path: Path) -> None:
    assert told(tmp_path, text) == []


def test_each_line_is_where_it_stands(tmp_path: Path) -> None:
    found = told(tmp_path, "# a\n\ntext\n\n| n | tps |\n|---|---|\n| x | 1 |\n| y | 2 |\n")
    assert [one.where.line for one in found] == [7, 8]


def test_a_record_of_many_runs_is_one_result_each_kind(tmp_path: Path) -> None:
    lines = [f"{kind},{100 + n % 5}" for n in range(400) for kind in ("a", "b")]
    found = told(tmp_path, "\n".join(["kind,tps", *lines]), "runs.csv")
    assert [(one.name, one.runs, one.rate) for one in found] == [("a", 400, 102.0), ("b", 400, 102.0)]


@rows(
    ("1,234.5", 1234.5),
    ("1.234,5", 1234.5),
    ("1 234", 1234.0),
    ("1'234", 1234.0),
    ("1,234", 1234.0),
    ("0,5", 0.5),
    ("1.234.567", 1_234_567.0),
    ("12", 12.0),
)
def test_figures_as_people_write_them(written: str, value: float) -> None:
    assert value_of(written) == value


@pytest.mark.slow
@rows(
    "|" * 200_000,
    "| a | tps |\n|---|---|\n" + "| x | " + "1 " * 100_000 + "|\n",
    "<table>" * 50_000,
    "<td" + " " * 300_000,
    "| a | tps |\n" + "|---|---|\n" * 50_000,
    "a,tps\n" + "1," * 200_000,
)
def test_what_is_endless_ends(text: str, tmp_path: Path) -> None:
    assert told(tmp_path, text) == []


LINES: list[tuple[str, str, str, list[dict[str, Any]]]] = [
    ("a rate behind its label", "out.txt", "store a\nInsertOne: 2.5 sec | 12,500.5 rec/s\nSelect: 1.2k qps\n", [{"name": "InsertOne", "rate": 12500.5, "unit": "operations"}, {"name": "Select", "rate": 1200.0, "unit": "queries"}]),
    ("a rate behind its unit", "out.txt", "mixed load TPS: 512.5\n", [{"rate": 512.5, "unit": "transactions", "name": "mixed load"}]),


    ("what a program counts in the singular", "out.txt", "Rate:      317175.758 insert/sec\n", [{"name": "Rate", "rate": 317175.758, "unit": "operations"}]),
    ("benchstat", "stat.txt", "benchstat a.txt b.txt\n        │  a.txt   │      b.txt      │\n        │  sec/op  │ sec/op  vs base │\nRead-8   8.5µ ± ∞ ¹   26.3µ ± ∞ ¹  ~ (p=1.000 n=3) ²\ngeomean  8.2µ   26.3µ  +220%\n\n        │  a.txt   │      b.txt      │\n        │  B/op  │ B/op  vs base │\nRead-8   8.2Ki ± ∞ ¹   26.3Ki ± ∞ ¹  ~ (p=1.000 n=3) ²\n", [{"name": "Read-8: a.txt", "latency_ms": {"mean": 0.0085}, "runs": 3}, {"name": "Read-8: b.txt", "latency_ms": {"mean": 0.0263}, "runs": 3}]),
    ("Go's benchmarks", "out.txt", "goos: linux\nBenchmarkInsert-8   \t  100000\t     49350 ns/op\t  12 B/op\n", [{"tool": "go test", "latency_ms": {"mean": 0.04935}}]),
    ("sql-bench", "RUN-mysql", "Time for insert (350768): 15 wallclock secs ( 3.00 usr  1.00 sys =  4.00 CPU)\n", [{"took_s": 15.0, "name": "insert"}]),
    ("the course of a run", "out.log", "".join(f"worker {100 + n % 2} ops/s\n" for n in range(20)), [{"rate": 100.5, "series": (100.0, 101.0) * 10}]),
    ("JSON with units in its keys", "r.json", '{"runs": [\n {"store": "a", "insert_ops_per_sec": 1200.5, "p99_ms": 3.5},\n {"store": "b", "insert_ops_per_sec": 800}\n]}', [{"name": "runs a: insert", "rate": 1200.5, "unit": "operations"}, {"latency_ms": {"p99": 3.5}}, {"name": "runs b: insert", "rate": 800.0}]),
]  # fmt: skip


@rows(*LINES)
def test_what_a_program_of_one_s_own_prints(
    _: str, name: str, text: str, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    found = told(tmp_path, text, name)
    assert [{key: getattr(one, key) for key in wanted} for one, wanted in zip(found, expected, strict=True)] == expected


@rows(
    ("run.sh", "echo 100 ops/s\n"),
    ("out.txt", "--target 100 ops/s\n"),
    ("README.md", "We reach 100 ops/s in this text.\n"),
    ("package.json", '{"name": "x", "version": "1.0.0"}'),
    ("c.json", '{"timeout_ms": 500, "retries": 3}'),
)
def test_what_no_program_measured_is_no_result(name: str, text: str, tmp_path: Path) -> None:
    assert told(tmp_path, text, name) == []


def test_lines_under_other_headings_are_of_other_things(tmp_path: Path) -> None:
    text = "# a\n{}# b\n{}# c\n{}"
    (tmp_path / "README.md").write_text(text.replace("{}", "```\n# no heading\nload: 100 ops/s\n```\n"))
    bench = importers.read(tmp_path)
    assert [one.under for one in bench.published] == ["a", "b", "c"]
    assert sorted(map(len, repetitions(bench).values())) == [1, 1, 1]
