"""HammerDB: its log or console from 3 to 6, and the JSON of ``jobs summaryjson``. See the
drivers in src/, and docs "CLI scripting"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from acidtest.audit.amounts import number, whole
from acidtest.audit.bench import EngineName, Published
from acidtest.audit.importers import commands, known
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.outputs import SERIES_MAX, line_of, picked
from acidtest.audit.importers.trees import load_json, rows, table

# "Vuser 1:TEST RESULT : System achieved 42332 NOPM from 97427 PostgreSQL TPM", and up to 3.2
# "… System achieved 60501 SQL Server TPM at 13207 NOPM"
RESULT = re.compile(
    r"\bSystem achieved (?:(\d{1,12}) NOPM from (\d{1,12}) ([A-Za-z0-9 ]{1,40}?) TPM|"
    r"(\d{1,12}) ([A-Za-z0-9 ]{1,40}?) TPM at (\d{1,12}) NOPM)"
)
# What a log has and a text about HammerDB has not.
HINT = re.compile(
    r"^HammerDB CLI v|^Hammerdb Log @|^(?:Vuser \d{1,6}:)?TEST RESULT : System achieved|"
    r"^[\s\"'\[,\d:-]{0,60}(?:Vuser \d{1,6}:)?TEST RESULT : System achieved \d|^\W{0,9}System achieved \d|"
    r"^(?:Vuser 1:)?>>>>> (?:PROC:|VIRTUAL USER|SUMMARY OF)|^Vuser 1[: ]"
)
FACTS = {
    "users": re.compile(r"(\d{1,6}) Active Virtual Users configured"),
    "ramp_up": re.compile(r"rampup time of (\d{1,6}) minutes"),
    "period": re.compile(r"Timing test period of (\d{1,6}) in minutes"),
}
TIMES = {"mean": "avg_ms", "p50": "p50_ms", "p95": "p95_ms", "p99": "p99_ms", "max": "max_ms"}
NEW_ORDER = "NEWORD"
REPORT = b"hammerdb-job-report-v1"
FAILED = re.compile(r"Vuser \d{1,6}:FINISHED FAILED")


def _log(file: File) -> Sequence[Published] | None:
    if file.head.lstrip()[:1] == b"{" or not any(HINT.search(line) for line in file.first_lines):
        return None
    runs: list[Published] = []
    facts: dict[str, int] = {}
    failed = begun = 0
    for at, line in enumerate(file.stream(), start=1):
        for name, pattern in FACTS.items():
            if match := pattern.search(line):
                facts[name] = int(match[1])
                begun = at if name == "period" else begun
        failed += FAILED.search(line) is not None
        if match := RESULT.search(line):
            runs.append(_result(file, at, match[1] or match[6], match[2] or match[4], match[3] or match[5], facts))
            begun = 0
    if not runs and begun:
        raise Broken("is HammerDB's log of a timed test that ends before its result", begun)
    if failed and runs:
        runs[-1] = replace(runs[-1], errors=failed)
    return runs


def _result(file: File, at: int, nopm: str, tpm: str, engine: str, facts: dict[str, int]) -> Published:
    return Published(
        file.at(at), "hammerdb", file.base, rate=float(tpm) / 60 or None, tpm=float(tpm) or None, nopm=float(nopm),
        terminals=facts.get("users"), measured_s=facts["period"] * 60.0 if facts.get("period") else None,
        warmup_s=facts["ramp_up"] * 60.0 if "ramp_up" in facts else None, engine=_engine(engine), script="TPROC-C",
        written=f"{nopm} NOPM from {tpm} {engine} TPM",
    )  # fmt: skip


def _json(file: File) -> Sequence[Published] | None:
    if file.head.lstrip()[:1] == b"{" and REPORT in file.head:
        return [_report(table(load_json(file.text)), file)]
    return None


def _report(report: dict[str, Any], file: File) -> Published:
    job, asked, result = (table(report.get(key)) for key in ("job", "benchmark_config", "result"))
    nopm, tpm = number(result.get("nopm")), number(result.get("tpm"))
    ramp_up, duration = number(asked.get("rampup_minutes")), number(asked.get("duration_minutes"))
    times = next(
        (row for row in rows(table(report.get("response_times")).get("rows")) if row.get("name") == NEW_ORDER), {}
    )
    series, interval = _counted(report, ramp_up or 0.0, duration)
    return Published(
        file.at(line_of(file, '"nopm"')), "hammerdb", f"{job.get('benchmark', '')} {file.base}"[:200].strip(),
        rate=tpm / 60 if tpm else None, tpm=tpm, nopm=nopm,
        terminals=whole(result.get("active_virtual_users", asked.get("virtual_users"))),
        took_s=number(result.get("total_query_time_seconds")),  # of TPROC-H
        measured_s=duration * 60 if duration else None, warmup_s=None if ramp_up is None else ramp_up * 60,
        latency_ms=picked(times, TIMES), latency_from="actual start" if times else "", series=series,
        interval_s=interval, engine=_engine(str(job.get("database_display") or job.get("database", ""))),
        warehouses=whole(asked.get("warehouses")), script=str(job.get("benchmark", ""))[:40],
        scale=number(asked.get("warehouses", asked.get("scale_factor"))),
        written=f"{nopm:.0f} NOPM" if nopm is not None else "",
    )  # fmt: skip


def _counted(report: dict[str, Any], ramp_up: float, duration: float | None) -> tuple[tuple[float, ...], float]:
    """Its count of transactions a second over the timed period, and how far apart the points lie."""
    counted = rows(table(report.get("transaction_count")).get("series"))[:1]
    points: list[tuple[datetime, float]] = []
    for one in (point for of in counted for point in rows(of.get("points"))):
        with suppress(ValueError):
            at = datetime.strptime(str(one.get("timestamp")), "%Y-%m-%d %H:%M:%S")
            if (value := number(one.get("value"))) is not None and 1971 < at.year < 9000:
                points.append((at, value))
    if len(points) < 3 or duration is None or ramp_up + duration > SERIES_MAX:
        return (), 1.0
    begin = points[0][0] + timedelta(minutes=ramp_up)
    kept = tuple(tpm / 60 for at, tpm in points if begin < at <= begin + timedelta(minutes=duration))
    return kept, max((points[2][0] - points[1][0]).total_seconds(), 1.0)


def _engine(word: str) -> EngineName | None:
    """Of what HammerDB calls a database: one of a product that is not known here is None."""
    return commands.PRODUCTS.get(word.strip().lower()) or known.product(word)


LOG = Importer("HammerDB log", _log)
JOB = Importer("HammerDB job", _json)
