"""What pgbench prints and logs, from PostgreSQL 9.4 on. See its manual, and ``printResults``, ``printProgressReport``
and ``doLog`` in src/bin/pgbench/pgbench.c."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from acidtest.audit.bench import Published
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.outputs import N, Output, Row, Run, Samples

LOADED = re.compile(
    r"(?:\d{1,12} of \d{1,12} tuples \(\d{1,3}%\)(?: of pgbench_\w{1,20})? done|done in \d{1,9}\.\d\d s \()"
)
PROGRESS = rf"progress: {N} s, {N} tps, lat \S{{1,20}} ms stddev [\w.,+-]{{1,20}}?"
ROWS = (
    Row("interval", rf"{PROGRESS}(?:(, lag ).{{0,60}}?)?(?:, {N} failed.*|, .*|$)", ("at", "rate", "_lag", "failed")),
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
    Row("head", rf"number of transactions skipped: {N}", ("skipped",)),
    Row("head", rf"total number of retries: {N}", ("retries",)),
    Row("head", rf"latency average(?: =|:) {N} ms", ("mean",)),
    Row("head", rf"rate limit schedule lag: avg {N} ", ("_lag",)),
    Row("head", r"(scaling factor)(?:: | = )(\S.{0,80})", ("=",)),
    Row(
        "head",
        r"(partition method|partitions|maximum number of tries|number of transactions per client"
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

TIME = r"(\d{1,15}|skipped|failed|serialization|deadlock)"
# client_id transaction_no time script_no time_epoch time_us [ schedule_lag ] [ retries ]
ONE = re.compile(rf"\d{{1,9}} \d{{1,15}} {TIME} \d{{1,9}} (\d{{9,11}}) \d{{1,6}}((?: -?\d{{1,15}}){{0,2}})")
# interval_start num_transactions sum_latency sum_latency_2 min_latency max_latency { sum_lag … }
AGGREGATED = re.compile(r"(\d{9,11}) (\d{1,12}) (\d{1,18}) \d{1,30} \d{1,15} (\d{1,15})((?: \d{1,30}){0,12})")


def _log(file: File) -> Sequence[Published] | None:
    """The log of ``-l``, a transaction or an interval each line."""
    first = file.first_lines[:20]
    if not first:
        return None
    if all(ONE.fullmatch(line) for line in first):
        return _of_transactions(file)
    if all(AGGREGATED.fullmatch(line) for line in first):
        return [_of_intervals(file)]
    if re.fullmatch(r"pgbench_log\.\d{1,9}(?:\.\d{1,9})?", file.base):
        raise Broken("is no log of pgbench that is known here", 1)
    return None


def _of_transactions(file: File) -> list[Published]:
    samples = Samples()
    skipped = bad = 0
    lag = False
    for at, line in enumerate(file.stream(), start=1):
        match = ONE.fullmatch(line)
        if bad:
            raise Broken("holds a line that is none of pgbench's log", bad)
        if match is None:
            bad = at  # the last one may be cut
        elif match[1].isdigit():
            samples.add(int(match[2]), int(match[1]) / 1000)
            lag = lag or len(match[3].split()) == 2
        else:
            skipped += match[1] == "skipped"
            samples.failed += match[1] != "skipped"
    return samples.published(
        file, "pgbench", errors=samples.failed, skipped=skipped or None, engine="postgresql",
        latency_from="scheduled start" if lag or skipped else "",  # one more column is the lag or the retries
    )  # fmt: skip


def _of_intervals(file: File) -> Published:
    lines: list[tuple[int, int, int, int]] = []
    for at, line in enumerate(file.stream(), start=1):
        match = AGGREGATED.fullmatch(line)
        if match is None:
            raise Broken("holds a line that is none of pgbench's log", at)
        lines.append((int(match[1]), int(match[2]), int(match[3]), int(match[4])))
    if not lines:
        raise Broken("holds no line")
    starts, counts, sums, longest = zip(*lines, strict=True)
    interval = float(min((later - one for one, later in pairwise(starts) if later > one), default=1))
    return Published(
        file.at(1), "pgbench", file.base, measured_s=interval * len(counts),
        latency_ms={"mean": sum(sums) / sum(counts) / 1000, "max": max(longest) / 1000} if sum(counts) else {},
        series=tuple(count / interval for count in counts[1:-1]), interval_s=interval, engine="postgresql",
    )  # fmt: skip


def _load(file: File) -> Sequence[Published] | None:
    """What ``pgbench -i`` prints; no result."""
    return [] if any(LOADED.match(line) for line in file.first_lines) else None


SUMMARY = Importer("pgbench output", OUTPUT.read, together=True)
LOG = Importer("pgbench log", _log)
LOAD = Importer("pgbench load", _load)
