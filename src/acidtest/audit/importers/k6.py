"""k6: the summary that it prints (0.2x to 1.x). See internal/output/summary of k6.

A script with arrival-rate executors is an open loop that starts late ones late: http_req_duration counts from the
actual start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from acidtest.audit.importers.commands import seconds
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.importers.outputs import N, Output, Row, Run

MARK = r"[\s│|*#>]{0,16}[✓✗]?\s{0,4}"
COUNT = rf"\.{{1,60}}: \s{{0,20}}(\d{{1,15}})\s{{1,20}}({N}/s)"
TIME = re.compile(
    r"(avg|med|max|p\((?:\d{2}(?:\.\d{1,3})?)\))=(\d{1,12}(?:\.\d{1,9})?)"
    r"(ns|[µμu]s|ms|s|m)(\d{1,12}(?:\.\d{1,9})?s)?"
)
MS = {"ns": 1e-6, "µs": 1e-3, "μs": 1e-3, "us": 1e-3, "ms": 1.0, "s": 1000.0, "m": 60_000.0}
NAMES = {"avg": "mean", "med": "p50", "max": "max"}
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
        Row("part", rf"{MARK}http_req_duration\.{{1,60}}: (.{{1,300}})", ("_times",)),
        Row("value", rf"{MARK}\{{ expected_response:true \}}\.{{1,60}}: (.{{1,300}})", ("_answered",), first=True),
        Row("part", rf"{MARK}http_req_failed\.{{1,60}}: [\d.]{{1,9}}%\s{{1,20}}(?:✓ )?(\d{{1,15}})\b", ("errors",)),
        Row("result", rf"{MARK}http_reqs{COUNT}", ("_count", "written", "rate")),
        Row("result", rf"{MARK}iterations{COUNT}", ("_often", "_written", "_iterations")),
        Row("part", rf"{MARK}vus_max\.{{1,60}}: \s{{0,20}}(\d{{1,9}})", ("terminals",)),
    ),
    FIXED,
    _summed,
)


SUMMARY_TEXT = Importer("k6 summary", SUMMARY.read)
