"""k6: the summary that it prints (0.2x to 1.x), ``--summary-export`` and handleSummary's JSON, and the points of
``--out json`` and ``--out csv``. See internal/output/summary and output/json of k6.

A script with arrival-rate executors is an open loop that starts late ones late: http_req_duration counts from the
actual start.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from acidtest.audit.amounts import NUMBER, figures, number, whole
from acidtest.audit.bench import Published
from acidtest.audit.importers.commands import seconds
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.numbers import Latencies, PerSecond, load, table

METRIC = re.compile(r"[\s│|*#>]{0,12}[✓✗]?\s{0,4}([a-z_]{3,40})\.{1,60}: (.{1,300})")
TIME = re.compile(
    r"(avg|med|max|p\((?:\d{2}(?:\.\d{1,3})?)\))=(\d{1,12}(?:\.\d{1,9})?)"
    r"(ns|[µμu]s|ms|s|m)(\d{1,12}(?:\.\d{1,9})?s)?"
)
COUNTED = re.compile(rf"\s{{0,20}}(\d{{1,15}})\s{{1,20}}{NUMBER}/s")
EXPECTED = re.compile(r"[\s│|*#>]{0,16}\{ expected_response:true \}\.{1,60}: (.{1,300})")
FAILED = re.compile(r"[\d.]{1,9}%\s{1,20}(?:✓ (\d{1,15})|(\d{1,15}) out of (\d{1,15}))")
VUS = re.compile(r"(\d{1,9}) (?:max )?VUs")
SCRIPT = re.compile(r"\s{0,20}script: (\S.{0,200})")
RUNNING = re.compile(r"running \(([\dhms.]{2,20})\), \d{1,9}/(\d{1,9}) VUs")
MS = {"ns": 1e-6, "µs": 1e-3, "μs": 1e-3, "us": 1e-3, "ms": 1.0, "s": 1000.0, "m": 60_000.0}
NAMES = {"avg": "mean", "med": "p50", "max": "max"}
POINT = b'"type":"Point"'
CSV_HEAD = "metric_name,timestamp,metric_value"
OF_EXPECTED = "expected_response"  # of http_req_duration
OF_REQUESTS, OF_DURATIONS, OF_FAILURES, OF_VUS = "http_reqs", "http_req_duration", "http_req_failed", "vus_max"


def _summary(file: File) -> Sequence[Published] | None:
    if not any(METRIC.match(line) for line in file.first_lines):
        return None
    published: list[Published] = []
    held: dict[str, tuple[int, str]] = {}
    script, took, vus = "", "", ""
    for at, line in enumerate(file.stream(), start=1):
        if match := METRIC.match(line[:2_000]):
            if match[1] in held and match[1] in (OF_REQUESTS, OF_DURATIONS, "iterations"):
                published += _of(file, held, script, took, vus)
                held = {}
            held.setdefault(match[1], (at, match[2]))
        elif OF_DURATIONS in held and (match := EXPECTED.match(line[:2_000])):
            held.setdefault(OF_EXPECTED, (at, match[1]))
        elif match := SCRIPT.match(line[:400]):
            if held:
                published += _of(file, held, script, took, vus)
                held = {}
            script, took, vus = match[1].strip().rpartition("/")[2], "", ""
        elif match := RUNNING.match(line[:400]):
            took, vus = match[1], match[2]
        elif not held and "scenario" in line and (match := VUS.search(line[:400])):
            vus = match[1]
    published += _of(file, held, script, took, vus)
    if not published and not any(name.startswith(("http_", "iteration", "vus", "data_", "checks")) for name in held):
        return None
    return published


def _of(file: File, held: dict[str, tuple[int, str]], script: str, took: str, vus: str) -> list[Published]:
    at, said = held.get(OF_REQUESTS) or held.get("iterations") or (0, "")
    counted = COUNTED.match(said)
    if counted is None:
        return []
    count, rate = int(counted[1]), float(counted[2])
    latency, answered = (_times(held.get(name, (0, ""))[1]) for name in (OF_DURATIONS, OF_EXPECTED))
    failed = FAILED.match(held.get(OF_FAILURES, (0, ""))[1])
    most = re.match(r"\s{0,20}(\d{1,9})", held.get(OF_VUS, (0, ""))[1])
    terminals = most[1] if most else vus
    return [
        Published(
            file.at(at),
            "k6",
            script or file.base,
            rate=rate,
            terminals=int(terminals) if terminals else None,
            measured_s=(seconds(took) if took else None) or (count / rate if rate else None),
            latency_ms=latency,
            answered_ms=answered,
            latency_from="actual start",
            errors=int(failed[1] or failed[2]) if failed else None,
            unit="requests",
            script=script,
            written=f"{counted[2]}/s",
        )
    ]


def _times(said: str) -> dict[str, float]:
    return {
        NAMES.get(name, f"p{name[2:-1]}"): float(value) * MS[unit] + (float(rest[:-1]) * 1000 if rest else 0.0)
        for name, value, unit, rest in TIME.findall(said)
    }


def _json(file: File) -> Sequence[Published] | None:
    """One summary: of ``--summary-export``, or of handleSummary, which has the figures in ``values``."""
    if file.head.lstrip()[:1] != b"{" or b'"metrics"' not in file.head or b"http_req" not in file.head:
        return None
    document = table(load(file))
    metrics = {name: table(one).get("values") or one for name, one in table(document.get("metrics")).items()}
    requests, durations = (table(metrics.get(name)) for name in (OF_REQUESTS, OF_DURATIONS))
    rate = number(requests.get("rate"))
    if rate is None:
        raise Broken("is k6's summary without a rate of requests")
    took = number(table(document.get("state")).get("testRunDurationMs"))
    count = number(requests.get("count"))
    # Of a rate, handleSummary's "passes" are those of which the metric is true, that is those that failed.
    failed = whole(table(metrics.get(OF_FAILURES)).get("passes"))
    latency = {
        NAMES.get(name, f"p{name[2:-1]}"): number(value)
        for name, value in durations.items()
        if name in NAMES or name.startswith("p(")
    }
    at = file.text.find(f'"{OF_REQUESTS}"')
    vus = table(metrics.get(OF_VUS))
    return [
        Published(
            file.at(file.text.count("\n", 0, max(at, 0)) + 1),
            "k6",
            file.base,
            rate=rate,
            terminals=whole(vus.get("max", vus.get("value"))),
            measured_s=took / 1000 if took else (count / rate if count and rate else None),
            latency_ms=figures(latency),
            latency_from="actual start",
            errors=failed,
            unit="requests",
        )
    ]


class _Points:
    """The points of one run, in constant memory."""

    def __init__(self) -> None:
        self.latencies, self.seconds = Latencies(), PerSecond()
        self.failed = self.vus = 0

    def add(self, metric: str, at_s: float, value: float) -> None:
        if metric == OF_DURATIONS:
            self.latencies.add(value)
            self.seconds.add(int(at_s))
        elif metric == OF_FAILURES:
            self.failed += value == 1
        elif metric in ("vus", OF_VUS):
            self.vus = max(self.vus, int(value))

    def published(self, file: File) -> Published:
        series = self.seconds.series()
        return Published(
            file.at(1),
            "k6",
            file.base,
            rate=sum(series) / len(series) if series else None,
            terminals=self.vus or None,
            measured_s=float(self.seconds.seconds) or None,
            latency_ms=self.latencies.as_ms(),
            latency_from="actual start",
            errors=self.failed,
            series=series,
            unit="requests",
        )


def _points(file: File) -> Sequence[Published] | None:
    if POINT not in file.head.replace(b" ", b"") or b'"metric"' not in file.head:
        return None
    points = _Points()
    for at, line in enumerate(file.stream(), start=1):
        if OF_DURATIONS not in line and OF_FAILURES not in line and '"vus' not in line:
            continue
        try:
            one = table(json.loads(line))
        except (ValueError, RecursionError):
            raise Broken("holds a line that is no JSON", at) from None
        data = table(one.get("data"))
        value, moment = number(data.get("value")), _moment(data.get("time"))
        if one.get("type") == "Point" and value is not None and moment is not None:
            points.add(str(one.get("metric")), moment, value)
    return [points.published(file)]


def _moment(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(re.sub(r"\.\d{1,12}", "", str(text)[:40]).replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        return None


def _rows(file: File) -> Sequence[Published] | None:
    if not file.first_lines or not file.first_lines[0].startswith(CSV_HEAD):
        return None
    points = _Points()
    for at, line in enumerate(file.stream(), start=1):
        cells = line.split(",", 3)
        if at == 1 or len(cells) < 3:
            continue
        moment, value = number(cells[1]), number(cells[2])
        if moment is None or value is None:
            raise Broken("holds a line without time and value", at)
        points.add(cells[0], moment, value)
    return [points.published(file)]


SUMMARY = Importer("k6 summary", _summary)
EXPORT = Importer("k6 summary in JSON", _json)
POINTS = Importer("k6 points", _points)
ROWS = Importer("k6 points in CSV", _rows)
