"""What sysbench prints: 0.5, 1.0 and 1.1; its OLTP scripts and ``fileio``. See ``sb_report_cumulative``
(src/sysbench.c), ``db_report_cumulative`` (src/db_driver.c) and src/tests/fileio/sb_fileio.c."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

from acidtest.audit.importers import commands
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.importers.outputs import N, Output, Row, Run
from acidtest.audit.importers.tables import PROSE

# "[ 1s ] thds: 2 tps: 129.86 …", and of 0.5 "[   1s] threads: 2, tps: 129.86, …"
INTERVAL = rf"\[\s*{N}s ?\] (?:thds|(threads)): \d{{1,9}},? (?:tps|eps): {N}"
CSV = rf"{N},\d{{1,6}},{N}(?:,\d{{1,9}}\.\d\d){{5}},{N},"  # of sysbench.report_csv
BEGIN = r"sysbench (\d+\.\d+\S*?):?(?:\s|$)"
TRANSACTIONS = rf"transactions: +\d{{1,15}} +\({N} per sec\.\)"
QUOTED = "SQL statistics:|OLTP test statistics:|Running the test with following options:"
ROWS = (
    Row("ahead", r"(?:.*[\s/$])?sysbench (.* run\b.*)", ("_command",)),
    Row("title", BEGIN, ("_version",)),
    Row("title", QUOTED),
    Row("title", TRANSACTIONS, ("rate",)),
    Row("title", rf"(?:reads/s: +|read: +IOPS=){N}", ("_reads",)),
    Row("interval", rf"{INTERVAL}(?:.* err/s:? {N})?", ("at", "_old", "rate", "failed/s")),
    Row("interval", CSV, ("at", "rate", "failed/s")),
    Row("value", rf"(?:writes/s: +|write: +IOPS=){N}", ("_writes",)),
    Row("value", rf"{N} Requests/sec executed", ("_requests",)),  # of fileio before 1.0
    Row("value", rf"Number of threads: {N}", ("terminals",)),
    Row("value", rf"Target transaction rate: {N}/sec", ("asked_rate",)),
    Row("value", rf"Warming up for {N} seconds", ("warmup_s",)),
    Row("value", rf"total number of events: +{N}", ("_events",)),
    Row("value", rf"write: +{N}$", ("_written",)),
    Row("value", rf"ignored errors: +{N} ", ("errors",)),
    Row("value", rf"(?:total time|time elapsed): +{N}s", ("measured_s",)),
    Row("value", rf"avg: +{N}", ("mean",)),
    Row("value", rf"max: +{N}", ("max",)),
    Row("value", r"(?:approx\. +)?\d{1,2}(?:th)? percentile:", each=rf"(\d{{1,2}})(?:th)? percentile: +{N}"),
    Row("value", r"(Calling fsync\(\) after each write operation)", ("_flushed",)),
    # "Running mixed OLTP test" and "Doing random r/w test" name the workload.
    Row("value", r"(?:Running|Doing) ([^t\s].{0,40}?) test\b", ("script",), first=True),
    Row("value", r"Extra file open flags: (\S.{0,40})", ("open flags",), first=True),
    Row("value", r"(\d{1,9} files, \S{1,20}) each", ("files",), first=True),
    Row("value", r"(\d{1,12}(?:\.\d{1,6})? ?[KMGT]i?[Bb]) total file size", ("total file size",), first=True),
    Row("value", r"Block size (\d{1,12}(?:\.\d{1,6})? ?[KMGT]?i?[Bb])", ("block size",), first=True),
    Row("value", r"Using (\w{1,20}) I/O mode", ("I/O mode",), first=True),
    Row("value", r"Periodic FSYNC enabled, calling fsync\(\) each (\d{1,9} requests)", ("fsync",), first=True),
    Row("value", r"reconnects: +(\d{1,15}) ", (":reconnects",), first=True),
    Row("value", r"deadlocks: +(\d{1,15}) ", ("deadlocks",), first=True),
    Row("value", r"Using (\w{1,20}) distribution", ("distribution",), first=True),
    Row("end", "Threads fairness"),
)
# OPER_LOG_MAX_VALUE of src/sb_logger.c, from 1.0 on; it was 10,000 s before
CEILING_MS = 100_000.0


def _derived(file: File, run: Run) -> Iterator[Mapping[str, Any]]:
    values = run.values
    old = "_old" in values or values.get("_version", "").startswith("0.")
    script = values.get("script", "")
    common = {
        # Under --rate an event's time begins when it is put in the queue (sb_timer_t.queue_time).
        "latency_from": "scheduled start" if values.get("asked_rate") else "actual start",
        "asked_rate": values.get("asked_rate") or None,
        "ceiling_ms": None if old else CEILING_MS,
    }
    if "_command" in values:
        # It knows the workload by the name that others have for it too.
        common |= {"script": "", "asked": commands.sysbench(values["_command"].split())}
    files = {unit: rate for unit in ("reads", "writes") if (rate := run.get(f"_{unit}"))}
    for unit, rate in files.items():
        flushed = "_flushed" in values and unit == "writes"
        yield common | {"rate": rate, "unit": unit, "flushed": flushed, "name": f"fileio {unit}"}
    if files:
        return
    if "_requests" in values:
        unit = next((f"{kind}s" for kind in ("read", "write") if kind in script), "operations")
        yield common | {"rate": run.get("_requests"), "unit": unit, "name": "fileio"}
        return
    rate = values.get("rate")
    if rate is None and len(run.series) > 1 and (run.ended or "measured_s" in values or PROSE.fullmatch(file.base)):
        rate = fmean(of for _, of in run.series)
    if rate is None:
        return  # of the processor, of memory: no concern of a database
    events, took = run.get("_events"), values.get("measured_s")
    if not rate and events and took:
        rate = events / took  # a script of one's own that counts no transactions
    yield common | {"rate": rate, "unit": "reads" if run.get("_written") == 0 else "transactions"}


OUTPUT = Output(
    "sysbench",
    rf"{BEGIN}|{INTERVAL}|{QUOTED}|{TRANSACTIONS}|read: +IOPS={N} {N} [KMGT]?i?B/s",
    ROWS,
    derived=_derived,
    broken="sysbench's output that ends before its summary",
    may_measure_else=True,
)
IMPORTER = Importer("sysbench output", OUTPUT.read, together=True)
