"""What fio prints for people, from 2.0 on, and its job files. See stat.c (show_ddir_status, show_lat) and the manual,
"Interpreting the output" and "Job file format"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from acidtest.audit.amounts import NUMBER, number
from acidtest.audit.bench import Published, Unit
from acidtest.audit.importers import commands
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.importers.fio import CEILING_MS
from acidtest.formats import linear

# "w: (g=0): rw=randwrite, bs=(R) 4096B-4096B, …, ioengine=psync, iodepth=1"
ASKED = re.compile(r"\s*(\S.{0,80}?): \(g=\d{1,6}\): (rw=\S.{0,400})")
JOB = re.compile(r"\s*(\S.{0,80}?): \(groupid=\d{1,6}, jobs=(\d{1,9})\): err= ?(\d{1,6})")
# of 3: "  write: IOPS=12.3k, BW=48.0MiB/s (50.3MB/s)(2880MiB/60001msec)"
# of 2: "  write: io=2880.0MB, bw=49152KB/s, iops=12288, runt= 60001msec"
RATE = re.compile(
    rf"\s*(read|write|trim) ?: IOPS={NUMBER}([kMG]?), "
    rf"BW={NUMBER}([KMGT]?i?)B/s.{{0,80}}?/(\d{{1,12}})msec"
)
RATE_OLD = re.compile(
    rf"\s*(read|write|trim) ?: io=[\d.]{{1,20}}[KMGT]?i?B, "
    rf"bw={NUMBER}([KMGT]?)i?B/s, iops={NUMBER}([kM]?), runt= *(\d{{1,12}})msec"
)
LATENCY = re.compile(
    rf"\s*(clat|lat|sync) \((nsec|usec|msec)\): ?min= *[\d.]{{1,20}}[kMG]?, "
    rf"max= *{NUMBER}([kMG]?), avg= *{NUMBER}([kMG]?)"
)
PERCENTILES = re.compile(r"\s*(?:clat|lat|sync) percentiles \((nsec|usec|msec)\):")
PERCENTILE = re.compile(rf"(?<![\d.])(50|90|95|99|99\.9)0?\.?0*th=\[ *{NUMBER}\]")
PERCENTILE_LINE = re.compile(r"\s*\|")
SYNC = re.compile(r"\s*fsync/fdatasync/sync_file_range:")
# "   READ: bw=48.0MiB/s (50.3MB/s), …, io=2880MiB (3020MB), run=60001-60001msec": of all jobs together
ALL = re.compile(rf"\s*(READ|WRITE): bw={NUMBER}([KMGT]?i?)B/s .{{0,200}}?run=(\d{{1,12}})-\d{{1,12}}msec")
KILO = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
BYTES = {
    "": 1.0,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "Ki": 1024.0,
    "Mi": 1024.0**2,
    "Gi": 1024.0**3,
    "Ti": 1024.0**4,
}
MS = {"nsec": 1e-6, "usec": 1e-3, "msec": 1.0}
UNITS: dict[str, Unit] = {"read": "reads", "write": "writes", "trim": "writes"}
SECTION = re.compile(r"\s*\[([^\]\n]{1,80})\]\s*")
OPTION = linear.compile(r"\s*([a-z_0-9]{2,40})(?:\s*=\s*(\S.{0,200}?))?\s*(?:[#;].*)?")
OWN = frozenset(
    ("rw", "readwrite", "ioengine", "iodepth", "bs", "blocksize", "direct", "filename", "runtime", "numjobs")
)


@dataclass
class _Part:
    """One direction of one job."""

    line: int
    job: str
    direction: str
    rate: float = 0.0
    bytes_per_s: float = 0.0
    measured_s: float = 0.0
    latency: dict[str, float] = field(default_factory=dict)


def _text(file: File) -> Sequence[Published] | None:
    if b'"fio version"' in file.head:
        return None
    if not any(of.match(line) for line in file.first_lines for of in (JOB, ASKED, RATE, RATE_OLD, ALL)):
        return None
    asked: dict[str, str] = {}
    jobs: dict[str, int] = {}
    parts: list[_Part] = []
    job, scale = "", 1.0
    for at, line in enumerate(file.stream(), start=1):
        if match := ASKED.match(line):
            asked[match[1]] = match[2]
        elif match := JOB.match(line):
            job = match[1]
            jobs[job] = int(match[2])
        elif match := RATE.match(line):
            parts.append(
                _Part(
                    at,
                    job,
                    match[1],
                    float(match[2]) * KILO[match[3]],
                    float(match[4]) * BYTES[match[5]],
                    int(match[6]) / 1000,
                )
            )
        elif match := RATE_OLD.match(line):
            # "KB" of 2 has 1,024 bytes
            size = float(match[2]) * BYTES[f"{match[3]}i" if match[3] else ""]
            parts.append(_Part(at, job, match[1], float(match[4]) * KILO[match[5]], size, int(match[6]) / 1000))
        elif parts and (match := LATENCY.match(line)):
            if match[1] == "clat" or not parts[-1].latency:
                unit = MS[match[2]]
                parts[-1].latency |= {
                    "max": float(match[3]) * KILO[match[4]] * unit,
                    "mean": float(match[5]) * KILO[match[6]] * unit,
                }
        elif match := PERCENTILES.match(line):
            scale = MS[match[1]]
        elif SYNC.match(line) and parts:
            parts.append(_Part(at, job, "sync"))  # what follows is of flushes
        elif parts and PERCENTILE_LINE.match(line):
            for name, value in PERCENTILE.findall(line):
                parts[-1].latency[f"p{name}"] = float(value) * scale
    if not parts:
        return list(_all(file)) or None
    return [
        _published(part, asked.get(part.job, ""), jobs.get(part.job, 1), file) for part in parts if part.rate
    ] or None


def _all(file: File) -> Iterator[Published]:
    """Of an excerpt with nothing but the lines of all jobs."""
    for at, line in enumerate(file.stream(), start=1):
        if match := ALL.match(line):
            yield Published(
                file.at(at), "fio", match[1].lower(), unit=UNITS[match[1].lower()], measured_s=int(match[4]) / 1000,
                bytes_per_s=float(match[2]) * BYTES[match[3]], written=f"bw={match[2]}{match[3]}B/s",
            )  # fmt: skip


def _published(part: _Part, said: str, jobs: int, file: File) -> Published:
    options = {name: value for name, _, value in (one.strip().partition("=") for one in said.split(", ")) if value}
    depth = int(number(options.get("iodepth", "")) or 1)
    return Published(
        file.at(part.line),
        "fio",
        f"{part.job} {part.direction}",
        rate=part.rate,
        terminals=depth * jobs,
        measured_s=part.measured_s or None,
        latency_ms={name: value for name, value in part.latency.items() if value > 0},
        latency_from="actual start",
        unit=UNITS[part.direction],
        ceiling_ms=CEILING_MS["ns"],
        script=options.get("rw", ""),
        bytes_per_s=part.bytes_per_s or None,
        parameters=options,
    )


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


TEXT = Importer("fio output", _text)
JOBS = Importer("fio jobs", _job_file)
