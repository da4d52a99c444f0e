"""k6: the summary that it prints (0.2x to 1.x), ``--summary-export`` and handleSummary's JSON, and the points of
``--out json``. See internal/output/summary and output/json of k6.

A script with arrival-rate executors is an open loop that starts late ones late: http_req_duration counts from the
actual start.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from acidtest.audit.amounts import number, whole
from acidtest.audit.bench import Published
from acidtest.audit.importers.commands import seconds
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.numbers import load, table
from acidtest.audit.importers.outputs import N, Output, Row, Run, Samples, line_of, picked

MARK = r"[\s│|*#>]{0,16}[✓✗]?\s{0,4}"
COUNT = rf"\.{{1,60}}: \s{{0,20}}(\d{{1,15}})\s{{1,20}}({N}/s)"
TIME = re.compile(
    r"(avg|med|max|p\((?:\d{2}(?:\.\d{1,3})?)\))=(\d{1,12}(?:\.\d{1,9})?)"
    r"(ns|[µμu]s|ms|s|m)(\d{1,12}(?:\.\d{1,9})?s)?"
)
MS = {"ns": 1e-6, "µs": 1e-3, "μs": 1e-3, "us": 1e-3, "ms": 1.0, "s": 1000.0, "m": 60_000.0}
NAMES = {"avg": "mean", "med": "p50", "max": "max"}
OF_REQUESTS, OF_DURATIONS, OF_FAILURES, OF_VUS = "http_reqs", "http_req_duration", "http_req_failed", "vus_max"
FIXED = {"latency_from": "actual start", "unit": "requests"}


def _summed(file: File, run: Run) -> Iterator[Mapping[str, Any]]:
    values = run.values
    count, rate = (run.get(name) for name in (("_count", "rate") if "rate" in values else ("_often", "_iterations")))
    if count is not None and rate is not None:
        script = values.get("_script", "").strip().rpartition("/")[2]
        yield {
            "name": script,
            "script": script,
            "rate": rate,
            "written": values.get("written", values.get("_written")),
            "terminals": values.get("terminals") or run.get("_vus"),
            "measured_s": seconds(values.get("_took", "")) or (count / rate if rate else None),
            "answered_ms": _times(values.get("_answered", "")),
            **_times(values.get("_times", "")),
        }


def _times(said: str) -> dict[str, float]:
    return {
        NAMES.get(name, f"p{name[2:-1]}"): float(value) * MS[unit] + (float(rest[:-1]) * 1000 if rest else 0.0)
        for name, value, unit, rest in TIME.findall(said)
    }


SUMMARY = Output(
    "k6",
    rf"{MARK}(?:http_|iteration|vus|data_|checks)[a-z_]{{0,40}}\.{{1,60}}: ",
    (
        Row("head", r"script: (\S.{0,200})", ("_script",)),
        Row("head", r".{0,200}scenario.{0,200}?\b(\d{1,9}) (?:max )?VUs", ("_vus",)),
        Row("value", r"running \(([\dhms.]{2,20})\), \d{1,9}/(\d{1,9}) VUs", ("_took", "_vus")),
        Row("part", rf"{MARK}{OF_DURATIONS}\.{{1,60}}: (.{{1,300}})", ("_times",)),
        Row("value", rf"{MARK}\{{ expected_response:true \}}\.{{1,60}}: (.{{1,300}})", ("_answered",), first=True),
        Row("part", rf"{MARK}{OF_FAILURES}\.{{1,60}}: [\d.]{{1,9}}%\s{{1,20}}(?:✓ )?(\d{{1,15}})\b", ("errors",)),
        Row("result", rf"{MARK}{OF_REQUESTS}{COUNT}", ("_count", "written", "rate")),
        Row("result", rf"{MARK}iterations{COUNT}", ("_often", "_written", "_iterations")),
        Row("part", rf"{MARK}{OF_VUS}\.{{1,60}}: \s{{0,20}}(\d{{1,9}})", ("terminals",)),
    ),
    FIXED,
    _summed,
)


def _json(file: File) -> Sequence[Published] | None:
    """One summary: of ``--summary-export``, or of handleSummary, which has the figures in ``values``."""
    if file.head.lstrip()[:1] != b"{" or b'"metrics"' not in file.head or b"http_req" not in file.head:
        return None
    document = table(load(file))
    metrics = {name: table(one).get("values") or one for name, one in table(document.get("metrics")).items()}
    requests, durations, vus, failures = (
        table(metrics.get(name)) for name in (OF_REQUESTS, OF_DURATIONS, OF_VUS, OF_FAILURES)
    )
    rate, count = (number(requests.get(name)) for name in ("rate", "count"))
    if rate is None:
        raise Broken("is k6's summary without a rate of requests")
    took = number(table(document.get("state")).get("testRunDurationMs"))
    names = {NAMES.get(name, f"p{name[2:-1]}"): name for name in durations if name in NAMES or name.startswith("p(")}
    return [
        Published(
            file.at(line_of(file, f'"{OF_REQUESTS}"')), "k6", file.base, rate=rate,
            terminals=whole(vus.get("max", vus.get("value"))),
            measured_s=took / 1000 if took else (count / rate if count and rate else None),
            latency_ms=picked(durations, names),
            # Of a rate, handleSummary's "passes" are those of which the metric is true, that is those that failed.
            errors=whole(failures.get("passes")), **FIXED,  # type: ignore[arg-type]
        )
    ]  # fmt: skip


def _published(file: File, points: Iterator[tuple[str, float, float]]) -> list[Published]:
    """Of the points of one run: the metric's name, when, and the value."""
    samples, vus = Samples(), 0
    for metric, at_s, value in points:
        if metric == OF_DURATIONS:
            samples.add(at_s, value)
        elif metric == OF_FAILURES:
            samples.failed += value == 1
        elif metric in ("vus", OF_VUS):
            vus = max(vus, int(value))
    series = samples.seconds.series()
    rate = sum(series) / len(series) if series else None
    return samples.published(file, "k6", rate=rate, terminals=vus or None, errors=samples.failed, **FIXED)


def _points(file: File) -> Sequence[Published] | None:
    if b'"type":"Point"' not in file.head.replace(b" ", b"") or b'"metric"' not in file.head:
        return None
    return _published(file, _of_json(file))


def _of_json(file: File) -> Iterator[tuple[str, float, float]]:
    for at, line in enumerate(file.stream(), start=1):
        if OF_DURATIONS in line or OF_FAILURES in line or '"vus' in line:
            try:
                one = table(json.loads(line))
            except (ValueError, RecursionError):
                raise Broken("holds a line that is no JSON", at) from None
            data = table(one.get("data"))
            value, moment = number(data.get("value")), _moment(data.get("time"))
            if one.get("type") == "Point" and value is not None and moment is not None:
                yield str(one.get("metric")), moment, value


def _moment(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(re.sub(r"\.\d{1,12}", "", str(text)[:40]).replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        return None


SUMMARY_TEXT = Importer("k6 summary", SUMMARY.read)
EXPORT = Importer("k6 summary in JSON", _json)
POINTS = Importer("k6 points", _points)
