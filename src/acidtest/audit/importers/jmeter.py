"""Apache JMeter: sample results (JTL) as CSV and XML, ``statistics.json`` of its dashboard, and the summariser's lines.
See its manual, "CSV log format", "XML log format" and "Generating dashboard report". A sample's time is ``elapsed``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acidtest.audit.amounts import number, whole
from acidtest.audit.bench import Published
from acidtest.audit.importers.file import Broken, File, Importer, Part
from acidtest.audit.importers.numbers import load, table
from acidtest.audit.importers.outputs import N, Output, Row, Run, Samples, cells, picked, sampled

HEAD = re.compile(r'"?timeStamp"?([,;\t])"?elapsed"?\1"?label"?')
SAMPLE = re.compile(r"<(?:httpSample|sample) ([^<>]{1,4000})>")
ATTRIBUTE = re.compile(r'\b(t|ts|s|na)="([^"]{0,40})"')
TIMES = {"mean": "meanResTime", "p50": "medianResTime", "p90": "pct1ResTime", "p95": "pct2ResTime",
         "p99": "pct3ResTime", "max": "maxResTime"}  # fmt: skip
FIXED = {"latency_from": "actual start", "unit": "requests"}


def _published(file: File, samples: Iterator[tuple[float, float, bool, float]]) -> list[Published]:
    """Of when each began and how long it took in ms, whether it was good, and how many threads there were."""
    held = Samples()
    good = threads = 0
    first = last = 0.0
    for at_ms, elapsed_ms, is_good, of_threads in samples:
        first, last = min(first or at_ms, at_ms), max(last, at_ms + elapsed_ms)
        held.add((at_ms + elapsed_ms) / 1000, elapsed_ms)
        good += is_good
        held.failed += not is_good
        threads = max(threads, int(of_threads))
    took = (last - first) / 1000
    return held.published(
        file, "jmeter", rate=good / took if took > 0 else None, terminals=threads or None, errors=held.failed,
        attempts=(good + held.failed) / took if took > 0 else None, measured_s=took or None, **FIXED,
    )  # fmt: skip


def _rows(file: File) -> Sequence[Published] | None:
    head = HEAD.match(file.first_lines[0]) if file.first_lines else None
    return _published(file, _of_rows(file, head[1])) if head else None


def _of_rows(file: File, separator: str) -> Iterator[tuple[float, float, bool, float]]:
    for at, row in cells(file, separator):
        if not row.get("timestamp", "").isdigit() or number(row.get("elapsed")) is not None:
            moment, elapsed = sampled(row, at, "timestamp", "elapsed")
            yield moment, elapsed, row.get("success", "true") != "false", number(row.get("allthreads")) or 0


def _xml(file: File) -> Sequence[Published] | None:
    return _published(file, _of_xml(file)) if b"<testResults" in file.head else None


def _of_xml(file: File) -> Iterator[tuple[float, float, bool, float]]:
    for match in (match for line in file.stream() for match in SAMPLE.finditer(line)):
        of = dict(ATTRIBUTE.findall(match[1]))
        moment, elapsed = number(of.get("ts")), number(of.get("t"))
        if moment is not None and elapsed is not None:
            yield moment, elapsed, of.get("s") != "false", number(of.get("na")) or 0


def _statistics(file: File) -> Sequence[Published] | None:
    if b'"sampleCount"' not in file.head or b'"meanResTime"' not in file.head:
        return None
    document = table(load(file))
    total = table(document.get("Total"))
    if not total:
        raise Broken("is JMeter's statistics without a total")
    rate, count = (number(total.get(name)) for name in ("throughput", "sampleCount"))
    return [
        Published(
            file.at(1), "jmeter", file.base, rate=rate,  # of all samples, those that failed too
            measured_s=count / rate if count and rate else None, latency_ms=picked(total, TIMES),
            errors=whole(total.get("errorCount")), **FIXED,  # type: ignore[arg-type]
        )
    ]  # fmt: skip


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
    FIXED,
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
