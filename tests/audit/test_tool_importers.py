"""Results of tools of which no true output is kept here: samples in each tool's form, with figures of our own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from acidtest.audit import importers
from acidtest.audit.bench import Bench, Published, Statement
from acidtest.audit.importers.file import Broken, File, Part
from acidtest.audit.rules.goodput import throughput_is_not_goodput

YCSB = """Command line: -db site.ycsb.db.JdbcClient -P workloads/workloada -threads 16 -target 5000 -p recordcount=1000000 -p db.passwd=x -t
2026-01-01 10:00:10:000 10 sec: 40000 operations; 4000 current ops/sec; est completion in 1 minute [READ: Count=20000, Max=9, Min=1, Avg=2, 90=3, 99=4, 99.9=5, 99.99=6]
2026-01-01 10:00:20:000 20 sec: 81000 operations; 4100 current ops/sec; est completion in 1 minute
[OVERALL], RunTime(ms), 25000
[OVERALL], Throughput(ops/sec), 4050.5
[TOTAL_GCs], Count, 12
[READ], Operations, 60000
[READ], AverageLatency(us), 1500.5
[READ], MaxLatency(us), 90000
[READ], 95thPercentileLatency(us), 3000
[READ], 99thPercentileLatency(us), 6000
[READ], Return=OK, 59990
[READ], Return=NOT_FOUND, 10
[UPDATE], Operations, 41262
[UPDATE], AverageLatency(us), 2500.5
[UPDATE], Return=OK, 41262
[UPDATE-FAILED], Operations, 7
"""
YCSB_JSON = """{
  "metric" : "OVERALL",
  "measurement" : "RunTime(ms)",
  "value" : 10000.0
}{
  "metric" : "OVERALL",
  "measurement" : "Throughput(ops/sec)",
  "value" : 123.5
}{
  "metric" : "READ",
  "measurement" : "Operations",
  "value" : 1235
}{
  "metric" : "READ",
  "measurement" : "99thPercentileLatency(us)",
  "value" : 1500.0
}
"""
GO_YCSB = """***************** properties *****************
"threadcount"="8"
"recordcount"="1000"
**********************************************
READ   - Takes(s): 9.9, Count: 10, OPS: 1.0, Avg(us): 1, Min(us): 1, Max(us): 1, 99th(us): 1
Run finished, takes 20.0s
READ   - Takes(s): 20.0, Count: 9500, OPS: 475.0, Avg(us): 400, Min(us): 90, Max(us): 8000, 50th(us): 300, 90th(us): 700, 95th(us): 900, 99th(us): 2000, 99.9th(us): 5000
UPDATE - Takes(s): 20.0, Count: 500, OPS: 25.0, Avg(us): 500, Min(us): 90, Max(us): 9000, 50th(us): 300, 90th(us): 700, 95th(us): 900, 99th(us): 2000, 99.9th(us): 5000
"""
BENCHMARKSQL = """10:00:00,001 [main] INFO   jTPCC : Term-00, db=postgres
10:00:00,001 [main] INFO   jTPCC : Term-00, conn=jdbc:postgresql://localhost/x
10:00:00,001 [main] INFO   jTPCC : Term-00, warehouses=20
10:00:00,001 [main] INFO   jTPCC : Term-00, terminals=50
10:00:00,001 [main] INFO   jTPCC : Term-00, runMins=5
Term-00, Running Average tpmTOTAL: 10.00    Current tpmTOTAL: 120    Memory Usage: 10MB / 100MB
10:05:00,001 [Thread-7] INFO   jTPCC : Term-00, Measured tpmC (NewOrders) = 4500.25
10:05:00,001 [Thread-7] INFO   jTPCC : Term-00, Measured tpmTOTAL = 10020.5
10:05:00,001 [Thread-7] INFO   jTPCC : Term-00, Session Start     = 2026-01-01 10:00:00
10:05:00,001 [Thread-7] INFO   jTPCC : Term-00, Session End       = 2026-01-01 10:05:00
10:05:00,001 [Thread-7] INFO   jTPCC : Term-00, Transaction Count = 50102
10:05:00,001 [Thread-7] INFO   jTPCC : Term-00, Transaction Error = 3
"""
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
BENCHMARKSQL_RESULT = "run,elapsed,latency,dblatency,ttype,rbk,dskipped,error\n" + "".join(
    f"1,{n * 100},{10 + n % 3},9,{'NEW_ORDER' if n % 2 else 'PAYMENT'},0,0,{int(n == 50)}\n" for n in range(101)
)
BENCHMARKSQL_REPORT = """<html><title>BenchmarkSQL Run #1</title><pre>
db=postgres
warehouses=10
terminals=20
</pre><table><tr><td align="left"><big><b>Overall tpmC:</b></big></td>
<td align="right"><big><b>4321.50</b></big></td></tr>
<tr><td><big><b>Overall tpmTotal:</b></big></td><td><big><b>9876.00</b></big></td></tr></table></html>
"""
TPCC_MYSQL = """***************************************
*** ###easy### TPC-C Load Generator ***
***************************************
option w with value '100'
<Parameters>
     [server]: localhost
  [warehouse]: 100
 [connection]: 32
     [rampup]: 60 (sec.)
    [measure]: 20 (sec.)

