"""What texts, tables and programs say, held against what their own figures allow: small kits, each of one kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.audit import importers, judge
from acidtest.finding import Finding

LATENCIES = (
    "## {} run\n\n| engine | {} | mean (ms) | TPS |\n|---|---|---|---|\n| a | {} | 4.0 | {} |\n| b | {} | 5.0 | 190 |\n"
)
FAILS = "| clients | {} | {} | ops/s |\n|---|---|---|---|\n| 1 | 1000 | 1000 | 100 |\n| 2 | 1000 | {} | 200 |\n"
SENT = "case,sent requests,succeeded,took,tps\nlogin,300,{},{},{}\nlogout,300,300,15,20\n"
LOADED = "[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), {}\n[INSERT], Operations, {}\n[INSERT], Return=OK, {}\n"
REFUSED = LOADED + "[INSERT-FAILED], Operations, {}\n[INSERT], Return=ERROR, {}\n"
TIMED_PY = (
    "import time\ndef once(cursor):\n    start = time.perf_counter()\n    try:\n        cursor.execute('SELECT 1')\n"
    "        return time.perf_counter() - start\n    except Exception as error:\n        print(error)\n        {}\n"
)
TIMED_JAVA = (
    "long took;\ntry {{\n  long start = System.nanoTime();\n  statement.execute(sql);\n  took = System.nanoTime() - start;\n"
    "}} catch (SQLException e) {{\n  {}\n}}\n"
)
DROPPED_GO = (
    'package main\nimport (\n\t"database/sql"\n\t"time"\n)\nfunc run(db *sql.DB) {{\n\tstart := time.Now()\n\t{}\n'
    "\tprintln(time.Since(start))\n}}\n"
)
DROPPED_C = "static void BM(benchmark::State& state) {{\n  for (auto _ : state) {{\n    {}\n  }}\n}}\n"
CHECK_JS = "check(res, {{ 'answered': (r) => r.status === 200{} }});\n"
RESULT = "| engine | TPS |\n|---|---|\n| a | 100 |\n"

BARE = "# Disks\n\nThese are {}.\n\n| | one disk | two disks |\n|---|---|---|\n| random read | 1246 | 1180 |\n| random write | 856 | 877 |\n| both | 229 | 256 |\n"
FLAT = "| case | mean (ms) | p99 (ms) |\n|---|---|---|\n| a | 100.0 | {} |\n| b | 10.0 | 20.0 |\n"
SOON = "Measured on PostgreSQL.\n\n| case | mean ({}) |\n|---|---|\n| Update_orders | {} |\n| Select_orders | 52000 |\n"
BROKEN = "transaction type: <builtin: TPC-B (sort of)>\nscaling factor: 10\nnumber of clients: 4\nnumber of threads: 4\nduration: 60 s\n"
MEANS = "| side | mean (ms) | {} |\n|---|---|---|\n| a | 1.5 | 4.5 |\n| b | 1.6 | 4.7 |\n"
TWICE = "".join(
    f"## {n}\n\nThe rates in {{}}\n\n| size | a | b |\n|--:|--:|--:|\n| 5 | 4242.57 | 1931.54 |\n| 9 | 7899.67 | 2750.85 |\n\n"
    for n in (1, 2)
)

SIDES = "# Runs\n\n| case | Alpha (ms) | Beta (ms) | Gamma (ms) |\n|---|---|---|---|\n| point reads | 10.0 | 31.0 | {} |\n| bulk load | 20.0 | 25.0 | 22.0 |\n\n{}\n"
AGAIN = (
    "## All\n\n| figure | one | two |\n|---|---|---|\n| mean waiting | {}% | 0% |\n| mean rate | 57.3 | 83.8 |\n\n"
    "## Rates\n\n| figure | one | two |\n|---|---|---|\n| mean rate | 57.3 | 83.8 |\n| waiting (avg) | {}% | 0% |\n"
)
NUMBERED = "| setup | TPS |\n|---|---|\n| 7 | 200.0 |\n| 8 | 360.0 |\n\nComparing 7 and 8, {}.\n"

# The rule, its file and text where it speaks, and a text as similar as possible where it is silent.
KITS: list[tuple[str, str, str, str]] = [
    ("throughput-impossible-for-latency", "README.md", LATENCIES.format("First", "clients", 2, 1900, 1), LATENCIES.format("First", "clients", 8, 1900, 1)),
    ("throughput-impossible-for-latency", "README.md", LATENCIES.format("Single-threaded", "cores", 2, 1900, 1), LATENCIES.format("Parallel", "cores", 2, 1900, 1)),
    ("throughput-impossible-for-latency", "README.md", LATENCIES.format("First", "clients", 2, 1900, 1), LATENCIES.format("First", "clients", 2, 1900, 1).replace("TPS", "rows/s")),
    ("throughput-impossible-for-latency", "README.md", LATENCIES.format("First", "clients", 2, 1900, 1), LATENCIES.format("First", "clients", 2, 1900, 1).replace("TPS", "max TPS")),
    ("rate-contradicts-latency", "README.md", LATENCIES.format("First", "clients", 64, 1900, 1), LATENCIES.format("First", "clients", 8, 1900, 1)),
    ("rate-contradicts-latency", "README.md", LATENCIES.format("First", "vusers", 64, 1900, 1).replace("mean", "p99"), LATENCIES.format("First", "vusers", 4, 1900, 1).replace("mean", "p99")),
    ("many-failed", "README.md", FAILS.format("total", "successful", 500), FAILS.format("total", "successful", 1000)),
    ("many-failed", "README.md", FAILS.format("sent", "success rate", "50.0%").replace("| 1000 | 100 |", "| 100% | 100 |"), FAILS.format("sent", "success rate", "100.0%").replace("| 1000 | 100 |", "| 100% | 100 |")),
    ("many-failed", "README.md", FAILS.format("size", "error rate", "3.1%").replace("| 1000 | 100 |", "| 0% | 100 |"), FAILS.format("size", "error rate", "0.0%").replace("| 1000 | 100 |", "| 0% | 100 |")),
    ("throughput-is-not-goodput", "runs.csv", SENT.format(120, 10, 30), SENT.format(120, 10, 12)),
    ("throughput-is-not-goodput", "runs.csv", SENT.format(120, 10, 30), SENT.format(300, 10, 30)),
    ("throughput-is-not-goodput", "run.txt", REFUSED.format(1000.0, 500, 500, 500, 500).replace("INSERT", "READ"), LOADED.format(1000.0, 1000, 1000).replace("INSERT", "READ")),
    ("load-failed", "load.txt", "Command line: -load -db a\n" + REFUSED.format(0.0, 0, 0, 20, 20), "Command line: -load -db a\n" + LOADED.format(1000.0, 1000, 1000)),
    ("errors-counted-as-success", "bench.py", TIMED_PY.format("return 0.0"), TIMED_PY.format("raise")),
    ("errors-counted-as-success", "bench.py", TIMED_PY.format("times.append(0)"), TIMED_PY.format("failed += 1")),
    ("errors-counted-as-success", "Bench.java", TIMED_JAVA.format("took = 0;"), TIMED_JAVA.format("throw e;")),
    ("errors-counted-as-success", "main.go", DROPPED_GO.format('db.Exec("INSERT INTO t VALUES (1)")'), DROPPED_GO.format('db.Exec("DROP TABLE t")')),
    ("errors-counted-as-success", "main.go", DROPPED_GO.format('_, _ = db.Exec("UPDATE t SET a = 1")'), DROPPED_GO.format('_, err := db.Exec("UPDATE t SET a = 1")')),
    ("errors-counted-as-success", "main.go", DROPPED_GO.format('db.Exec("INSERT INTO t VALUES (1)")'), DROPPED_GO.format('db.Exec("INSERT INTO t VALUES (1)")').replace("database/sql", "example.org/own")),
    ("errors-counted-as-success", "bench.cpp", DROPPED_C.format('SQLExecDirect(h, "SELECT a FROM t", SQL_NTS);'), DROPPED_C.format('check(SQLExecDirect(h, "SELECT a FROM t", SQL_NTS));')),
    ("errors-counted-as-success", "load.js", CHECK_JS.format(" || r.status === 500"), CHECK_JS.format("")),
    ("unit-missing", "README.md", BARE.format("figures of our runs"), BARE.format("requests per second")),
    ("unit-missing", "README.md", BARE.format("figures of our runs"), BARE.format("figures of our runs").replace("| random", "| count of random")),
    ("number-format-mixed", "runs.csv", "name;value\nmean;8,68\np50;8.15\n", "name;value\nmean;8,68\ncount;8.150\n"),
    ("number-format-mixed", "runs.csv", "name;value\nmean;8,68\np50;8.15\n", "name,value\nmean,8.68\np50,8.15\n"),
    ("percentiles-flat", "README.md", FLAT.format(100.5), FLAT.format(180.0)),
    ("faster-than-possible", "README.md", SOON.format("ns", 148), SOON.format("ns", 14800)),
    ("faster-than-possible", "README.md", SOON.format("ns", 148), SOON.format("ns", 148).replace("PostgreSQL", "a list")),
    ("faster-than-possible", "README.md", SOON.format("ns", 148), SOON.format("ns", "148 µs")),
    ("unfinished-run", "run.out", BROKEN, BROKEN + "tps = 100.5 (without initial connection time)\n"),
    ("average-of-percentiles", "README.md", MEANS.format("P95 mean (ms)"), MEANS.format("mean / P95 (ms)")),
    ("average-of-percentiles", "README.md", MEANS.format("P99 평균"), MEANS.format("P99")),
    ("average-of-percentiles", "README.md", MEANS.format("avg p99 latency"), MEANS.format("latency p99")),
    ("tpm-against-nopm", "README.md", TWICE.format("NOTPM", "Transactions per Minute"), TWICE.format("NOTPM", "NOPM")),
    ("claim-against-figures", "README.md", SIDES.format(12.0, "Alpha point reads are 3x faster than every other one."), SIDES.format(32.0, "Alpha point reads are 3x faster than every other one.")),
    ("claim-against-figures", "README.md", SIDES.format(12.0, "Alpha is 8x faster than Beta."), SIDES.format(12.0, "Alpha is 3x faster than Beta.")),
    ("claim-against-figures", "README.md", SIDES.format(12.0, "Alpha is 8x faster than Beta."), SIDES.format(12.0, "Alpha is up to 8x faster than Beta.")),
    ("claim-against-figures", "README.md", SIDES.format(12.0, "Gamma outperforms Alpha in all 2 cases."), SIDES.format(12.0, "Alpha outperforms Gamma in all 2 cases.")),
    ("claim-against-figures", "README.md", SIDES.format(12.0, "Gamma outperforms Alpha in all 2 cases."), SIDES.format(12.0, "Gamma outperforms Alpha in almost all 2 cases.")),
    ("claim-against-figures", "README.md", SIDES.format(12.0, "Point reads dominate in all 3 runs.").replace("| bulk", "| scans | 90 | 91 | 92 |\n| bulk"), SIDES.format(30.0, "Point reads dominate in all 3 runs.").replace("| bulk", "| scans | 9 | 9 | 9 |\n| bulk")),
    ("claim-against-figures", "README.md", NUMBERED.format("the tps improvement was 180%"), NUMBERED.format("the tps improvement was 80%")),
    ("figures-contradict", "README.md", AGAIN.format("3.14", "0.89"), AGAIN.format("3.14", "3.14")),
    ("figures-contradict", "README.md", AGAIN.format("3.14", "0.89"), AGAIN.format("3.14", "0.89").replace("57.3 |", "58.1 |", 1)),
    ("figures-contradict", "README.md", AGAIN.format("3.14", "0.89"), AGAIN.format("3.14", "0.89").replace("mean rate", "8").replace("mean waiting", "16").replace("waiting (avg)", "16")),
    ("arithmetic", "README.md", "It rose from 200 TPS to 360 TPS (180% improvement).\n", "It rose from 200 TPS to 360 TPS (80% improvement).\n"),
    ("results-missing", "README.md", "See [the results](raw/results.csv).\n\n" + RESULT, "See [the manual](docs/manual.md) and [all](../results.csv).\n"),
]  # fmt: skip


def found(directory: Path, rule: str, file: str, text: str) -> list[Finding]:
    directory.mkdir()
    (directory / file).write_text(text)
    if file.endswith((".py", ".java", ".go", ".cpp", ".js")):
        (directory / "RESULTS.md").write_text(RESULT)
    return [one for one in judge.of_bench(importers.read(directory)) if one.rule.name == rule]


@pytest.mark.parametrize(
    ("rule", "file", "speaks", "silent"), KITS, ids=[f"{kit[0]}-{n}" for n, kit in enumerate(KITS)]
)
def test_a_text_is_held_against_its_figures(tmp_path: Path, rule: str, file: str, speaks: str, silent: str) -> None:
    said = found(tmp_path / "speaks", rule, file, speaks)
    assert said, importers.read(tmp_path / "speaks").published
    assert any(one.file == file and one.line for of in said for one in of.evidence)
    assert not found(tmp_path / "silent", rule, file, silent)


def test_a_program_without_results_accuses_nobody(tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text(TIMED_PY.format("return 0.0"))
    assert not [one for one in judge.of_bench(importers.read(tmp_path)) if one.rule.about == "goodput_per_s"]
