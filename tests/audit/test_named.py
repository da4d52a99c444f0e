"""What names and scripts of one's own tell of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.audit import importers, judge
from acidtest.audit.bench import Published, Where
from acidtest.audit.importers import named
from acidtest.audit.repeated import repetitions


def kit(directory: Path, **files: str) -> list[Published]:
    for name, text in files.items():
        path = directory / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return list(importers.read(directory).published)


NAMES: list[tuple[str, str, tuple[int | None, float | None, int | None]]] = [
    ("results/oltp_rw_c64_run2.log", "", (None, None, 2)),
    ("oltp_rw_64threads.log", "", (64, None, None)),
    ("threads=16/run3.txt", "", (16, None, 3)),
    ("scale100_clients32_rep_2.txt", "", (32, 100.0, 2)),
    ("s100_c32.log", "", (32, 100.0, None)),
    ("sc4_cl250/out.res", "", (250, 4.0, None)),
    ("README.md", "store: 10 clients", (10, None, None)),
    ("c5.large/out.log", "", (None, None, None)),
    ("threads8_vs_threads16.txt", "", (None, None, None)),
    ("t3.xlarge/mysql_57.log", "", (None, None, None)),
    ("threadsafe_8.1.log", "", (None, None, None)),
    ("clients-16/threads-8/a.txt", "", (8, None, None)),
]


@pytest.mark.parametrize(("file", "name", "told"), NAMES, ids=[f"{row[0]} {row[1]}" for row in NAMES])
def test_parameters_in_names(file: str, name: str, told: tuple[int | None, float | None, int | None]) -> None:
    one = named.filled(Published(Where(file, 1), "", name or file.rpartition("/")[2], rate=1.0))
    assert (one.terminals, one.scale, one.repetition) == told


def test_a_name_never_beats_what_the_result_says() -> None:
    one = Published(Where("clients16.log", 1), "pgbench", "x", rate=1.0, terminals=8)
    assert named.filled(one) == one


SCRIPTS = [
    ("bench_dot_sh", "# benchmark\nCLIENTS=${CLIENTS:-8}\nexport DURATION=30\n./driver\n", (8, 30.0, None)),
    ("bench_dot_go", "const Threads = 16 // of the benchmark\nconst WarmUp = 5 * time.Second\n", (16, None, 5.0)),
    (
        "Bench_dot_java",
        "  private static final int CLIENTS = 4;\n  static final int RUN_TIME_MS = 2_000;\n",
        (4, 2.0, None),
    ),
    (
        "bench_dot_py",
        "p.add_argument('--concurrency', type=int,\n    default=12)\np.add_argument(\n  '--warmup-time', default=5)\n",
        (12, None, 5.0),
    ),
    ("benchmark_dot_yaml", "thread_count: 4\ntotal_rows: 1000\n", (4, None, None)),
    ("bench_dot_js", "const clients = 4;\nconst duration = 10000;\n", (4, None, None)),  # of an unknown unit
]


@pytest.mark.parametrize(("name", "text", "asked"), SCRIPTS, ids=[row[0] for row in SCRIPTS])
def test_parameters_in_scripts(
    name: str, text: str, asked: tuple[int, float | None, float | None], tmp_path: Path
) -> None:
    (one,) = kit(tmp_path, **{name: text})
    assert one.planned
    assert (one.terminals, one.measured_s, one.warmup_s) == asked


NO_PLANS = [
    ("web_dot_py", "threads = 4\nworkers = 8\nrows = 10\n"),  # of no benchmark
    ("bench_dot_py", "threads = 4\n"),
    ("bench_dot_sh", "max_connections=100\nPORT=5432\nTIMEOUT=30\nRETRIES=3\n"),
    ("plot_bench_dot_py", "width = 12\nfont_size = 8\ntime_column = 2\n"),
]


@pytest.mark.parametrize(("name", "text"), NO_PLANS, ids=[row[0] for row in NO_PLANS])
def test_what_asks_for_no_run(name: str, text: str, tmp_path: Path) -> None:
    assert kit(tmp_path, **{name: text}) == []


def test_a_program_of_one_s_own_is_held_against_nobody(tmp_path: Path) -> None:
    kit(tmp_path, bench_dot_sh="# benchmark\nCLIENTS=64\nDURATION=1\nSCALE=1\n", README_dot_md="# x\n")
    bench = importers.read(tmp_path)
    assert bench.published
    assert not bench.plans
    assert {one.severity for one in judge.of_bench(bench)} <= {"note"}


def test_a_known_tool_s_command_says_it_better(tmp_path: Path) -> None:
    text = "CLIENTS=8\nDURATION=60\npgbench -c $CLIENTS -T $DURATION bench\n"
    (one,) = kit(tmp_path, run_dot_sh=text)
    assert (one.tool, one.terminals, one.measured_s) == ("pgbench", 8, 60.0)


def test_boxes_that_a_program_draws(tmp_path: Path) -> None:
    text = "# x\n\n#### Fifty inserts\n```\n┌─ Best:      1.5ms\n├─ Completed: 19.1ms\n└─ Errors:    0\n```\n"
    (one,) = kit(tmp_path, results_dot_md=text)
    assert one.took_s == pytest.approx(0.0191)


def test_a_summary_of_oltp_bench(tmp_path: Path) -> None:
    lines = (
        "1483043169", "postgres", "9.5.1", "voter",
        "[min=0.001, 25th=0.002, median=0.003, avg=0.004, 75th=0.005, 90th=0.006, 95th=0.007, 99th=0.0081234567890123456, max=0.5]",
        "812.33213813877614386", "isolation=TRANSACTION_SERIALIZABLE", "scalefactor=100", "terminals=2",
    )  # fmt: skip
    (one,) = kit(tmp_path, out_dot_summary="\n".join(lines) + "\n")
    assert (one.engine, one.script, one.scale, one.terminals) == ("postgresql", "voter", 100.0, 2)
    assert (round(one.rate or 0, 2), one.latency_ms["p50"], one.latency_ms["max"]) == (812.33, 3.0, 500.0)


def test_times_in_names_leave_repetitions_as_such(tmp_path: Path) -> None:
    text = "[OVERALL], RunTime(ms), 90000\n[OVERALL], Throughput(ops/sec), {0}00.5\n[READ], Operations, {0}0000\n"
    names = ["a__run_rep1_2025-05-27_01-32-27", "a__run_rep2_2025-05-27_01-39-57", "a__run_rep3_2025-05-27_01-47-22"]
    kit(tmp_path, **{f"{name}_dot_txt": text.format(n) for n, name in enumerate(names, start=1)})
    groups = repetitions(importers.read(tmp_path))
    assert [len(of) for of in groups.values()] == [3]