RAMP-UP TIME.(60 sec.)

MEASURING START.

  10, trx: 3000, 95%: 20.5, 99%: 30.5, max_rt: 80.5, 3000|60.1, 300|10.1, 300|90.1, 300|95.1
  20, trx: 3100, 95%: 21.5, 99%: 31.5, max_rt: 81.5, 3100|60.1, 310|10.1, 310|90.1, 310|95.1

<Raw Results>
  [0] sc:6000  lt:100  rt:0  fl:5
  [1] sc:6100  lt:0  rt:0  fl:0
  [2] sc:610  lt:0  rt:0  fl:0
  [3] sc:610  lt:0  rt:0  fl:0
  [4] sc:610  lt:0  rt:0  fl:0
 in 20 sec.

<TpmC>
                 18300.000 TpmC
"""
TPCC_MYSQL_OLD = """*** ###easy### TPC-C Load Generator ***
<Parameters>
  [warehouse]: 1
 [connection]: 10
     [rampup]: 10 (sec.)
    [measure]: 20 (sec.)
  10, 686(0):2.044|3.593, 684(0):0.487|1.325, 68(0):0.136|0.212, 68(0):2.060|2.095, 69(0):5.817|6.441
  20, 676(0):1.508|2.585, 679(0):0.352|1.618, 67(0):0.140|0.294, 68(0):1.585|1.762, 67(0):4.154|5.968
<TpmC>
                 4086.000 TpmC
"""
SLAP = """Benchmark
\tRunning for engine innodb
\tAverage number of seconds to run all queries: 2.500 seconds
\tMinimum number of seconds to run all queries: 2.100 seconds
\tMaximum number of seconds to run all queries: 3.000 seconds
\tNumber of clients running queries: 50
\tAverage number of queries per client: 100

"""
FIO = """w: (g=0): rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=32
fio-3.33
Starting 4 processes

w: (groupid=0, jobs=4): err= 0: pid=77: Thu Jan  1 00:00:00 2026
  write: IOPS=12.5k, BW=48.8MiB/s (51.2MB/s)(2930MiB/60001msec); 0 zone resets
    slat (nsec): min=1000, max=90000, avg=2000.50, stdev=100.00
    clat (usec): min=50, max=90000, avg=2500.50, stdev=100.00
     lat (usec): min=52, max=90010, avg=2502.50, stdev=100.00
    clat percentiles (usec):
     |  1.00th=[  100],  5.00th=[  200], 50.00th=[ 2000], 90.00th=[ 4000],
     | 95.00th=[ 5000], 99.00th=[ 9000], 99.90th=[20000], 99.99th=[40000]
  cpu          : usr=1.00%, sys=2.00%
"""
FIO_OLD = """r: (g=0): rw=randread, bs=4K-4K/4K-4K/4K-4K, ioengine=psync, iodepth=1
fio-2.2.10
r: (groupid=0, jobs=1): err= 0: pid=77: Thu Jan  1 00:00:00 2026
  read : io=2880.0MB, bw=49152KB/s, iops=12288, runt= 60000msec
    clat (usec): min=50, max=900, avg=80.50, stdev=10.00
"""
CDM = """------------------------------------------------------------------------------
CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo
------------------------------------------------------------------------------
* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]

[Read]
  SEQ    1MiB (Q=  8, T= 1):  3500.125 MB/s [   3338.0 IOPS] <  2390.50 us>
  RND    4KiB (Q=  1, T= 1):    50.500 MB/s [  12329.1 IOPS] <    80.90 us>

[Write]
  RND    4KiB (Q= 32, T=16):   800.250 MB/s [ 195373.5 IOPS] <  2600.10 us>

Profile: Default
   Test: 1 GiB (x5) [C: 50% (100/200GiB)]
