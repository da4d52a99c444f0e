"""What names and scripts of one's own tell of a run, and lists in texts of its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acidtest.audit.bench import Published, Where
from acidtest.audit.importers import named
from acidtest.audit.repeated import repetitions
from tables import read, rows

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


@rows(*NAMES)
def test_parameters_in_names(file: str, name: str, told: tuple[int | None, float | None, int | None]) -> None:
    one = named.filled(Published(Where(file, 1), "", name or file.rpartition("/")[2], rate=1.0))
    assert (one.terminals, one.scale, one.repetition) == told


def test_a_name_never_beats_what_the_result_says() -> None:
    one = Published(Where("clients16.log", 1), "pgbench", "x", rate=1.0, terminals=8)
    assert named.filled(one) == one


LIST = """# Figures

## Inserts

### 8 clients

- **first**: 5,100 TPS (baseline) `{5000, 5050, 5100}`
- **second** - `12 500 tps` with `7.5 ms` at the 99th percentile
- Costs up to 900 tps
- a range: 100 to 200 tps
- ambiguous: 12 500 tps
"""
OLTP_BENCH = (
    "1483043169", "postgres", "9.5.1", "voter",
    "[min=0.001, 25th=0.002, median=0.003, avg=0.004, 75th=0.005, 90th=0.006, 95th=0.007, 99th=0.0081234567890123456, max=0.5]",
    "812.33213813877614386", "isolation=TRANSACTION_SERIALIZABLE", "scalefactor=100", "terminals=2",
)  # fmt: skip


def asked(terminals: int | None, measured_s: float | None = None, warmup_s: float | None = None, **more: Any) -> Any:
    return [{"planned": True, "terminals": terminals, "measured_s": measured_s, "warmup_s": warmup_s} | more]


# A file, its text, and what is known of each result in it.
READ: list[tuple[str, str, list[dict[str, Any]]]] = [





      # of an unknown unit
    ("run.sh", "CLIENTS=8\nDURATION=60\npgbench -c $CLIENTS -T $DURATION bench\n", asked(8, 60.0, tool="pgbench")),
    ("web.py", "threads = 4\nworkers = 8\nrows = 10\n", []),  # of no benchmark
    ("bench.py", "threads = 4\n", []),
    ("bench.sh", "max_connections=100\nPORT=5432\nTIMEOUT=30\nRETRIES=3\n", []),
    ("plot_bench.py", "width = 12\nfont_size = 8\ntime_column = 2\n", []),

    ("results.md", "# x\n\n#### Fifty inserts\n```\n┌─ Best:      1.5ms\n├─ Completed: 19.1ms\n└─ Errors:    0\n```\n", [{"took_s": 0.0191}]),

    ("out.summary", "\n".join(OLTP_BENCH) + "\n", [{"engine": "postgresql", "script": "voter", "scale": 100.0, "terminals": 2, "rate": 812.33213813877614386}]),

]  # fmt: skip


@rows(*READ)
def test_what_is_known_of_a_result(name: str, text: str, expected: list[dict[str, Any]], tmp_path: Path) -> None:
    published = read(tmp_path, {name: text}).published
    known = [{key: getattr(one, key) for key in wanted} for one, wanted in zip(published, expected, strict=True)]
    assert known == [
        {key: pytest.approx(value) if isinstance(value, float) else value for key, value in wanted.items()}
        for wanted in expected
    ]


def test_times_in_names_leave_repetitions_as_such(tmp_path: Path) -> None:
    text = "[OVERALL], RunTime(ms), 90000\n[OVERALL], Throughput(ops/sec), {0}00.5\n[READ], Operations, {0}0000\n"
    names = ["a/run_rep1_2025-05-27_01-32-27", "a/run_rep2_2025-05-27_01-39-57", "a/run_rep3_2025-05-27_01-47-22"]
    bench = read(tmp_path, {f"{name}.txt": text.format(n) for n, name in enumerate(names, start=1)})
    assert [len(of) for of in repetitions(bench).values()] == [3]
