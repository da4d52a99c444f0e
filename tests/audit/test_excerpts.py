"""What people quote out of a tool's output, without its first lines."""

from __future__ import annotations

from pathlib import Path

from acidtest.audit.bench import Published
from acidtest.audit.repeated import repetitions
from tables import read, rows

SYSBENCH = (
    "SQL statistics:\n    transactions:                        9000   (150.0 per sec.)\n\nGeneral statistics:\n"
    "    total time:                          60.0s\n\nLatency (ms):\n         min:                    2.0\n"
    "         avg:                    6.5\n         max:                   50.0\n"
    "         95th percentile:        9.5\n"
)
MEMTIER = (
    "ALL STATS\n" + "=" * 60 + "\nType         Ops/sec     Avg. Latency     p99 Latency\n" + "-" * 60 + "\n"
    "Sets         4000.5      0.5              1.5\nTotals       8000.5      0.5              1.5\n"
)
QUOTED: list[tuple[str, str, str, list[tuple[float | None, float | None]]]] = [
    ("pgbench", "latency average = 1.5 ms\ntps = 640.5 (without initial connection time)\n", "pgbench", [(640.5, 1.5)]),
    ("pgbench twice", "tps = 640.5 (including connections establishing)\ntps = 650.5 (excluding connections establishing)\n",
     "pgbench", [(650.5, None)]),
    ("two of pgbench", "tps = 640.5 (without initial connection time)\ntps = 650.5 (without initial connection time)\n",
     "pgbench", [(640.5, None), (650.5, None)]),
    ("sysbench", SYSBENCH, "sysbench", [(150.0, 6.5)]),
    ("a line of sysbench", "transactions:                        9000   (150.0 per sec.)\n", "sysbench", [(150.0, None)]),
    ("fileio of sysbench", "Throughput:\n         read:  IOPS=2300.5 36.9 MiB/s (38.8 MB/s)\n         write: IOPS=1500.5 24.6 MiB/s (25.8 MB/s)\n",
     "sysbench", [(2300.5, None), (1500.5, None)]),
    ("fio", "  read: IOPS=12.3k, BW=48.0MiB/s (50.3MB/s)(2880MiB/60001msec)\n", "fio", [(12300.0, None)]),
    ("benchmarksql", "Measured tpmC (NewOrders) = 1234.5\nMeasured tpmTOTAL = 2700.0\n", "benchmarksql", [(45.0, None)]),
    ("hammerdb", "System achieved 12300 NOPM from 28200 PostgreSQL TPM\n", "hammerdb", [(470.0, None)]),
    ("memtier", MEMTIER, "", [(4000.5, None), (8000.5, None)]),
]  # fmt: skip


def told(published: list[Published]) -> list[tuple[float | None, float | None]]:
    return [(one.rate, one.latency_ms.get("mean")) for one in published]


@rows(*QUOTED)
def test_excerpts(
    _: str, text: str, tool: str, results: list[tuple[float | None, float | None]], tmp_path: Path
) -> None:
    alone = read(tmp_path, {"out.txt": text})
    assert {one.tool for one in alone.published} == {tool}
    assert told(list(alone.published)) == results
    (tmp_path / "out.txt").unlink()
    quoted = read(tmp_path, {"notes.md": f"# Runs\n\nIt gave this.\n\n```\n{text}```\n"})
    assert told([one for one in quoted.published if one.tool == tool]) == results
    assert quoted.not_understood == []


def test_intervals_that_a_text_quotes_are_no_broken_output(tmp_path: Path) -> None:
    text = "".join(f"[ {n}0s ] thds: 4 tps: 13{n}.00 qps: 2600.00 lat (ms,95%): 20.0\n" for n in (1, 2, 3))
    bench = read(tmp_path, {"notes.md": f"# Runs\n\n```\n{text}```\n"})
    assert [(one.rate, one.series) for one in bench.published] == [(132.0, (131.0, 132.0, 133.0))]
    assert not bench.broken


def test_excerpts_of_unknown_runs_are_no_repetitions(tmp_path: Path) -> None:
    blocks = "".join(
        f"* on {name}\n```\ntps = {rate} (without initial connection time)\n```\n"
        for name, rate in (("a", 500.5), ("b", 9000.5))
    )
    groups = repetitions(read(tmp_path, {"notes.md": f"# Runs\n\n{blocks}"}))
    assert [len(of) for of in groups.values()] == [1, 1]


def test_lines_that_say_what_was_done(tmp_path: Path) -> None:
    bench = read(
        tmp_path, {"out.txt": "Inserting 100 rows into first took 3.25 seconds\nclient-2 - Throughput: 15.5 docs/sec\n"}
    )
    assert [(one.took_s, one.rate) for one in bench.published] == [(3.25, None), (None, 15.5)]


def test_a_configuration_with_a_word_of_a_tool_is_no_result(tmp_path: Path) -> None:
    assert read(tmp_path, {"limits.txt": "transactions: 10\nread: 5\nthreads: 8\n"}).published == []
