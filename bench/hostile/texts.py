"""Large files of each kind that the auditor reads: the lines of each, in any number."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

BLOCK_BYTES = 4 << 20


def postgresql_log(n: int) -> str:
    told = (
        "LOG:  checkpoint starting: time",
        f"ERROR:  deadlock detected (process {n})",
        f"LOG:  duration: {n % 97}.3 ms  statement: COMMIT",
        "LOG:  database system is ready to accept connections",
    )[n % 4]
    return f"2026-11-21 10:{n // 60 % 60:02}:{n % 60:02}.{n % 1000:03} UTC [{1000 + n % 50}] {told}\n"


def mysql_log(n: int) -> str:
    told = ("[Note] InnoDB: page_cleaner: 1000ms intended loop took 4000ms", "[ERROR] Aborted connection",
            "[Warning] InnoDB: Transactions deadlock detected, dumping detailed information.")[n % 3]  # fmt: skip
    return f"2026-11-21T10:{n // 60 % 60:02}:{n % 60:02}.123456Z {n} {told}\n"


def firebird_log(n: int) -> str:
    return f"\nHOST{n % 7}\tSat Nov 21 10:{n // 60 % 60:02}:{n % 60:02} 2026\n\tDatabase: /data/o{n}.fdb\n\tdeadlock\n"


def pgbench_progress(n: int) -> str:
    return f"progress: {n + 1}.0 s, {1000 + n % 100}.{n % 10} tps, lat {n % 9}.123 ms stddev 0.5{n % 10}\n"


def pgbench_summary(n: int) -> str:
    return (
        f"transaction type: <builtin: TPC-B (sort of)>\nscaling factor: {n % 100 + 1}\nquery mode: simple\n"
        f"number of clients: {n % 64 + 1}\nnumber of threads: 1\nduration: 60 s\n"
        f"number of transactions actually processed: {60_000 + n}\nlatency average = 1.0{n % 10} ms\n"
        f"tps = {1000 + n}.5 (without initial connection time)\n"
    )


def pgbench_log(n: int) -> str:
    return f"{n % 16} {n} {1000 + n % 777} 0 {1795297566 + n // 1000} {n % 1000000}\n"


def sysbench_interval(n: int) -> str:
    return (
        f"[ {n + 1}s ] thds: 16 tps: {900 + n % 99}.10 qps: {18000 + n % 999}.00 (r/w/o: 12600.00/3600.00/1800.00) "
        f"lat (ms,95%): 2{n % 10}.00 err/s: 0.00 reconn/s: 0.00\n"
    )


def sysbench_report(n: int) -> str:
    return (
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nRunning the test with following options:\n"
        f"Number of threads: {n % 64 + 1}\n\nSQL statistics:\n    queries performed:\n        read:  {n}\n"
        f"    transactions:                        {n + 1000}  ({n % 999 + 1}.01 per sec.)\n"
        f"    queries:                             {n + 20000} (2000.12 per sec.)\n\nGeneral statistics:\n"
        "    total time:                          60.0012s\n\nLatency (ms):\n         min: 0.91\n         avg: 1.99\n"
        "         max: 50.11\n         95th percentile: 3.02\n"
    )


def prose(n: int) -> str:
    return (
        f"We measured {n} times. On a server with {n % 64 + 1} GB of RAM and an NVMe drive PostgreSQL 16.{n % 9} was "
        f"{n % 90 + 1} % faster than MySQL 8.0.{n % 40}, with shared_buffers set to {n % 9 + 1} GB and "
        f"1,{n % 900 + 100} tps.\n\n"
    )


def table(n: int) -> str:
    return f"| postgresql-{n % 9} | {n % 64 + 1} | {1000 + n} tps | {n % 9}.5 ms |\n"


def csv(n: int) -> str:
    return f"mysql,{n % 64 + 1},{n},{1000 + n % 999}.5,{n % 50}.25\n"


def jtl(n: int) -> str:
    return (
        f"{1795297566000 + n},{n % 900},HTTP Request {n % 9},200,OK,Group 1-{n % 9},text,true,,{n % 999},120,8,8,/,"
        f"{n % 90},0,{n % 9}\n"
    )


def json_line(n: int) -> str:
    at = f"2026-11-21T10:{n // 60 % 60:02}:{n % 60:02}Z"
    return f'{{"metric": "http_req_duration", "type": "Point", "data": {{"time": "{at}", "value": {n}.5}}}}\n'


def json_element(n: int) -> str:
    return f'{"," if n else "["}{{"name": "run {n}", "tps": {n % 9999}, "latency_ms": {{"p99": {n % 99}.5}}}}\n'


def yaml(n: int) -> str:
    return (
        f"server_{n}:\n  shared_buffers: {n % 64 + 1}GB\n  fsync: {'on' if n % 2 else 'off'}\n  ports: [{n % 9}, 2]\n"
    )


def sql(n: int) -> str:
    return f"INSERT INTO t{n % 9} (id, a) VALUES ({n}, 'row {n}');\nUPDATE t SET a = random() WHERE id = {n};\n"  # noqa: S608


def set_statement(n: int) -> str:
    return f"SET GLOBAL innodb_flush_log_at_trx_commit = {n % 3};\nALTER SYSTEM SET work_mem = '{n}MB';\n"


def shell(n: int) -> str:
    return (
        f'export RUN_{n % 99}={n}\npgbench -c {n % 64 + 1} -T 60 -M prepared "db_{n}" | tee "out-$RUN_{n % 99}.txt"\n'
        f"docker run -d --name pg{n} -e POSTGRES_PASSWORD=x postgres:16 -c fsync=off -c shared_buffers={n % 9 + 1}GB\n"
    )


def html(n: int) -> str:
    return (
        f"<tr><td>postgresql-{n % 9}</td><td>{n % 64 + 1}</td><td>{1000 + n} tps</td><td>{n % 9}.5 ms</td></tr>\n"
        f"<p>It was <b>{n % 90} % faster</b> than MySQL.</p>\n"
    )


def configuration(n: int) -> str:
    return f"# a comment {n}\nwork_mem = {n % 64 + 1}MB\nshared_buffers = {n % 9 + 1}GB\n"


def options(n: int) -> str:
    return f"[mysqld]\ninnodb_buffer_pool_size = {n % 9 + 1}G\nloose_option_{n} = {n}\n"


def vdbbench(n: int) -> str:  # what no importer knows
    return f"step {n:>9} took {n % 900}.1 ms at {n % 77} ops/s\n"


# Name of the file, what it begins with, each of its lines, what it ends with.
Text = tuple[str, str, Callable[[int], str], str]
JTL = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,"
    "grpThreads,allThreads,URL,Latency,IdleTime,Connect\n"
)
HTML = "<html><body><table><tr><th>engine</th><th>clients</th><th>rate</th><th>p99</th></tr>\n"
TEXTS: dict[str, Text] = {
    "PostgreSQL log": ("postgresql.log", "", postgresql_log, ""),
    "MySQL log": ("mysqld.err", "", mysql_log, ""),
    "Firebird log": ("firebird.log", "", firebird_log, ""),
    "pgbench progress": ("pgbench.out", "", pgbench_progress, ""),
    "pgbench summaries": ("pgbench.txt", "", pgbench_summary, ""),
    "pgbench log": ("pgbench_log.1234", "", pgbench_log, ""),
    "sysbench intervals": ("sysbench.out", sysbench_report(1), sysbench_interval, ""),
    "sysbench reports": ("sysbench.log", "", sysbench_report, ""),
    "prose": ("report.md", "# A benchmark\n\n", prose, ""),
    "prose in txt": ("report.txt", "A benchmark\n\n", prose, ""),
    "table in Markdown": ("table.md", "| engine | clients | rate | p99 |\n|---|---|---|---|\n", table, ""),
    "CSV": ("results.csv", "engine,clients,run,tps,p99_ms\n", csv, ""),
    "JTL": (
        "results.jtl",
        JTL,
        jtl,
        "",
    ),
    "JSON lines": ("k6.json", "", json_line, ""),
    "JSON": ("results.json", "", json_element, "]\n"),
    "YAML": ("values.yaml", "", yaml, ""),
    "SQL": ("load.sql", "CREATE TABLE t (id INT PRIMARY KEY, a INT);\n", sql, ""),
    "SQL of settings": ("tune.sql", "", set_statement, ""),
    "shell script": ("run.sh", "#!/bin/sh\n", shell, ""),
    "HTML": ("report.html", HTML, html, "</table></body></html>\n"),
    "postgresql.conf": ("postgresql.conf", "", configuration, ""),
    "my.cnf": ("my.cnf", "", options, ""),
    "unknown figures": ("steps.out", "", vdbbench, ""),
}  # fmt: skip


def write(path: Path, text: Text, size: int) -> None:
    """A file of about so many bytes. Its lines begin anew after each block: to make them takes longer than to read."""
    _, begin, line, end = text
    with path.open("wb") as file:
        file.write(begin.encode())
        block = b"".join(_lines(line, min(size, BLOCK_BYTES)))
        file.write(block)
        if line is json_element:
            block = b"," + block[1:]
        while file.tell() < size:
            file.write(block)
        file.write(end.encode())


def _lines(line: Callable[[int], str], size: int) -> Iterator[bytes]:
    written = 0
    for n in itertools.count():
        if written >= size:
            return
        made = line(n).encode()
        written += len(made)
        yield made
