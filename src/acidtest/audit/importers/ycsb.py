"""YCSB and go-ycsb: what they print (summary and status lines), the JSON of YCSB's exporters, and files of a workload's
properties. See Client.java, StatusThread.java, JSONMeasurementsExporter.java, and go-ycsb's pkg/measurement.

One result for a run; its latencies are those of the operation that was done most often.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from acidtest.audit.amounts import NUMBER, figures, number
from acidtest.audit.bench import Published
from acidtest.audit.importers import commands
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.numbers import SERIES_MAX
from acidtest.formats import linear

FLOAT = r"(\d{1,18}(?:\.\d{1,20})?(?:E-?\d{1,3})?)"
SUMMARY = re.compile(rf"\s*\[([A-Z][A-Z_-]{{1,40}})\], ([^,]{{1,60}}), {FLOAT}\s*")
STATUS = re.compile(rf"(?:\S+ \S+ )?(\d{{1,9}}) sec: (\d{{1,15}}) operations; (?:{NUMBER} current ops/sec;)?")
EXPORTED = re.compile(
    rf'"metric"\s{{0,9}}:\s{{0,9}}"([^"]{{1,60}})"\s{{0,9}},\s{{0,9}}"measurement"\s{{0,9}}:\s{{0,9}}"([^"]{{1,80}})"'
    rf'\s{{0,9}},\s{{0,9}}"value"\s{{0,9}}:\s{{0,9}}{FLOAT}'
)
GO = re.compile(r"\s*([A-Z_]{2,40}) +- (Takes\(s\): .{1,400})")
GO_PROPERTY = re.compile(r'"([\w.]{1,60})"="([^"]{0,200})"')
GO_NAMES = (("mean", "Avg(us)"), ("p50", "50th(us)"), ("p90", "90th(us)"), ("p95", "95th(us)"), ("p99", "99th(us)"),
            ("p99.9", "99.9th(us)"), ("max", "Max(us)"))  # fmt: skip
COMMAND = re.compile(r"(?:Command line:|java .{0,4000}\b(?:site\.ycsb|com\.yahoo\.ycsb)\.Client) (.{1,4000})")
PERCENTILE = re.compile(r"(\d{2}(?:\.\d{1,3})?)(?:th)?PercentileLatency\((us|ms)\)")
READ_ONLY = frozenset(("READ", "SCAN"))
PROPERTY = linear.compile(r"\s*([\w.]{1,60})\s*[=:]\s*(\S.{0,200}?)\s*")
OF_WORKLOAD = frozenset(("readproportion", "updateproportion", "operationcount"))
PROPERTY_LINES_MAX = 2_000
CUT_OFF = 0.75  # of the usual interval: a shorter last one is no whole one


@dataclass
class _Run:
    line: int
    overall: dict[str, float] = field(default_factory=dict)
    of: dict[str, dict[str, float]] = field(default_factory=dict)  # by operation
    status: list[tuple[float, float]] = field(default_factory=list)
    command: str = ""
    asked: dict[str, str] = field(default_factory=dict)
    ended: bool = False
    of_go: bool = False  # go-ycsb counts what failed apart; YCSB's throughput is of all operations

    def published(self, file: File) -> Published:
        done = {name: of for name, of in self.of.items() if of.get("Operations") and name not in ("CLEANUP", "TOTAL")}
        good = {name: of for name, of in done.items() if not name.endswith(("-FAILED", "_ERROR"))}
        most = max(good, key=lambda name: good[name]["Operations"], default="")
        failed = sum(of["Operations"] for name, of in done.items() if name not in good)
        refused = sum(
            count
            for of in self.of.values()
            for name, count in of.items()
            if name.startswith("Return=") and name not in ("Return=OK", "Return=0", "Return=")
        )
        runtime = self.overall.get("RunTime(ms)")
        rate = self.overall.get("Throughput(ops/sec)")
        status = self._whole_intervals()
        ends = [at for at, _ in status]
        one = Published(
            file.at(self.line),
            "ycsb",
            file.base,
            rate=rate,
            attempts=rate + 1000 * failed / runtime if self.of_go and rate and runtime else None,
            measured_s=runtime / 1000 if runtime else None,
            latency_ms=_latencies(good.get(most, {})),
            latency_from="actual start",
            errors=int(max(failed, refused)) if self.of else None,
            series=tuple(rate for _, rate in status),
            interval_s=(ends[-1] - ends[0]) / (len(ends) - 1) if len(ends) > 1 and ends[-1] > ends[0] else 1.0,
            unit="reads" if good and good.keys() <= READ_ONLY and self._is_whole(done) else "operations",
            script="load" if {_kind(name) for name in (*done, *good)} == {"INSERT"} else "",
            parameters={"latency of": most} if most else {},
        )
        asked = commands.ycsb(self.command.split()) if self.command else {}
        return commands.filled(one, {**_asked(self.asked), **asked})

    def _whole_intervals(self) -> list[tuple[float, float]]:
        """The status lines, without a last one of an interval that the end of the run cut off."""
        status = self.status
        if len(status) > 2 and status[-1][0] - status[-2][0] < CUT_OFF * (status[1][0] - status[0][0]):
            return status[:-1]
        return status

    def _is_whole(self, done: dict[str, dict[str, float]]) -> bool:
        """Whether every operation of the run is told of, so that none was a write."""
        all_of_them = self.overall.get("Throughput(ops/sec)", 0.0) * self.overall.get("RunTime(ms)", 0.0) / 1000
        return sum(of["Operations"] for of in done.values()) >= 0.99 * all_of_them


def _kind(name: str) -> str:
    return name.removesuffix("-FAILED").removesuffix("_ERROR")


def _latencies(of: dict[str, float]) -> dict[str, float]:
    names = {"mean": "AverageLatency", "max": "MaxLatency"}
    latency = {short: of.get(f"{name}(us)", 0) / 1000 or of.get(f"{name}(ms)") for short, name in names.items()}
    for name, value in of.items():
        if match := PERCENTILE.fullmatch(name):
            latency[f"p{match[1]}"] = value / 1000 if match[2] == "us" else value
    latency |= {name: of[key] / 1000 for name, key in GO_NAMES if key in of}
    return {name: value for name, value in figures(latency).items() if value > 0}


def _output(file: File) -> Sequence[Published] | None:
    if not any(SUMMARY.fullmatch(one) or GO.match(one) or _is_status(one) for one in file.first_lines):
        return None
    runs: list[_Run] = []
    command, asked = "", dict[str, str]()

    def begin(at: int) -> _Run:
        runs.append(_Run(at, command=command, asked=dict(asked)))
        return runs[-1]

    for at, line in enumerate(file.stream(), start=1):
        if match := COMMAND.search(line):
            command = match[1]
        elif match := GO_PROPERTY.fullmatch(line.strip()):
            asked[match[1]] = match[2]
        elif match := SUMMARY.fullmatch(line):
            if not runs or (match[1] == "OVERALL" and match[2] in runs[-1].overall):
                begin(at)
            run = runs[-1]
            if match[1] == "OVERALL":
                run.line = run.line if run.overall else at
                run.overall[match[2]] = float(match[3])
            elif not match[2].lstrip(">").isdigit():  # one of a histogram's buckets
                run.of.setdefault(match[1], {})[match[2]] = float(match[3])
        elif match := STATUS.match(line):
            if not runs or runs[-1].overall or (runs[-1].status and float(match[1]) < runs[-1].status[-1][0]):
                begin(at)
            if match[3] and len(runs[-1].status) < SERIES_MAX:
                runs[-1].status.append((float(match[1]), float(match[3])))
        elif match := GO.match(line):
            if not runs or runs[-1].ended:
                begin(at)
            _go(runs[-1], match[1], match[2])
        elif line.startswith("Run finished") and runs:
            runs[-1].of.clear()
            runs[-1].line = at
    whole = [run for run in runs if run.overall or run.of]
    if not whole:
        raise Broken("is YCSB's output that ends before its summary", runs[-1].line if runs else None)
    return [run.published(file) for run in whole]


def _is_status(line: str) -> bool:
    return " operations; " in line and STATUS.match(line) is not None


def _go(run: _Run, name: str, figures_: str) -> None:
    pairs = (one.partition(": ") for one in figures_.split(", "))
    values = figures({key.strip(): number(value) for key, _, value in pairs})
    values["Operations"] = values.get("Count", 0.0)
    run.of[name] = values
    run.of_go = True
    if name == "TOTAL" or "TOTAL" not in run.of:
        rates = [of.get("OPS", 0.0) for key, of in run.of.items() if key != "TOTAL" and not key.endswith("_ERROR")]
        run.overall["Throughput(ops/sec)"] = values.get("OPS", 0.0) if name == "TOTAL" else sum(rates)
        run.overall["RunTime(ms)"] = 1000 * values.get("Takes(s)", 0.0)


def _exported(file: File) -> Sequence[Published] | None:
    if b'"measurement"' not in file.head or b'"metric"' not in file.head:
        return None
    run = _Run(1)
    for match in EXPORTED.finditer(file.text):
        if match[1] == "OVERALL":
            run.overall[match[2]] = float(match[3])
        elif not match[2].lstrip(">").isdigit():
            run.of.setdefault(match[1], {})[match[2]] = float(match[3])
    if "Throughput(ops/sec)" not in run.overall:
        return None
    return [run.published(file)]


def _asked(properties: dict[str, str]) -> dict[str, str]:
    """Properties of a workload by the names of what was run."""
    names = {"recordcount": "scale", "threadcount": "terminals", "target": "asked_rate"}
    return {names.get(name, name): value for name, value in properties.items()}


def _properties(file: File) -> Sequence[Published] | None:
    """A workload's file: what a run of it would do."""
    lines = file.first_lines[:PROPERTY_LINES_MAX]
    if not any(line.lstrip().startswith(("readproportion", "recordcount")) for line in lines):
        return None
    set_: dict[str, str] = {}
    first = 0
    for at, name, value in _assignments(lines):
        set_[name.lower()] = value
        first = first or at
    if len(OF_WORKLOAD & set_.keys()) < 2:
        return None
    one = Published(file.at(first), "ycsb", file.base, unit="operations", planned=True, script=file.base)
    return [replace(commands.filled(one, _asked(set_)), script=file.base)]


def _assignments(lines: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    for at, line in enumerate(lines, start=1):
        if not line.lstrip().startswith("#") and (match := PROPERTY.fullmatch(line[:400])):
            yield at, match[1], match[2]


OUTPUT = Importer("YCSB output", _output)
EXPORTED_JSON = Importer("YCSB measurements", _exported)
PROPERTIES = Importer("YCSB workload", _properties)
