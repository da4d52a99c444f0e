"""What the testers of drives print: dd, pg_test_fsync, CrystalDiskMark, and fio for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from statistics import fmean, median
from typing import Any

from acidtest.audit.amounts import number
from acidtest.audit.bench import Published, Statement
from acidtest.audit.importers import commands
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.importers.fio import CEILING_MS
from acidtest.audit.importers.outputs import POWER, SERIES_MAX, N, Output, Row, Run
from acidtest.formats import linear

SIZE = r"(?:[kKMGT]i?)?"
COPIED = r"\W{0,20}"


def _dd(file: File, run: Run) -> Iterator[Mapping[str, Any]]:
    """Without its command line it is not known what was read or written. With ``oflag=sync`` or ``dsync`` each block
    waits for the drive, so that blocks a second and the time of one follow."""
    values = run.values
    asked = commands.dd(values["_command"].split()) if "_command" in values else {}
    reads = asked.get("of", "").startswith("/dev/null")
    size, took = run.get("bytes") or 0.0, values["measured_s"]
    flushed = not reads and not {"dsync", "sync"}.isdisjoint(asked.get("oflag", "").split(","))
    blocks = (run.get("_blocks") or 0.0) if flushed else 0.0
    yield asked | {
        "name": f"dd {asked.get('if', '')} to {asked.get('of', '')}" if asked else "dd of a file",
        "unit": "reads" if reads else "writes",
        "measured_s": took or None,
        "bytes_per_s": size / took if took else None,
        "flushed": flushed,
        "rate": blocks / took if took and blocks else None,
        "mean": 1000 * took / blocks if blocks else 0.0,
        "written": values.get("written") or f"{values['bytes']} bytes in {took} secs",
    }


# GNU's and BusyBox's, in whatever language, and BSD's.
DD = Output(
    "dd",
    rf"{COPIED}\d{{1,18}} \w{{4,8}}(?: \([^()]{{1,40}}\))? \S{{4,20}}, {N} \w{{1,8}}, {N} ?{SIZE}[Bo]/s"
    r"|\W{0,20}\d{1,18} bytes transferred in",
    (
        Row("once", r"(?:.*[\s$#>`])?dd(\s+(?:if|of|bs)=.{1,400})", ("_command",)),
        Row("once", r"\W{0,20}(\d{1,15})\+\d{1,9} \S", ("_blocks",)),  # the second such line is of what was written
        Row("result",
            rf"{COPIED}(\d{{1,18}}) \w{{4,8}}(?: \([^()]{{1,40}}\))? \S{{4,20}}, {N} \w{{1,8}}, ({N} ?{SIZE}[Bo]/s)",
            ("bytes", "measured_s", "written")),
        Row("result", r"\W{0,20}(\d{1,18}) bytes transferred in (\d{1,9}\.\d{1,9}) secs", ("bytes", "measured_s")),
    ),
    {"terminals": 1},
    _dd,
)  # fmt: skip


def _fsync(file: File, run: Run) -> Iterator[Mapping[str, Any]]:
    section, rate = run.values.get("_section", ""), run.values["rate"]
    unflushed = section.lower().startswith("non-sync")
    yield {
        "name": f"{run.values['name']} ({section})" if section else run.values["name"],
        "mean": 1000 / rate if rate else 0.0,
        "unit": "writes" if unflushed else "flushes",
        "flushed": not unflushed,
    }


# src/bin/pg_test_fsync/pg_test_fsync.c (LABEL_FORMAT, OPS_FORMAT)
SECTION = r"(?:Compare|Test if|Non-[sS]ync)"
FSYNC = Output(
    "pg_test_fsync",
    SECTION + r".{0,80}:?\s*$",
    (
        Row("ahead", rf"({SECTION}.*?):?\s*$", ("_section",)),
        Row("result", rf"(\S.{{0,60}}?) {{1,80}}{N} ops/sec(?: {{1,80}}{N} usecs/op)?\s*$", ("name", "rate")),
    ),
    {"terminals": 1},
    _fsync,
    "pg_test_fsync's output without a figure",
)


def _crystal(file: File, run: Run) -> Iterator[Mapping[str, Any]]:
    values = run.values
    unit = {"Read": "reads"}.get(values.get("_direction", "Read"), "writes")
    size, depth, threads = values.get("_size") or "", run.get("_depth") or 1, run.get("_threads") or 1
    label = f" Q{values['_depth']}T{values['_threads']}" if "_old" not in values else ""
    yield {
        "name": f"{values['script']} {size}{label} {unit}".replace("  ", " "),
        "unit": unit,
        "terminals": depth * threads,
        "written": f"{values['bytes_per_s'] / 1e6} MB/s",
    }


DEPTH = r"\(Q= *(\d{1,4}), ?T= *(\d{1,4})\)"
IOPS = rf"{N} (M)B/s(?: \[ *{N} IOPS\])?"
CRYSTAL = Output(
    "crystaldiskmark",
    r"\W{0,6}CrystalDiskMark \d",
    (
        Row("ahead", r"[\s>]{0,8}\[(Read|Write|Mix)\]", ("_direction",)),
        # "  SEQ    1MiB (Q=  8, T= 1):  7427.749 MB/s [   7083.7 IOPS] <   987.81 us>"
        Row("result", rf"[\s>]{{0,8}}(SEQ|RND|Sequential|Random) +([\d.]{{1,9}} ?[KMG]i?B)? ?{DEPTH} ?: +{IOPS}"
            rf"(?: < *{N} (us)>)?",
            ("script", "_size", "_depth", "_threads", "bytes_per_s", "bytes_per_s of", "rate", "mean", "mean of")),
        # 3 to 6: "   Random Read 4KB (QD=32) :   389.201 MB/s [ 95019.8 IOPS]"
        Row("result", r"[\s>]{0,40}((Sequential|Random)) (Read|Write) ?(\d{1,9} ?[KMG]i?B)? ?"
            rf"(?:\(QD? ?= *(\d{{1,4}})(?:, ?T= *(\d{{1,4}}))?\))? ?: +{IOPS}",
            ("_old", "script", "_direction", "_size", "_depth", "_threads", "bytes_per_s", "bytes_per_s of", "rate")),
    ),
    derived=_crystal,
    broken="CrystalDiskMark's text without a figure",
)  # fmt: skip
OF_TEST = Row("ahead", r"[\s>]{0,8}Test ?: *([\d.]{1,12}) ?([KMGT]i?)B.{0,40}?\(x ?(\d{1,3})\)")


def _crystal_text(file: File) -> Sequence[Published | Statement] | None:
    """With how large a file it tested and how often, which stands at the end: it reports the best of its runs."""
    parts = CRYSTAL.read(file)
    if not parts:
        return parts
    tests = [(at, match) for at, line in enumerate(file.lines, start=1) if (match := OF_TEST.pattern.match(line))]
    for at, match in tests:
        told = {"bytes": str(int(float(match[1]) * POWER[match[2]])), "runs": match[3]}
        parts = [replace(part, parameters=told) if isinstance(part, Published) else part for part in parts]
        if int(match[3]) > 1:
            best = f"the best of {match[3]} runs, as CrystalDiskMark reports it"
            parts.append(Statement(file.at(at), "best-of", best))
    return parts


def _fio(file: File, run: Run) -> Iterator[Mapping[str, Any]]:
    values = run.values
    job, direction = values.get("_job", ""), values["_direction"].lower()
    of_job = values.get(f"_asked {job}", "")
    options = dict(one.strip().split("=", 1) for one in of_job.split(", ") if "=" in one and not one.endswith("="))
    common = {"unit": "reads" if direction == "read" else "writes"}
    if "rate" not in values:  # of an excerpt with nothing but the lines of all jobs
        yield common | {"name": direction}
    elif values["rate"]:
        yield common | {
            "name": f"{job} {direction}",
            "bytes_per_s": values.get("bytes_per_s") or None,
            "terminals": int(number(options.get("iodepth", "")) or 1) * int(values.get(f"_jobs {job}", 1)),
            "latency_from": "actual start",
            "ceiling_ms": CEILING_MS["ns"],
            "script": options.get("rw", ""),
            **{f":{name}": value for name, value in options.items()},
        }


JOB = r"(\S.{0,80}?): \(groupid=\d{1,6}, jobs=(\d{1,9})\): err= ?\d{1,6}"
ASKED = r"(\S.{0,80}?): \(g=\d{1,6}\): (rw=\S.{0,400})"  # "w: (g=0): rw=randwrite, bs=(R) 4096B-4096B, …"
# of 3: "  write: IOPS=12.3k, BW=48.0MiB/s (50.3MB/s)(2880MiB/60001msec)"
# of 2: "  write: io=2880.0MB, bw=49152KB/s, iops=12288, runt= 60001msec", whose KB has 1,024 bytes
RATE = rf"(read|write|trim) ?: IOPS={N}([kMG]?), BW={N}({SIZE})B/s.{{0,80}}?/(\d{{1,12}})(msec)"
RATE_2 = (
    rf"(read|write|trim) ?: io=[\d.]{{1,20}}[KMGT]?i?B, bw={N}([KMGT]?)i?B/s, iops={N}([kM]?), runt= *(\d{{1,12}})"
    "(msec)"
)
# "   READ: bw=48.0MiB/s (50.3MB/s), …, io=2880MiB (3020MB), run=60001-60001msec": of all jobs together
ALL = rf"(READ|WRITE): (bw={N}({SIZE})B/s) .{{0,200}}?run=(\d{{1,12}})-\d{{1,12}}(msec)"
TIMES = rf"\((nsec|usec|msec)\): ?min= *[\d.]{{1,20}}[kMG]?, max= *{N}([kMG]?), avg= *{N}([kMG]?)"
TIME_NAMES = ("* of", "max", "max of", "mean", "mean of")
# stat.c (show_ddir_status, show_lat), from 2.0 on; the manual, "Interpreting the output".
FIO = Output(
    "fio",
    f"{JOB}|{ASKED}|{RATE}|{RATE_2}|{ALL}",
    (
        Row("ahead", ASKED, ("=_asked ",)),
        Row("ahead", JOB, ("=_jobs ",)),
        Row("ahead", JOB, ("_job",)),
        Row("result", RATE, ("_direction", "rate", "rate of", "bytes_per_s", "bytes_per_s of", "measured_s",
                             "measured_s of")),
        Row("result", RATE_2, ("_direction", "bytes_per_s", "bytes_per_s of", "rate", "rate of", "measured_s",
                               "measured_s of"), binary=True),
        Row("value", f"clat {TIMES}", TIME_NAMES),
        Row("value", f"lat {TIMES}", TIME_NAMES, first=True),
        Row("value", r"(?:clat|lat) percentiles \((nsec|usec|msec)\):", ("_unit",)),
        Row("value", r"\|", each=rf"(?:^|[\s|,])((?:50|90|95|99)(?:\.0{{1,6}})?|99\.90{{0,5}})th=\[ *{N}\]"),
        Row("end", "fsync/fdatasync/sync_file_range:"),  # what follows is of flushes
    ),
    derived=_fio,
)  # fmt: skip
FIO_ALL = Output(
    "fio",
    ALL,
    (Row("result", ALL, ("_direction", "written", "bytes_per_s", "bytes_per_s of", "measured_s", "measured_s of")),),
    derived=_fio,
)


def _fio_text(file: File) -> Sequence[Published | Statement] | None:
    return None if b'"fio version"' in file.head else FIO.read(file) or FIO_ALL.read(file) or None


# "[pid 27356] 04:38:57 fsync(9) = 0 <0.024066>", and "fsync(9)<unfinished ...>" of calls that were interleaved.
FLUSH = (
    r"(?:\[pid +\d{1,9}\] +|\d{1,9} +)?(?:\d\d:\d\d:\d\d(?:\.\d{1,9})? +|\d{9,11}\.\d{1,9} +)?"
    r"(?:<\.\.\. )?(fsync|fdatasync|sync_file_range|msync)\b.{0,200}?\)? *= 0 <(\d{1,9}\.\d{1,9})>"
)
FLUSH_LINE = linear.compile(rf"\s*{FLUSH}")


def _strace(file: File) -> Sequence[Published] | None:
    """``strace -T``: how long each flush took, of all processes together."""
    if not any(map(FLUSH_LINE.match, file.first_lines)):
        return None
    found = ((at, match) for at, line in enumerate(file.stream(), start=1) if (match := FLUSH_LINE.match(line[:400])))
    took_ms: dict[str, list[float]] = {}
    begun = 0
    for at, match in islice(found, SERIES_MAX):
        begun = begun or at
        took_ms.setdefault(match[1], []).append(1000 * float(match[2]))
    return [
        Published(
            file.at(begun), "strace", call, rate=1000 / fmean(of) if any(of) else None, terminals=1, unit="flushes",
            flushed=True, parameters={"calls": str(len(of))},
            latency_ms={"mean": fmean(of), "p50": median(of), "max": max(of)},
        )
        for call, of in took_ms.items()
    ]  # fmt: skip


STRACE = Importer("strace of flushes", _strace)
DD_OUTPUT = Importer("dd output", DD.read, together=True)
FSYNC_OUTPUT = Importer("pg_test_fsync output", FSYNC.read, together=True)
CRYSTAL_OUTPUT = Importer("CrystalDiskMark text", _crystal_text, together=True)
FIO_OUTPUT = Importer("fio output", _fio_text, together=True)
