"""What sysbench prints: 0.5, 1.0 and 1.1; its OLTP scripts and ``fileio``. See ``sb_report_cumulative``
(src/sysbench.c), ``db_report_cumulative`` (src/db_driver.c) and src/tests/fileio/sb_fileio.c."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Literal

from acidtest.audit.amounts import NUMBER, figures
from acidtest.audit.bench import Published, Unit
from acidtest.audit.importers import commands
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.tables import PROSE

BEGIN = re.compile(r"\s*sysbench (\d+\.\d+\S*?):?(?:\s|$)")
# "[ 1s ] thds: 2 tps: 129.86 …", and of 0.5 "[   1s] threads: 2, tps: 129.86, …"
INTERVAL = re.compile(rf"\s*\[\s*{NUMBER}s ?\] (?:thds|threads): \d{{1,9}},? (?:tps|eps): {NUMBER}")
# Where somebody quotes it from.
EXCERPT = re.compile(
    r"\s*(?:SQL statistics:|OLTP test statistics:|Running the test with following options:"
    r"|transactions: +\d{1,15} +\(\d[\d.]{0,20} per sec\.\)|read: +IOPS=\d[\d.]{0,20} \d[\d.]{0,20} [KMGT]?i?B/s)"
)
FIGURES = {
    "threads": re.compile(rf"Number of threads: {NUMBER}"),
    "asked": re.compile(rf"Target transaction rate: {NUMBER}/sec"),
    "warmup_s": re.compile(rf"Warming up for {NUMBER} seconds"),
    "rate": re.compile(rf"transactions: +\d{{1,15}} +\({NUMBER} per sec\.\)"),
    "events": re.compile(rf"total number of events: +{NUMBER}"),
    "events_per_s": re.compile(rf"events/s \(eps\): +{NUMBER}"),
    "written": re.compile(rf"write: +{NUMBER}$"),
    "errors": re.compile(rf"ignored errors: +{NUMBER} "),
    "measured_s": re.compile(rf"(?:total time|time elapsed): +{NUMBER}s"),
    "reads_per_s": re.compile(rf"(?:reads/s: +|read: +IOPS=){NUMBER}"),
    "writes_per_s": re.compile(rf"(?:writes/s: +|write: +IOPS=){NUMBER}"),
    "flushes_per_s": re.compile(rf"(?:fsyncs/s: +|fsync: +IOPS=){NUMBER}"),
    "mean": re.compile(rf"avg: +{NUMBER}"),
    "max": re.compile(rf"max: +{NUMBER}"),
}
# What it says of a run, as it is written; "Running mixed OLTP test" and "Doing random r/w test" name the workload.
TOLD = (
    ("script", re.compile(r"(?:Running|Doing) (?!the )(\S.{0,40}) test\.?")),
    ("open flags", re.compile(r"Extra file open flags: (\S.{0,40})")),
    ("files", re.compile(r"(\d{1,9} files, \S{1,20}) each")),
    ("total file size", re.compile(r"(\d{1,12}(?:\.\d{1,6})? ?[KMGT]i?[Bb]) total file size")),
    ("block size", re.compile(r"Block size (\d{1,12}(?:\.\d{1,6})? ?[KMGT]?i?[Bb])")),
    ("I/O mode", re.compile(r"Using (\w{1,20}) I/O mode")),
    ("fsync", re.compile(r"Periodic FSYNC enabled, calling fsync\(\) each (\d{1,9} requests)")),
    ("reconnects", re.compile(r"reconnects: +(\d{1,15}) ")),
    ("deadlocks", re.compile(r"deadlocks: +(\d{1,15}) ")),
    ("distribution", re.compile(r"Using (\w{1,20}) distribution")),
)
WHOLE = frozenset(("rate", "reads_per_s"))  # what a run has one of
REQUESTS = re.compile(rf"{NUMBER} Requests/sec executed")  # of fileio before 1.0
COMMAND = re.compile(r"(?:^|[\s/$])sysbench (?=.{0,2000} run\b)(.{1,4000})")
PERCENTILE = re.compile(rf"(?:approx\. +)?(\d{{1,2}})(?:th)? percentile: +{NUMBER}")
FLUSHED = "Calling fsync() after each write operation"
RUNS_MAX = 10_000
END = "Threads fairness"
# OPER_LOG_MAX_VALUE of src/sb_logger.c, from 1.0 on; it was 10,000 s before
CEILING_MS = 100_000.0
OLD = re.compile(r"\s*sysbench 0\.|\s*\[\s*[\d.]+s ?\] threads:")


@dataclass
class _Run:
    line: int
    old: bool = False  # before 1.0
    values: dict[str, float] = field(default_factory=dict)
    percentiles: dict[str, float] = field(default_factory=dict)
    series: list[tuple[float, float]] = field(default_factory=list)
    flushed: bool = False
    told: dict[str, str] = field(default_factory=dict)
    command: str = ""
    ended: bool = False

    def published(self, file: File) -> list[Published]:
        values = self.values
        common = Published(
            file.at(self.line),
            "sysbench",
            file.base,
            terminals=int(values["threads"]) if "threads" in values else None,
            measured_s=values.get("measured_s"),
            warmup_s=values.get("warmup_s"),
            asked_rate=values.get("asked") or None,
            latency_ms=figures({"mean": values.get("mean"), "max": values.get("max")}) | self.percentiles,
            # Under --rate an event's time begins when it is put in the queue (sb_timer_t.queue_time).
            latency_from="scheduled start" if values.get("asked") else "actual start",
            ceiling_ms=None if self.old else CEILING_MS,
            script=self.told.get("script", ""),
            parameters={name: value for name, value in self.told.items() if name != "script"},
        )
        if self.command:
            # It knows the workload by the name that others have for it too.
            common = commands.filled(replace(common, script=""), commands.sysbench(self.command.split()))
        kinds: list[tuple[str, Literal["reads", "writes"]]] = [("reads_per_s", "reads"), ("writes_per_s", "writes")]
        files = [(values[name], unit) for name, unit in kinds if values.get(name)]
        if files:
            return [
                replace(common, rate=rate, unit=unit, flushed=self.flushed and unit == "writes", name=f"fileio {unit}")
                for rate, unit in files
            ]
        if "requests_per_s" in values:
            kind: Unit = "operations"
            if "read" in common.script or "write" in common.script:
                kind = "reads" if "read" in common.script else "writes"
            return [replace(common, rate=values["requests_per_s"], unit=kind, name="fileio")]
        if "rate" not in values and len(self.series) > 1:
            values["rate"] = fmean(rate for _, rate in self.series)
        if "rate" not in values:
            return []  # of the processor, of memory: no concern of a database
        if not values["rate"] and values.get("events") and values.get("measured_s"):
            # A script of one's own that counts no transactions.
            values["rate"] = values["events"] / values["measured_s"]
        ends = [at for at, _ in self.series]
        even = len(ends) > 1 and ends[-1] > ends[0]
        return [
            replace(
                common,
                rate=values["rate"],
                errors=int(values["errors"]) if "errors" in values else None,
                series=tuple(rate for _, rate in self.series),
                interval_s=(ends[-1] - ends[0]) / (len(ends) - 1) if even else 1.0,
                unit="reads" if values.get("written") == 0 else "transactions",
            )
        ]


def _read(file: File) -> Sequence[Published] | None:
    if not any(BEGIN.match(line) or INTERVAL.match(line) or EXCERPT.match(line) for line in file.first_lines):
        return None
    runs: list[_Run] = []
    command = ""
    for number, line in enumerate(file.stream(), start=1):
        bare = line.strip()
        if "sysbench" in line and (match := COMMAND.search(line[:8_000])):
            command = match[1]
        anew = not runs or runs[-1].ended
        quoted = (anew or runs[-1].values.keys() & WHOLE) and EXCERPT.match(line)
        if BEGIN.match(line) or quoted or (anew and INTERVAL.match(line)):
            runs.append(_Run(number, old=OLD.match(line) is not None, command=command))
        if not runs:
            continue
        if len(runs) > RUNS_MAX:
            del runs[-1]
            file.left_out(f"holds more runs than are read of one file; the first {RUNS_MAX:,} count", number)
            break
        run = runs[-1]
        if match := INTERVAL.match(line):
            run.series.append((float(match[1]), float(match[2])))
        elif match := PERCENTILE.match(bare):
            run.percentiles[f"p{int(match[1])}"] = float(match[2])
        elif bare.startswith(FLUSHED):
            run.flushed = True
        elif bare.startswith(END):
            run.ended = True
        elif bare and not run.ended:
            if match := REQUESTS.match(bare):
                run.values["requests_per_s"] = float(match[1])
            for name, pattern in TOLD:
                if match := pattern.match(bare):
                    run.told.setdefault(name, match[1].strip())
            for name, pattern in FIGURES.items():
                if match := pattern.match(bare):
                    run.values[name] = float(match[1])
    whole = any(run.ended or run.values.get("measured_s") for run in runs)
    if not whole and any(run.series for run in runs) and not PROSE.fullmatch(file.base):  # a text quotes parts of it
        raise Broken("is sysbench's output that ends before its summary", runs[-1].line)
    return [one for run in runs for one in run.published(file)]


IMPORTER = Importer("sysbench output", _read)
