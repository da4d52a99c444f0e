"""Results of tools of which no true output is kept here: samples in each tool's form, with figures of our own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from acidtest.audit import importers
from acidtest.audit.bench import Published, Statement
from acidtest.audit.importers.file import Broken, File, Part
from tables import rows

BENCHMARKSQL_PROPERTIES = """db=postgres
driver=org.postgresql.Driver
conn=jdbc:postgresql://localhost:5432/bench
user=me
password=secret
warehouses=100
loadWorkers=8
terminals=64
runTxnsPerTerminal=0
runMins=30
limitTxnsPerMin=0
newOrderWeight=45
"""
FIXTURES = Path(__file__).parents[1] / "kits" / "fixtures"


def read(directory: Path, name: str, text: str | bytes) -> Sequence[Part]:
    path = directory / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return importers._import(File(path, name))[1]


TWICE = ("ycsb.txt", "benchmarksql.log", "tpcc-mysql.out", "mysqlslap.txt", "fio.txt", "k6.txt")


@rows(*TWICE)
def test_every_run_of_a_file_counts(name: str, tmp_path: Path) -> None:
    text = (FIXTURES / name).read_text()
    once, twice = (sum(isinstance(part, Published) for part in read(tmp_path, name, of)) for of in (text, text * 2))
    assert twice == 2 * once


def test_the_best_of_five_is_said_by_the_tool(tmp_path: Path) -> None:
    parts = read(tmp_path, "x.txt", (FIXTURES / "crystaldiskmark.txt").read_text())
    assert [part.kind for part in parts if isinstance(part, Statement) and part.kind != "figure"] == ["best-of"]


BROKEN = [
    ("BenchmarkSQL", "10:00:00,001 [main] INFO   jTPCC : Term-00, warehouses=20\nTerm-00, Running Average tpmTOTAL: 10.00    Current tpmTOTAL: 120\n"),
    ("BenchmarkSQL's result", "run,elapsed,latency,dblatency,ttype,rbk,dskipped,error\n1,x,10,9,PAYMENT,0,0,0\n"),
    ("tpcc-mysql", "*** ###easy### TPC-C Load Generator ***\n<Parameters>\n  [warehouse]: 1\n"),
    ("CrystalDiskMark", "CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\n"),
    ("OLTP-EMUL", "Performance in TOTAL\n====\n"),
    ("YCSB", "2026-01-01 10:00:10:000 10 sec: 40000 operations; 4000 current ops/sec; est completion in 1 minute\n"),
    ("mysqlslap", "Benchmark\n\tAverage number of seconds to run all queries: 2.500 seconds\n"),
]  # fmt: skip


@rows(*BROKEN)
def test_what_ends_before_its_result_is_broken(_: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(Broken):
        read(tmp_path, "result.out", text)


PLANNED: list[tuple[str, str, str, dict[str, Any]]] = [
    ("pgbench", "run.sh", "CLIENTS=64\npgbench -c $CLIENTS -j 8 \\\n  -T 60 -M prepared -C -f own.sql@3 -f other.sql bench > out.txt\n", {"tool": "pgbench", "terminals": 64, "threads": 8, "measured_s": 60.0, "query_mode": "prepared", "reconnects": True, "script": "own.sql@3, other.sql", "engine": "postgresql"}),
    ("pgbench's load", "run.sh", "pgbench -i -s 10 bench\n", {"script": "initialize", "scale": 10.0}),
    ("pgbench's load without a scale", "run.sh", "pgbench -i bench\n", {"script": "initialize", "scale": 1.0}),
    ("pgbench of reads", "README.md", "Run:\n\n```sh\n$ pgbench -S -c 8 -R 100 bench\n```\n", {"script": "select only", "asked_rate": 100.0, "reconnects": False}),
    ("sysbench", "run.sh", "sysbench /usr/share/sysbench/oltp_read_write.lua --threads=16 --time=300 --tables=10 --table-size=1000000 --mysql-password=x run | tee log\n", {"tool": "sysbench", "script": "oltp_read_write", "terminals": 16, "measured_s": 300.0, "parameters": {"tables": "10", "table-size": "1000000", "rows a table": "1000000"}}),
    ("sysbench 0.5", "run.sh", "sysbench --test=oltp.lua --num-threads=4 --max-time=60 run\n", {"script": "oltp", "terminals": 4, "measured_s": 60.0}),
    ("YCSB", "run.sh", "./bin/ycsb run jdbc -P workloads/workloadb -threads 32 -p recordcount=1000 -p db.passwd=x\n", {"tool": "ycsb", "script": "workloadb", "terminals": 32, "scale": 1000.0, "unit": "operations"}),
    ("fio", "run.sh", "fio --name=x --rw=randwrite --bs=4k --direct=0 --size=1G --runtime=60 --ioengine=libaio --iodepth=16\n", {"tool": "fio", "measured_s": 60.0, "parameters": {"rw": "randwrite", "bs": "4k", "direct": "0", "size": "1G", "ioengine": "libaio", "iodepth": "16"}}),
    ("fio's jobs", "job.fio", "[global]\nioengine=libaio\ndirect=1\nruntime=60\n\n[w]\nrw=randwrite\nbs=4k\nfsync=1\n", {"tool": "fio", "name": "w", "flushed": True, "measured_s": 60.0}),
    ("k6", "run.sh", "k6 run --vus 30 --duration 2m tests/load.js\n", {"tool": "k6", "terminals": 30, "measured_s": 120.0, "script": "load.js"}),
    ("BenchmarkSQL", "props.pg", BENCHMARKSQL_PROPERTIES, {"tool": "benchmarksql", "warehouses": 100, "terminals": 64, "measured_s": 1800.0, "engine": "postgresql", "asked_rate": None}),
    ("OLTP-EMUL", "oltp30_config.nix", "working_mode = small_03\nwarm_time = 30\ntest_time = 180\ninit_docs = 100000\n", {"tool": "oltp-emul", "script": "small_03", "scale": 100_000.0, "warmup_s": 1800.0, "measured_s": 10_800.0}),
    ("HammerDB", "run.tcl", "dbset db pg\ndbset bm TPROC-C\ndiset tpcc pg_count_ware 100\ndiset tpcc pg_rampup 2\ndiset tpcc pg_duration 5\ndiset tpcc pg_superuserpass x\nvuset vu 16\nvucreate\n", {"tool": "hammerdb", "script": "TPROC-C", "warehouses": 100, "scale": 100.0, "warmup_s": 120.0, "measured_s": 300.0, "terminals": 16, "engine": "postgresql"}),
    ("HammerDB in Python", "run.py", "dbset('db','maria')\ndbset('bm','TPC-C')\ndiset('tpcc','maria_count_ware','100')\nvuset('vu','16')\n", {"warehouses": 100, "terminals": 16, "engine": "mariadb"}),
]  # fmt: skip


@rows(*PLANNED)
def test_what_a_script_asks_for(_: str, name: str, text: str, expected: dict[str, Any], tmp_path: Path) -> None:
    found = [part for part in read(tmp_path, name.rpartition("/")[2], text) if isinstance(part, Published)]
    assert len(found) == 1
    assert {key: getattr(found[0], key) for key in expected} == expected
    assert (found[0].planned, found[0].rate) == (True, None)
    assert "secret" not in str(found[0].parameters)


@rows(
    ("README.md", "We ran pgbench -i and it took long.\n"),
    ("run.sh", "echo 'now pgbench -c 10 runs'\n"),
    ("run.sh", "# pgbench -c 10 bench\n"),
    ("run.py", '"""Reads what pgbench -i leaves behind in its tables."""\n'),
    ("a.txt", "add if=1 of=2 bs=3\n"),
    ("run.sh", "sysbench --version\n"),
    ("run.sh", "sysbench oltp_read_only cleanup\n"),
)
def test_what_only_speaks_of_a_command_starts_none(name: str, text: str, tmp_path: Path) -> None:
    assert [part for part in read(tmp_path, name, text) if isinstance(part, Published)] == []


def test_a_load_is_understood_and_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "load.log").write_text(
        "dropping old tables...\ngenerating data (client-side)...\n100000 of 100000 tuples (100%) done (elapsed 0.10 s, remaining 0.00 s)\ndone in 0.50 s (drop tables 0.01 s).\n"
    )
    bench = importers.read(tmp_path)
    assert (bench.read, bench.published, bench.not_understood) == ([("load.log", "pgbench load")], [], [])