"""
CDM_OLD = """CrystalDiskMark 3.0.3 x64 (C) 2007-2013 hiyohiyo
           Sequential Read :   510.500 MB/s
  Random Write 4KB (QD=32) :   250.250 MB/s [ 61096.2 IOPS]

  Test : 1000 MB [C: 50.0% (100.0/200.0 GB)] (x5)
"""
IOPING = """--- . (ext4 /dev/sda1 100 GiB) ioping statistics ---
9 requests completed in 2.50 ms, 36 KiB written, 3.6 k iops, 14.1 MiB/s
generated 10 requests in 9.00 s, 40 KiB, 1 iops, 4.44 KiB/s
min/avg/max/mdev = 244.1 us / 277.7 us / 1.20 ms / 48.6 us
"""
K6 = """  execution: local
     script: tests/load.js
     output: -

  scenarios: (100.00%) 1 scenario, 50 max VUs, 1m30s max duration (incl. graceful stop):
           * default: 50 looping VUs for 1m0s (gracefulStop: 30s)

running (1m00.5s), 00/50 VUs, 60500 complete and 0 interrupted iterations

     checks.........................: 100.00% ✓ 60500 ✗ 0
   ✓ http_req_duration..............: avg=1.17ms   min=264.58µs med=798.87µs max=1m2.5s p(90)=2.08ms   p(95)=3.06ms
       { expected_response:true }...: avg=9.17ms   min=264.58µs med=798.87µs max=48.17ms p(90)=2.08ms   p(95)=3.06ms
     http_req_failed................: 1.00%   ✓ 605         ✗ 59895
     http_reqs......................: 60500   1000.5/s
     iterations.....................: 60500   1000.5/s
     vus_max........................: 50      min=50     max=50
"""
K6_NEW = """  █ TOTAL RESULTS

    HTTP
    http_req_duration..............: avg=4.05ms   min=349.31µs med=3.55ms   max=35.13ms p(90)=7.02ms  p(95)=8.88ms
    http_req_failed................: 0.50%  5 out of 1000
    http_reqs......................: 1000 100.25/s
"""
K6_EXPORT = '{"metrics": {"http_reqs": {"count": 1000, "rate": 99.5}, "http_req_failed": {"passes": 3, "fails": 997, "value": 0.003}, "http_req_duration": {"avg": 5.5, "med": 5, "max": 50, "p(90)": 7, "p(95)": 8}, "vus_max": {"value": 20, "min": 20, "max": 20}}}'
K6_HANDLED = '{"state": {"testRunDurationMs": 10500}, "metrics": {"http_reqs": {"type": "counter", "values": {"count": 1000, "rate": 95.5}}, "http_req_duration": {"type": "trend", "values": {"avg": 5.5, "p(99)": 9}}}}'
K6_POINTS = "".join(
    f'{{"type":"Point","data":{{"time":"2026-01-01T10:00:0{n}.5Z","value":{v},"tags":{{}}}},"metric":"{m}"}}\n'
    for n in range(5)
    for m, v in (("http_req_duration", 4.5), ("http_req_failed", int(n == 3)), ("vus", 7))
)
JTL = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect\n"
    + "".join(
        f"{1_700_000_000_000 + n * 100},50,select,200,OK,g 1-1,text,{'false' if n == 5 else 'true'},,1,1,4,4,null,49,0,0\n"
        for n in range(100)
    )
)
JTL_XML = '<?xml version="1.0"?>\n<testResults version="1.2">\n' + "".join(
    f'<sample t="50" lt="49" ts="{1_700_000_000_000 + n * 100}" s="{"false" if n == 5 else "true"}" lb="a" na="4"/>\n'
    for n in range(100)
)
JMETER_STATISTICS = '{"Total": {"transaction": "Total", "sampleCount": 1000, "errorCount": 100, "errorPct": 10.0, "meanResTime": 12.5, "medianResTime": 10.0, "maxResTime": 90.0, "pct1ResTime": 20.0, "pct2ResTime": 30.0, "pct3ResTime": 40.0, "throughput": 50.0}}'
EMUL = """
Performance in TOTAL
=====================
Get overall performance report for last test_time=180 minutes of activity.
Value in column "avg_times_per_minute" in 1st row is OVERALL PERFORMANCE INDEX.

