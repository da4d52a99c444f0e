"""What fio writes under ``--output-format=json`` or ``json+``. See stat.c (show_thread_status_json) and fio's manual,
"JSON output"; from 2.2 on. And its job files, "Job file format"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from acidtest.audit.amounts import number, whole
from acidtest.audit.bench import Published
from acidtest.audit.importers import commands
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.outputs import line_of, picked
from acidtest.audit.importers.trees import load_json, rows, table
from acidtest.formats import linear

# The middle of the last bucket (stat.c, plat_idx_to_val), as which all that is longer is counted. stat.h of 3: 29
# groups of 64 values, in nanoseconds; of 2: 19 groups, in microseconds.
CEILING_MS = {"ns": 17_112.76, "us": 16_711.68}
PERCENTILES = {"p50": "50.000000", "p95": "95.000000", "p99": "99.000000", "p99.9": "99.900000"}
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
    document = table(load_json(file.text, begin.start()))
    common = table(document.get("global options"))
    jobs = rows(document.get("jobs")) or rows(document.get("client_stats"))
    if not jobs:
        raise Broken("is fio's output without a job")
    line = file.text.count("\n", 0, begin.start()) + 1
    return [published for job in jobs for published in _job(job, common | table(job.get("job options")), file, line)]


def _job(job: dict[str, Any], options: dict[str, Any], file: File, begin: int) -> Iterator[Published]:
    name = str(job.get("jobname", ""))[:100]
    where = file.at(line_of(file, f'"{name}"', begin))
    jobs = whole(options.get("numjobs")) or 1
    terminals = (whole(options.get("iodepth")) or 1) * jobs
    for key, unit in UNITS:
        section = table(job.get(key))
        if number(section.get("total_ios", section.get("io_bytes"))):
            runtime = number(section.get("runtime"))
            asked = number(str(options.get("rate_iops", "")).split(",")[0])
            yield Published(
                where, "fio", f"{name} {key}", rate=number(section.get("iops")), terminals=terminals,
                measured_s=runtime / 1000 if runtime else None,
                warmup_s=number(str(options.get("ramp_time", "")).removesuffix("s")),
                asked_rate=asked * jobs if asked else None, latency_ms=_latencies(section, "clat"),
                latency_from="actual start", unit=unit, flushed=_flushed(options) and unit == "writes",
                ceiling_ms=CEILING_MS["ns" if "clat_ns" in section else "us"],
            )  # fmt: skip
    sync, runtime = table(job.get("sync")), number(job.get("job_runtime"))
    if count := whole(sync.get("total_ios")):
        yield Published(
            where, "fio", f"{name} sync", rate=count / (runtime / 1000) if runtime else None, terminals=terminals,
            latency_ms=_latencies(sync, "lat"), unit="flushes", flushed=True, ceiling_ms=CEILING_MS["ns"],
        )  # fmt: skip  # 2 does not time them


def _flushed(options: Mapping[str, Any]) -> bool:
    """Whether each write waits for the drive."""
    each = any(whole(options.get(key)) == 1 for key in ("fsync", "fdatasync"))
    return each or str(options.get("sync", "0")) not in ("0", "none")


def _latencies(section: dict[str, Any], name: str) -> dict[str, float]:
    """In milliseconds; up to 2.99 fio wrote microseconds."""
    of, per = (table(section[f"{name}_ns"]), 1e6) if f"{name}_ns" in section else (table(section.get(name)), 1e3)
    times = picked(of, {"mean": "mean", "max": "max"}, per) | picked(table(of.get("percentile")), PERCENTILES, per)
    return {key: value for key, value in times.items() if value}


def _job_file(file: File) -> Sequence[Published] | None:
    if not any(SECTION.fullmatch(line) for line in file.first_lines[:200]):
        return None
    sections = _sections(file.first_lines)
    set_ = {name for _, _, options in sections for name in options}
    if not set_ & {"rw", "readwrite"} or len(set_ & OWN) < 3:
        return None
    common = next((options for _, name, options in sections if name == "global"), {})
    published = []
    for at, name, options in sections:
        if name != "global":
            asked = common | options | {"name": name}
            one = Published(file.at(at), "fio", name, unit="operations", planned=True, flushed=_flushed(asked))
            published.append(commands.filled(one, commands.fio([f"--{key}={value}" for key, value in asked.items()])))
    return published or None


def _sections(lines: Sequence[str]) -> list[tuple[int, str, dict[str, str]]]:
    sections: list[tuple[int, str, dict[str, str]]] = []
    for at, line in enumerate(lines, start=1):
        if match := SECTION.fullmatch(line):
            sections.append((at, match[1], {}))
        elif sections and (match := OPTION.fullmatch(line[:400])):
            sections[-1][2][match[1]] = match[2] or "1"
    return sections


JOBS = Importer("fio jobs", _job_file)
IMPORTER = Importer("fio JSON", _read)
