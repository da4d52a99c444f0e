"""Apache JMeter: sample results (JTL) as CSV and XML, ``statistics.json`` of its dashboard, and the summariser's lines.
See its manual, "CSV log format", "XML log format" and "Generating dashboard report". A sample's time is ``elapsed``."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acidtest.audit.amounts import figures, number, whole
from acidtest.audit.bench import Published
from acidtest.audit.importers.file import Broken, File, Importer, Part
from acidtest.audit.importers.numbers import Latencies, PerSecond, load, table
from acidtest.audit.importers.outputs import N, Output, Row, Run

HEAD = re.compile(r'"?timeStamp"?([,;\t])"?elapsed"?\1"?label"?')
SAMPLE = re.compile(r"<(?:httpSample|sample) ([^<>]{1,4000})>")
ATTRIBUTE = re.compile(r'\b(t|ts|s|na)="([^"]{0,40})"')


class _Samples:
    def __init__(self) -> None:
        self.latencies, self.seconds = Latencies(), PerSecond()
        self.failed = self.threads = self.good = 0
        self.first = self.last = 0.0

    def add(self, at_ms: float, elapsed_ms: float, good: bool, threads: float) -> None:
        self.first = min(self.first or at_ms, at_ms)
        self.last = max(self.last, at_ms + elapsed_ms)
        self.latencies.add(elapsed_ms)
        self.seconds.add(int((at_ms + elapsed_ms) / 1000))
        self.failed += not good
        self.good += good
        self.threads = max(self.threads, int(threads))

    def published(self, file: File) -> list[Published]:
        took = (self.last - self.first) / 1000
        count = self.good + self.failed
        return [
            Published(
                file.at(1),
                "jmeter",
                file.base,
                rate=self.good / took if took > 0 else None,
                attempts=count / took if took > 0 else None,
                terminals=self.threads or None,
                measured_s=took or None,
                latency_ms=self.latencies.as_ms(),
                latency_from="actual start",
                errors=self.failed,
                series=self.seconds.series(),
                unit="requests",
            )
        ]


def _rows(file: File) -> Sequence[Published] | None:
    head = HEAD.match(file.first_lines[0]) if file.first_lines else None
    if head is None:
        return None
    samples = _Samples()
    for at, row in _cells(file, head[1]):
        moment, elapsed = number(row.get("timeStamp", "")), number(row.get("elapsed", ""))
        if moment is None or elapsed is None:
            if not row.get("timeStamp", "").isdigit():
                raise Broken("holds a line without time stamp and elapsed time", at)
            continue
        samples.add(moment, elapsed, row.get("success", "true") != "false", number(row.get("allThreads", "")) or 0)
    return samples.published(file)


def _cells(file: File, separator: str) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader((line.replace("\0", "") for line in file.stream()), delimiter=separator)
    try:
        names = next(reader, [])
        for row in reader:
            if row:
                yield reader.line_num, dict(zip(names, row, strict=False))
    except csv.Error as error:
        raise Broken(f"is no table: {error}", reader.line_num) from None


def _xml(file: File) -> Sequence[Published] | None:
    if b"<testResults" not in file.head:
        return None
    samples = _Samples()
    for line in file.stream():
        for match in SAMPLE.finditer(line):
            of = dict(ATTRIBUTE.findall(match[1]))
            moment, elapsed = number(of.get("ts", "")), number(of.get("t", ""))
            if moment is not None and elapsed is not None:
                samples.add(moment, elapsed, of.get("s") != "false", number(of.get("na", "")) or 0)
    return samples.published(file)


def _statistics(file: File) -> Sequence[Published] | None:
    if b'"sampleCount"' not in file.head or b'"meanResTime"' not in file.head:
        return None
    document = table(load(file))
    total = table(document.get("Total"))
    if not total:
        raise Broken("is JMeter's statistics without a total")
    names = (("mean", "meanResTime"), ("p50", "medianResTime"), ("p90", "pct1ResTime"), ("p95", "pct2ResTime"),
             ("p99", "pct3ResTime"), ("max", "maxResTime"))  # fmt: skip
    rate, count, failed = (number(total.get(name)) for name in ("throughput", "sampleCount", "errorCount"))
    return [
        Published(
            file.at(1),
            "jmeter",
            file.base,
            rate=rate,  # of all samples, those that failed too
            measured_s=count / rate if count and rate else None,
            latency_ms=figures({name: number(total.get(key)) for name, key in names}),
            latency_from="actual start",
            errors=whole(failed),
            unit="requests",
        )
    ]


SUMMARY = (
    rf".{{0,120}}?summary = *\d{{1,12}} in +(?:(\d{{1,4}}):(\d\d):(\d\d)|{N}s) = +({N}/s) Avg: +{N} "
    rf"Min: +\d{{1,12}} Max: +{N} Err: +(\d{{1,12}})"
)


def _summed(file: File, run: Run) -> Iterator[Mapping[str, Any]]:
    hours, minutes, seconds = (run.get(name) or 0.0 for name in ("_h", "_min", "_s"))
    yield {"measured_s": run.values.get("measured_s") or 3600 * hours + 60 * minutes + seconds or None}


SUMMARISER_LINES = Output(
    "jmeter",
    SUMMARY,
    (Row("result", SUMMARY, ("_h", "_min", "_s", "measured_s", "written", "rate", "mean", "max", "errors")),),
    {"latency_from": "actual start", "unit": "requests"},
    _summed,
)


def _summariser(file: File) -> Sequence[Part] | None:
    """Each line sums up all before it."""
    lines = SUMMARISER_LINES.read(file)
    return lines and lines[-1:]


ROWS = Importer("JMeter samples", _rows)
XML = Importer("JMeter samples in XML", _xml)
STATISTICS = Importer("JMeter statistics", _statistics)
SUMMARISER = Importer("JMeter log", _summariser)
