"""What pgbench prints, from PostgreSQL 9.4 on. See its manual, and ``printResults`` and ``printProgressReport`` in
src/bin/pgbench/pgbench.c."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from acidtest.audit.importers.file import File, Importer
from acidtest.audit.importers.outputs import N, Output, Row, Run

LOADED = re.compile(
    r"(?:\d{1,12} of \d{1,12} tuples \(\d{1,3}%\)(?: of pgbench_\w{1,20})? done|done in \d{1,9}\.\d\d s \()"
)
PROGRESS = rf"progress: {N} s, {N} tps, lat \S{{1,20}} ms stddev [\w.,+-]{{1,20}}?"
ROWS = (
    Row("interval", rf"{PROGRESS}(?:(, lag ).{{0,60}}?)?(?:, {N} failed.*|, .*|$)", ("at", "rate", "_lag", "failed")),
    # "pgbench (17.2, server 16.4)" where its own version is not the server's.
    Row("once", r"pgbench \((?:.{1,60}, server )?(\d{1,2}(?:\.\d{1,2}){0,2}(?:devel|beta\d|rc\d)?)", ("version",)),
    Row("title", r"transaction type: (.{1,200})", ("script",)),
    # Before 14 there are two rates; where one is quoted without a summary, that is where the run stands.
    Row("result", rf"tps = {N} \(including ", ("_including",)),
    Row("result", rf"tps = {N}(?: \((?:without|with|excluding) |$)", ("rate",)),
    Row("value", r"SQL script \d{1,4}: (.{1,200})", ("scripts+",)),
    Row("value", r"- weight: (\d{1,9})", ("scripts@",)),
    Row("head", r"query mode: (\w{1,20})", ("query_mode",)),
    Row("head", rf"number of clients: {N}", ("terminals",)),
    Row("head", rf"number of threads: {N}", ("threads",)),
    Row("head", rf"duration: {N} s", ("measured_s",)),
    Row("head", rf"number of transactions actually processed: {N}", ("_processed",)),
    Row("head", rf"number of failed transactions: {N}", ("errors",)),
    Row("head", rf"latency average(?: =|:) {N} ms", ("mean",)),
    Row("head", rf"rate limit schedule lag: avg {N} ", ("_lag",)),
    Row("head", r"(scaling factor)(?:: | = )(\S.{0,80})", ("=",)),
    Row(
        "head",
        r"(number of transactions skipped|total number of retries|"
        r"partition method|partitions|maximum number of tries|number of transactions per client"
        r"|number of transactions above the \S{1,12} ms latency limit|latency stddev|average connection time"
        r"|initial connection time|number of serialization failures|number of deadlock failures"
        r"|number of transactions retried)(?:: | = )(\S.{0,80})",
        ("=",),
        first=True,
    ),
)


def _derived(file: File, run: Run) -> Iterator[Mapping[str, Any]]:
    values = run.values
    rate = values.get("rate", run.get("_including"))
    processed, failed = run.get("_processed"), values.get("errors", 0.0)
    scale = values.pop("scaling factor", "").split(" ")[0]
    script = values.get("script", "")
    yield {
        "name": script,
        "rate": rate,
        # From 15 on the rate is without those that failed.
        "attempts": rate * (processed + failed) / processed if rate is not None and processed else None,
        "measured_s": values.get("measured_s") or (processed / rate if rate and processed else None),
        # Under --rate the time that a transaction is late counts as its own.
        "latency_from": "scheduled start" if "_lag" in values else "actual start",
        "unit": "reads" if "select only" in script.lower() else "transactions",
        "scale": float(scale) if scale.isdigit() else None,
        # From 14 on only -C has an average of many; before, both ways print the same.
        "reconnects": "average connection time" in values
        if values.keys() & {"average connection time", "initial connection time"}
        else None,
        "written": f"tps = {rate}" if rate is not None else "",
    }


OUTPUT = Output(
    "pgbench",
    # Somebody quotes "tps = 612.3 (without initial connection time)" alone.
    rf"transaction type: |{PROGRESS}(?:$|,)|tps = {N} \((?:without|with|including|excluding) \w",
    ROWS,
    {"engine": "postgresql"},
    _derived,
    "a summary of pgbench that ends before its rate",
)


SUMMARY = Importer("pgbench output", OUTPUT.read, together=True)
# What "pgbench -i" prints is no result.
LOAD = Importer("pgbench load", lambda file: [] if any(map(LOADED.match, file.first_lines)) else None)
