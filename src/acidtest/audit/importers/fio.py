"""What fio writes under ``--output-format=json`` or ``json+``. See stat.c (show_thread_status_json) and fio's manual,
"JSON output"; from 2.2 on. And its job files, "Job file format"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from acidtest.audit.amounts import figures, number, whole
from acidtest.audit.bench import Published
from acidtest.audit.importers import commands
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.numbers import load, rows, table
from acidtest.formats import linear

# The middle of the last bucket (stat.c, plat_idx_to_val), as which all that is longer is counted. stat.h of 3: 29
# groups of 64 values, in nanoseconds; of 2: 19 groups, in microseconds.
CEILING_MS = {"ns": 17_112.76, "us": 16_711.68}
PERCENTILES = (("p50", "50.000000"), ("p95", "95.000000"), ("p99", "99.000000"), ("p99.9", "99.900000"))
JSON_BEGINS = re.compile(r"^\{", re.MULTILINE)
UNITS: tuple[tuple[str, Literal["reads", "writes"]], ...] = (("read", "reads"), ("write", "writes"))
SECTION = linear.compile(r"\s*\[([^\]\n]{1,80})\]\s*")
OPTION = linear.compile(r"\s*([a-z_0-9]{2,40})(?:\s*=\s*(\S.{0,200}?))?\s*(?:[#;].*)?")
OWN = frozenset(
    ("rw", "readwrite", "ioengine", "iodepth", "bs", "blocksize", "direct", "filename", "runtime", "numjobs")
)


def _read(file: File) -> Sequence[Published] | None:
    if b'"fio version"' not in file.head:
        return None
    begin = JSON_BEGINS.search(file.text)
    if begin is None:
        raise Broken("names fio's version and holds no JSON of it")
    document = table(load(file, begin.start()))
    common = table(document.get("global options"))
    jobs = rows(document.get("jobs")) or rows(document.get("client_stats"))
    if not jobs:
        raise Broken("is fio's output without a job")
    line = file.text.count("\n", 0, begin.start()) + 1
    return [one for job in jobs for one in _job(job, common | table(job.get("job options")), file, line)]


def _job(job: dict[str, Any], options: dict[str, Any], file: File, begin: int) -> Iterator[Published]:
    name = str(job.get("jobname", ""))[:100]
    at = file.text.find(f'"{name}"')
    where = file.at(file.text.count("\n", 0, at) + 1 if at >= 0 else begin)
    depth, jobs = (_option(options, key) for key in ("iodepth", "numjobs"))
    terminals = (depth or 1) * (jobs or 1)
    flushed = str(options.get("sync", "0")) not in ("0", "none") or any(
        _option(options, key) == 1 for key in ("fsync", "fdatasync")
    )
    for key, unit in UNITS:
        section = table(job.get(key))
        if number(section.get("total_ios", section.get("io_bytes"))):
            runtime = number(section.get("runtime"))
            asked = number(str(options.get("rate_iops", "")).split(",")[0])
            yield Published(
                where,
                "fio",
                f"{name} {key}",
                rate=number(section.get("iops")),
                terminals=terminals,
                measured_s=runtime / 1000 if runtime else None,
                warmup_s=number(str(options.get("ramp_time", "")).removesuffix("s")),
                asked_rate=asked * (jobs or 1) if asked else None,
                latency_ms=_latencies(section, "clat"),
                latency_from="actual start",
                unit=unit,
                flushed=flushed and unit == "writes",
                ceiling_ms=CEILING_MS["ns" if "clat_ns" in section else "us"],
            )
    sync = table(job.get("sync"))
    count = whole(sync.get("total_ios"))
    if count:
        runtime = number(job.get("job_runtime"))
        yield Published(
            where,
            "fio",
            f"{name} sync",
            rate=count / (runtime / 1000) if runtime else None,
            terminals=terminals,
            latency_ms=_latencies(sync, "lat"),
            unit="flushes",
            flushed=True,
            ceiling_ms=CEILING_MS["ns"],  # 2 does not time them
        )


def _option(options: dict[str, Any], name: str) -> int | None:
    return whole(options.get(name))


def _latencies(section: dict[str, Any], name: str) -> dict[str, float]:
    """In milliseconds; up to 2.99 fio wrote microseconds."""
    of, scale = (table(section[f"{name}_ns"]), 1e6) if f"{name}_ns" in section else (table(section.get(name)), 1e3)
    percentile = table(of.get("percentile"))
    latencies = {"mean": number(of.get("mean")), "max": number(of.get("max"))}
    latencies |= {short: number(percentile.get(key)) for short, key in PERCENTILES}
    return {key: value / scale for key, value in figures(latencies).items() if value}


def _job_file(file: File) -> Sequence[Published] | None:
    if not any(SECTION.fullmatch(line) for line in file.first_lines[:200]):
        return None
    sections = list(_sections(file.first_lines))
    set_ = {name for _, _, options in sections for name in options}
    if not set_ & {"rw", "readwrite"} or len(set_ & OWN) < 3:
        return None
    common = next((options for _, name, options in sections if name == "global"), {})
    published = []
    for at, name, options in sections:
        if name != "global":
            asked = common | options | {"name": name}
            flushed = (
                asked.get("sync", "0") not in ("0", "none")
                or asked.get("fsync") == "1"
                or asked.get("fdatasync") == "1"
            )
            one = Published(file.at(at), "fio", name, unit="operations", planned=True, flushed=flushed)
            published.append(commands.filled(one, commands.fio([f"--{key}={value}" for key, value in asked.items()])))
    return published or None


def _sections(lines: Sequence[str]) -> Iterator[tuple[int, str, dict[str, str]]]:
    current: tuple[int, str, dict[str, str]] | None = None
    for at, line in enumerate(lines, start=1):
        if match := SECTION.fullmatch(line):
            if current:
                yield current
            current = (at, match[1], {})
        elif current and (match := OPTION.fullmatch(line[:400])):
            current[2][match[1]] = match[2] or "1"
    if current:
        yield current


JOBS = Importer("fio jobs", _job_file)
IMPORTER = Importer("fio JSON", _read)