ACTION                               AVG_TIMES_PER_MINUTE AVG_ELAPSED_MS SUCCESSFUL_TIMES_DONE
=================================== ===================== ============== =====================
*** OVERALL *** for 180 minutes:                  8248.50             45               1484730
CLIENT ORDER                                      1000.10             40                180018
"""
EMUL_HTML = """<h3>Performance in TOTAL</h3><table><tr><th>ACTION</th><th>AVG_TIMES_PER_MINUTE</th><th>AVG_ELAPSED_MS</th><th>SUCCESSFUL_TIMES_DONE</th></tr>
<tr><td>*** OVERALL *** for 60 minutes:</td><td>600.00</td><td>45</td><td>36000</td></tr></table>
"""

RESULTS: list[tuple[str, str, str, int, dict[str, Any]]] = [
    ("YCSB", "run.txt", YCSB, 4, {"tool": "ycsb", "rate": 4050.5, "unit": "operations", "measured_s": 25.0, "terminals": 16, "asked_rate": 5000.0, "scale": 1e6, "script": "workloada", "errors": 10, "series": (4000.0, 4100.0), "interval_s": 10.0, "latency_ms": {"mean": 1.5005, "max": 90.0, "p95": 3.0, "p99": 6.0}}),
    ("YCSB that only read", "run.txt", YCSB_JSON, 1, {"rate": 123.5, "unit": "reads", "latency_ms": {"p99": 1.5}}),
    ("go-ycsb", "run.txt", GO_YCSB, 6, {"rate": 500.0, "terminals": 8, "scale": 1000.0, "unit": "operations", "latency_ms": {"mean": 0.4, "p50": 0.3, "p90": 0.7, "p95": 0.9, "p99": 2.0, "p99.9": 5.0, "max": 8.0}}),
    ("BenchmarkSQL", "x.log", BENCHMARKSQL, 7, {"tool": "benchmarksql", "nopm": 4500.25, "tpm": 10020.5, "terminals": 50, "warehouses": 20, "scale": 20.0, "measured_s": 300.0, "errors": 3, "engine": "postgresql"}),
    ("BenchmarkSQL's result", "result.csv", BENCHMARKSQL_RESULT, 1, {"errors": 1, "measured_s": 11.0, "rate": 100 / 11, "nopm": 50 * 60 / 11}),
    ("BenchmarkSQL's report", "report.html", BENCHMARKSQL_REPORT, 5, {"nopm": 4321.5, "tpm": 9876.0, "terminals": 20, "scale": 10.0, "engine": "postgresql"}),
    ("tpcc-mysql", "x.out", TPCC_MYSQL, 28, {"tool": "tpcc-mysql", "nopm": 18300.0, "tpm": 42090.0, "terminals": 32, "warmup_s": 60.0, "measured_s": 20.0, "errors": 5, "scale": 100.0, "series": (300.0, 310.0), "interval_s": 10.0, "latency_ms": {"max": 81.5}}),
    ("tpcc-mysql before 2016", "x.out", TPCC_MYSQL_OLD, 10, {"nopm": 4086.0, "series": (68.6, 67.6), "errors": None}),
    ("mysqlslap", "x.txt", SLAP * 2, 3, {"tool": "mysqlslap", "rate": 2000.0, "unit": "queries", "terminals": 50, "took_s": 2.5, "parameters": {"engine": "innodb", "min": "2.100", "max": "3.000"}}),
    ("mysqlslap --csv", "slap.csv", "innodb,mixed,2.500,2.100,3.000,50,100\ninnodb,mixed,5.000,2.100,3.000,100,100\n", 1, {"rate": 2000.0, "script": "mixed"}),
    ("fio", "x.txt", FIO, 6, {"tool": "fio", "rate": 12_500.0, "unit": "writes", "terminals": 128, "measured_s": 60.001, "script": "randwrite", "bytes_per_s": 48.8 * 1024**2, "latency_ms": {"max": 90.0, "mean": 2.5005, "p50": 2.0, "p90": 4.0, "p95": 5.0, "p99": 9.0, "p99.9": 20.0}}),
    ("fio 2", "x.txt", FIO_OLD, 4, {"rate": 12_288.0, "unit": "reads", "measured_s": 60.0, "latency_ms": {"max": 0.9, "mean": 0.0805}, "bytes_per_s": 49152 * 1024.0}),
    ("hdparm", "x.txt", "\n/dev/sda:\n Timing cached reads:   18000 MB in  2.00 seconds = 9000.00 MB/sec\n Timing buffered disk reads: 600 MB in  3.00 seconds = 200.00 MB/sec\n", 3, {"tool": "hdparm", "name": "cached reads", "bytes_per_s": 9000.0 * 2**20, "unit": "reads"}),
    ("dd", "x.txt", "$ dd if=/dev/zero of=/data/t bs=1M count=1024 oflag=dsync\n1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, 4 s, 268 MB/s\n", 4, {"tool": "dd", "bytes_per_s": 1073741824 / 4, "unit": "writes", "flushed": True}),
    ("dd of BSD", "x.txt", "1000000 bytes transferred in 0.500000 secs (2000000 bytes/sec)\n", 1, {"bytes_per_s": 2e6, "flushed": False}),
    ("CrystalDiskMark", "x.txt", CDM, 7, {"tool": "crystaldiskmark", "rate": 3338.0, "unit": "reads", "bytes_per_s": 3500.125e6, "terminals": 8}),
    ("CrystalDiskMark 3", "x.txt", CDM_OLD, 2, {"rate": None, "bytes_per_s": 510.5e6, "unit": "reads"}),
    ("CrystalDiskMark in UTF-16", "x.txt", CDM, 7, {"rate": 3338.0}),
    ("ioping", "x.txt", IOPING, 2, {"tool": "ioping", "rate": 3600.0, "unit": "writes", "latency_ms": {"mean": 0.2777, "max": 1.2}}),
    ("k6", "x.txt", K6, 14, {"tool": "k6", "rate": 1000.5, "unit": "requests", "terminals": 50, "measured_s": 60.5, "errors": 605, "script": "load.js", "latency_ms": {"mean": 1.17, "p50": 0.79887, "max": 62_500.0, "p90": 2.08, "p95": 3.06}}),
    ("k6 1", "x.txt", K6_NEW, 6, {"rate": 100.25, "errors": 5, "latency_ms": {"mean": 4.05, "p50": 3.55, "max": 35.13, "p90": 7.02, "p95": 8.88}}),
    ("k6's export", "s.json", K6_EXPORT, 1, {"rate": 99.5, "errors": 3, "terminals": 20, "latency_ms": {"mean": 5.5, "p50": 5.0, "max": 50.0, "p90": 7.0, "p95": 8.0}}),
    ("k6's handleSummary", "s.json", K6_HANDLED, 1, {"rate": 95.5, "measured_s": 10.5, "latency_ms": {"mean": 5.5, "p99": 9.0}}),
    ("k6's points", "s.json", K6_POINTS, 1, {"rate": 1.0, "errors": 1, "terminals": 7, "latency_ms": pytest.approx({"mean": 4.5, "max": 4.5, "p50": 4.5, "p95": 4.5, "p99": 4.5})}),
    ("JMeter", "x.jtl", JTL, 1, {"tool": "jmeter", "rate": 99 / 9.95, "attempts": 100 / 9.95, "errors": 1, "terminals": 4, "measured_s": 9.95}),
    ("JMeter's XML", "x.jtl", JTL_XML, 1, {"rate": 99 / 9.95, "errors": 1, "terminals": 4}),
    ("JMeter's statistics", "statistics.json", JMETER_STATISTICS, 1, {"rate": 50.0, "attempts": None, "errors": 100, "measured_s": 20.0, "latency_ms": {"mean": 12.5, "p50": 10.0, "p90": 20.0, "p95": 30.0, "p99": 40.0, "max": 90.0}}),
    ("JMeter's summariser", "jmeter.log", "summary +  500 in 00:00:05 =  100.0/s Avg:    10 Min:     1 Max:   100 Err:     0 (0.00%)\nsummary =  1000 in 00:00:10 =  100.5/s Avg:    11 Min:     1 Max:   120 Err:     2 (0.20%)\n", 2, {"rate": 100.5, "errors": 2, "measured_s": 10.0}),
    ("OLTP-EMUL", "oltp30.report.txt", EMUL, 9, {"tool": "oltp-emul", "tpm": 8248.5, "measured_s": 10_800.0, "engine": "firebird", "latency_ms": {"mean": 45.0}}),
    ("OLTP-EMUL's page", "report.html", EMUL_HTML, 2, {"tpm": 600.0, "rate": 10.0, "measured_s": 3600.0}),
]  # fmt: skip


def read(directory: Path, name: str, text: str | bytes) -> Sequence[Part]:
    path = directory / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return importers._import(File(path, name))[1]


@pytest.mark.parametrize(("title", "name", "text", "line", "expected"), RESULTS, ids=[row[0] for row in RESULTS])
def test_a_result(title: str, name: str, text: str, line: int, expected: dict[str, Any], tmp_path: Path) -> None:
    parts = read(tmp_path, name, text.encode("utf-16") if "UTF-16" in title else text)
    first = next(part for part in parts if isinstance(part, Published) and not part.planned)
    wanted = {
        key: pytest.approx(value) if isinstance(value, float | dict) else value for key, value in expected.items()
    }
    assert {key: getattr(first, key) for key in expected} == wanted
    assert (first.where.line, first.planned) == (line, False)


def test_every_run_of_a_file_counts(tmp_path: Path) -> None:
    for title, name, text, *_ in RESULTS:
        if title in ("YCSB", "BenchmarkSQL", "tpcc-mysql", "mysqlslap", "fio", "k6", "ioping"):
            once, twice = (
                sum(isinstance(part, Published) for part in read(tmp_path, name, of)) for of in (text, text * 2)
            )
            assert twice == 2 * once, title


def test_the_best_of_five_is_said_by_the_tool(tmp_path: Path) -> None:
    assert [
        one.kind for one in read(tmp_path, "x.txt", CDM) if isinstance(one, Statement) and one.kind != "figure"
    ] == ["best-of"]


BROKEN = [
    ("YCSB", "2026-01-01 10:00:10:000 10 sec: 40000 operations; 4000 current ops/sec; est completion in 1 minute\n"),
    ("BenchmarkSQL", "10:00:00,001 [main] INFO   jTPCC : Term-00, warehouses=20\nTerm-00, Running Average tpmTOTAL: 10.00    Current tpmTOTAL: 120\n"),
    ("BenchmarkSQL's result", "run,elapsed,latency,dblatency,ttype,rbk,dskipped,error\n1,x,10,9,PAYMENT,0,0,0\n"),
    ("tpcc-mysql", "*** ###easy### TPC-C Load Generator ***\n<Parameters>\n  [warehouse]: 1\n"),
    ("mysqlslap", "Benchmark\n\tAverage number of seconds to run all queries: 2.500 seconds\n"),
    ("CrystalDiskMark", "CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\n"),
    ("k6", '{"metrics": {"http_reqs": {}, "http_req_duration": {}}}'),
    ("JMeter", "timeStamp,elapsed,label\nx,y,z\n"),
    ("JMeter's statistics", '{"a": {"sampleCount": 1, "meanResTime": 1}}'),
    ("OLTP-EMUL", "Performance in TOTAL\n====\n"),
]  # fmt: skip


@pytest.mark.parametrize("text", [text for _, text in BROKEN], ids=[name for name, _ in BROKEN])
def test_what_ends_before_its_result_is_broken(text: str, tmp_path: Path) -> None:
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
    ("YCSB's properties", "workloads/workloadx", "recordcount=1000\noperationcount=5000\nworkload=site.ycsb.workloads.CoreWorkload\nreadproportion=0.5\nupdateproportion=0.5\n", {"tool": "ycsb", "script": "workloadx", "scale": 1000.0}),
    ("mysqlslap", "run.sh", "mysqlslap --concurrency=50 --iterations=10 --auto-generate-sql -u root -psecret\n", {"tool": "mysqlslap", "terminals": 50, "script": "auto-generate-sql"}),
    ("go-tpc", "run.sh", "go-tpc tpcc --warehouses 100 run -T 64 --time 30m --isolation 4\n", {"tool": "go-tpc", "warehouses": 100, "terminals": 64, "measured_s": 1800.0, "isolation": "4"}),
    ("tpcc-mysql", "run.sh", "./tpcc_start -h127.0.0.1 -P3306 -dtpcc -uroot -w100 -c32 -r60 -l600\n", {"tool": "tpcc-mysql", "warehouses": 100, "terminals": 32, "warmup_s": 60.0, "measured_s": 600.0}),
    ("fio", "run.sh", "fio --name=x --rw=randwrite --bs=4k --direct=0 --size=1G --runtime=60 --ioengine=libaio --iodepth=16\n", {"tool": "fio", "measured_s": 60.0, "parameters": {"rw": "randwrite", "bs": "4k", "direct": "0", "size": "1G", "ioengine": "libaio", "iodepth": "16"}}),
    ("fio's jobs", "job.fio", "[global]\nioengine=libaio\ndirect=1\nruntime=60\n\n[w]\nrw=randwrite\nbs=4k\nfsync=1\n", {"tool": "fio", "name": "w", "flushed": True, "measured_s": 60.0}),
    ("k6", "run.sh", "k6 run --vus 30 --duration 2m tests/load.js\n", {"tool": "k6", "terminals": 30, "measured_s": 120.0, "script": "load.js"}),
    ("HammerDB", "run.tcl", "dbset db pg\ndbset bm TPROC-C\ndiset tpcc pg_count_ware 100\ndiset tpcc pg_rampup 2\ndiset tpcc pg_duration 5\ndiset tpcc pg_superuserpass x\nvuset vu 16\nvucreate\n", {"tool": "hammerdb", "script": "TPROC-C", "warehouses": 100, "scale": 100.0, "warmup_s": 120.0, "measured_s": 300.0, "terminals": 16, "engine": "postgresql"}),
    ("HammerDB in Python", "run.py", "dbset('db','maria')\ndbset('bm','TPC-C')\ndiset('tpcc','maria_count_ware','100')\nvuset('vu','16')\n", {"warehouses": 100, "terminals": 16, "engine": "mariadb"}),
    ("BenchmarkSQL", "props.pg", BENCHMARKSQL_PROPERTIES, {"tool": "benchmarksql", "warehouses": 100, "terminals": 64, "measured_s": 1800.0, "engine": "postgresql", "asked_rate": None}),
    ("OLTP-EMUL", "oltp30_config.nix", "working_mode = small_03\nwarm_time = 30\ntest_time = 180\ninit_docs = 100000\n", {"tool": "oltp-emul", "script": "small_03", "scale": 100_000.0, "warmup_s": 1800.0, "measured_s": 10_800.0}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "expected"), [row[1:] for row in PLANNED], ids=[row[0] for row in PLANNED])
def test_what_a_script_asks_for(name: str, text: str, expected: dict[str, Any], tmp_path: Path) -> None:
    found = [part for part in read(tmp_path, name.rpartition("/")[2], text) if isinstance(part, Published)]
    assert len(found) == 1
    assert {key: getattr(found[0], key) for key in expected} == expected
    assert (found[0].planned, found[0].rate) == (True, None)
    assert "secret" not in str(found[0].parameters)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", "We ran pgbench -i and it took long.\n"),
        ("run.sh", "echo 'now pgbench -c 10 runs'\n"),
        ("run.sh", "# pgbench -c 10 bench\n"),
        ("run.py", '"""Reads what pgbench -i leaves behind in its tables."""\n'),
        ("a.txt", "add if=1 of=2 bs=3\n"),
        ("run.sh", "sysbench --version\n"),
        ("run.sh", "sysbench oltp_read_only cleanup\n"),
    ],
)
def test_what_only_speaks_of_a_command_starts_none(name: str, text: str, tmp_path: Path) -> None:
    assert [part for part in read(tmp_path, name, text) if isinstance(part, Published)] == []


PGBENCH = """pgbench (17.2)
starting vacuum...end.
progress: 1.0 s, 100.0 tps, lat 9.9 ms stddev 1.0, 0 failed
progress: 2.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed
progress: 3.0 s, 0.0 tps, lat -nan ms stddev -nan, 0 failed
transaction type: multiple scripts
scaling factor: 50
query mode: prepared
number of clients: 8
number of threads: 2
maximum number of tries: 3
duration: 60 s
number of transactions actually processed: 6000
number of failed transactions: 12 (0.200%)
number of serialization failures: 10 (0.167%)
number of deadlock failures: 2 (0.033%)
number of transactions retried: 5 (0.083%)
total number of retries: 7
latency average = 80.000 ms
latency stddev = 5.000 ms
average connection time = 2.500 ms
tps = 99.500000 (including reconnection times)
SQL script 1: <builtin: TPC-B (sort of)>
 - weight: 9 (targets 90.0% of total)
 - 5400 transactions (90.0% of total, tps = 89.550000)
 - number of failed transactions: 12 (0.200%)
 - latency average = 81.000 ms
SQL script 2: own.sql
 - weight: 1 (targets 10.0% of total)
 - 600 transactions (10.0% of total, tps = 9.950000)
statement latencies in milliseconds and failures:
         0.001           0  \\set aid random(1, 100000)
"""
SYSBENCH = """$ sysbench oltp_read_write --threads=4 --time=60 --tables=8 --table-size=100000 --mysql-password=x run
sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)

Number of threads: 4
SQL statistics:
    transactions:                        6000   (100.00 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          2      (0.03 per sec.)
General statistics:
    total time:                          60.0000s
    total number of events:              6000
Threads fairness:
"""
FILEIO_OLD = """sysbench 0.4.12:  multi-threaded system evaluation benchmark

Number of threads: 1
Extra file open flags: 16384
128 files, 16Mb each
2Gb total file size
Block size 16Kb
Using synchronous I/O mode
Doing random write test
Operations performed:  0 Read, 10000 Write, 12800 Other = 22800 Total
 2000.25 Requests/sec executed
    total time:                          5.0000s
    total number of events:              10000
Threads fairness:
"""
HAMMERDB_JOB = """[
  "6478A1B2C3D4E5",
  "2026-01-01 10:00:00",
  "4 Active Virtual Users configured",
  "TEST RESULT : System achieved 43000 NOPM from 100000 PostgreSQL TPM"
]
"""
BENCHBASE = """<?xml version="1.0"?>
<parameters>
    <type>POSTGRES</type>
    <isolation>TRANSACTION_SERIALIZABLE</isolation>
    <newConnectionPerTxn>true</newConnectionPerTxn>
    <scalefactor>10</scalefactor>
    <terminals>16</terminals>
    <works><work><warmup>60</warmup><time>300</time><rate>unlimited</rate><weights>45,43,4,4,4</weights></work></works>
</parameters>
"""
WHAT_RAN: list[tuple[str, str, str, dict[str, Any]]] = [
    ("pgbench", "x.out", PGBENCH, {"script": "multiple scripts", "scale": 50.0, "query_mode": "prepared", "reconnects": True, "errors": 12, "retries": 7, "rate": 99.5, "series": (100.0, 0.0, 0.0), "parameters": {"maximum number of tries": "3", "number of serialization failures": "10 (0.167%)", "number of deadlock failures": "2 (0.033%)", "number of transactions retried": "5 (0.083%)", "latency stddev": "5.000 ms", "average connection time": "2.500 ms", "scripts": "<builtin: TPC-B (sort of)>@9, own.sql@1"}}),
    ("pgbench that stays connected", "x.out", PGBENCH.replace("average connection", "initial connection").replace("including reconnection times", "without initial connection time"), {"reconnects": False}),
    ("sysbench", "x.out", SYSBENCH, {"script": "oltp_read_write", "terminals": 4, "rate": 100.0, "parameters": {"tables": "8", "table-size": "100000", "rows a table": "100000", "reconnects": "2"}}),
    ("sysbench's files before 1.0", "x.out", FILEIO_OLD, {"script": "random write", "unit": "writes", "rate": 2000.25, "parameters": {"open flags": "16384", "files": "128 files, 16Mb", "total file size": "2Gb", "block size": "16Kb", "I/O mode": "synchronous"}}),
    ("sysbench with a script that counts no transactions", "x.out", SYSBENCH.replace("6000   (100.00", "0      (0.00"), {"rate": 100.0}),
    ("HammerDB's job", "job.json", HAMMERDB_JOB, {"nopm": 43_000.0, "tpm": 100_000.0, "terminals": 4, "written": "43000 NOPM from 100000 PostgreSQL TPM"}),
    ("BenchBase", "tpcc_config.xml", BENCHBASE, {"planned": True, "isolation": "TRANSACTION_SERIALIZABLE", "reconnects": True, "scale": 10.0, "terminals": 16, "warmup_s": 60.0, "measured_s": 300.0, "asked_rate": None, "engine": "postgresql", "parameters": {"weights": "45,43,4,4,4"}}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "expected"), [row[1:] for row in WHAT_RAN], ids=[row[0] for row in WHAT_RAN])
def test_what_was_run(name: str, text: str, expected: dict[str, Any], tmp_path: Path) -> None:
    found = [part for part in read(tmp_path, name, text) if isinstance(part, Published)]
    first = next((one for one in found if not one.planned), found[0])
    assert {key: getattr(first, key) for key in expected} == expected


def test_a_load_is_understood_and_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "load.log").write_text(
        "dropping old tables...\ngenerating data (client-side)...\n100000 of 100000 tuples (100%) done (elapsed 0.10 s, remaining 0.00 s)\ndone in 0.50 s (drop tables 0.01 s).\n"
    )
    bench = importers.read(tmp_path)
    assert (bench.read, bench.published, bench.not_understood) == ([("load.log", "pgbench load")], [], [])


@pytest.mark.parametrize(
    ("text", "found"),
    [(JTL.replace(",true,", ",false,", 30), 0), (JMETER_STATISTICS, 1)],
    ids=["samples", "statistics"],
)
def test_failures_are_held_against_a_rate_that_counts_them_alone(text: str, found: int, tmp_path: Path) -> None:
    bench = Bench([], published=[part for part in read(tmp_path, "x.jtl", text) if isinstance(part, Published)])
    assert len(list(throughput_is_not_goodput(bench))) == found
