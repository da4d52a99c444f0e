"""What BenchBase (and OLTP-Bench before it) leaves in its results folder: ResultWriter.java. A sample's time is that of
``Worker.run``, from when the transaction began, also under a rate."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidtest.audit.amounts import number, whole
from acidtest.audit.bench import Published
from acidtest.audit.importers import commands, known
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.outputs import SERIES_MAX, cells, line_of, picked, sampled
from acidtest.audit.importers.trees import load_json, table

LATENCIES = {
    name: f"{word} Latency (microseconds)"
    for name, word in (("p50", "Median"), ("p95", "95th Percentile"), ("p99", "99th Percentile"), ("max", "Maximum"),
                       ("mean", "Average"))
}  # fmt: skip
OLD_LATENCIES = {"p50": "median", "mean": "avg", "p95": "95th", "p99": "99th", "max": "max"}
CONFIGURATION_CHARACTERS_MAX = 1 << 20
TAGS = {
    "rate": "asked_rate", "warmup": "warmup_s", "time": "measured_s", "terminals": "terminals", "scalefactor": "scale",
    "isolation": "isolation", "newConnectionPerTxn": "reconnects", "weights": "weights", "batchsize": "batch size",
}  # fmt: skip
ENGINE = re.compile(r"<type>\s{0,40}(\w{1,40})\s{0,40}</type>")
SERIES_HEAD = re.compile(r"(?:Time \(seconds\)|time\(sec\)), ?(?:Requests, ?)?(?:Throughput|throughput)")
SUMMARY_LINES_MAX = 40
DISTRIBUTION = re.compile(r"\[min=[\d.]{1,20}, 25th=.{1,400}\]")
PAIR = re.compile(r"(\w{1,10})=([\d.]{1,20})")
TPCC = "tpcc"  # as BenchBase calls it


def _summary(file: File) -> Sequence[Published] | None:
    if b'"Throughput (requests/second)"' not in file.head or file.head.lstrip()[:1] != b"{":
        return None
    summary = table(load_json(file.text))
    throughput, goodput = (number(summary.get(f"{name} (requests/second)")) for name in ("Throughput", "Goodput"))
    if throughput is None:
        raise Broken("is a summary of BenchBase without a throughput")
    elapsed = number(summary.get("Elapsed Time (nanoseconds)"))
    kind = str(summary.get("Benchmark Type") or "")
    one = Published(
        file.at(line_of(file, '"Throughput (requests/second)"')), "benchbase", f"{kind} {file.base}"[:200].strip(),
        rate=throughput if goodput is None else goodput, attempts=throughput,
        terminals=whole(summary.get("terminals")), measured_s=elapsed / 1e9 if elapsed else None,
        latency_ms=picked(table(summary.get("Latency Distribution")), LATENCIES, per=1000),
        latency_from="actual start", engine=known.product(str(summary.get("DBMS Type", ""))),
        warehouses=whole(summary.get("scalefactor")) if kind == TPCC else None, script=kind[:60],
        scale=number(summary.get("scalefactor")), isolation=str(summary.get("isolation") or "")[:60],
        written=f"{throughput} requests/second",
        parameters={"version": str(summary["DBMS Version"])[:80]} if summary.get("DBMS Version") else {},
    )  # fmt: skip
    return [commands.filled(one, _beside(file, ".summary.json", ".config.xml"))]


def _old_summary(file: File) -> Sequence[Published] | None:
    """``.summary`` of OLTP-Bench: when, product, version, benchmark, the latencies in seconds, the rate, and what was
    asked for, a line each."""
    lines = [line.strip() for line in file.first_lines[:SUMMARY_LINES_MAX]]
    at = next((n for n, line in enumerate(lines) if DISTRIBUTION.fullmatch(line)), None)
    if at is None or at < 1 or len(lines) < at + 2 or (rate := number(lines[at + 1])) is None:
        return None
    asked = dict(line.split("=", 1) for line in lines[at + 2 :] if "=" in line)
    one = Published(
        file.at(at + 2), "oltpbench", f"{lines[at - 1]} {file.base}"[:200], rate=rate,
        latency_ms=picked(dict(PAIR.findall(lines[at])), OLD_LATENCIES, per=0.001), latency_from="actual start",
        engine=known.product(lines[at - 3]) if at > 2 else None, script=lines[at - 1][:60],
        terminals=whole(asked.get("terminals")), scale=number(asked.get("scalefactor")),
        isolation=asked.get("isolation", "")[:60], written=f"{lines[at + 1]} requests/second",
        parameters={"version": lines[at - 2][:80]} if at > 1 else {},
    )  # fmt: skip
    return [commands.filled(one, _old(_beside(file, ".summary", ".ben.cnf")))]


def _old(asked: dict[str, str]) -> dict[str, str]:
    """Its samples ask for a rate of 10,000 where as fast as it goes is meant."""
    return {name: value for name, value in asked.items() if (name, value) != ("asked_rate", "10000")}


def _parameters(file: File) -> Sequence[Published] | None:
    """The configuration itself: what a run of it would do. BenchBase's is read with the summary beside it."""
    ours = file.base.endswith(".config.xml")
    if b"<parameters" in file.head:
        tool, tag, asked = "benchbase", "<parameters", _asked(file)
        if b"<work" not in file.head or (ours and file.beside(f"{file.path.name[:-11]}.summary.json")):
            return [] if ours else None
    else:
        tool, tag, asked = "oltpbench", "<configuration", _old(_asked(file)) if b"<work" in file.head else {}
        if tag.encode() not in file.head[:400] or "terminals" not in asked:
            return None
    kind = ENGINE.search(file.text)
    engine = known.product(kind[1]) if kind else None
    one = Published(file.at(line_of(file, tag)), tool, file.base, planned=True, engine=engine)
    return [commands.filled(one, asked)]


def _beside(file: File, end: str, other: str) -> dict[str, str]:
    """What the configuration of the same run sets."""
    name = file.path.name
    beside = file.beside(name.removesuffix(end) + other) if name.endswith(end) else None
    return _asked(beside) if beside else {}


def _asked(file: File) -> dict[str, str]:
    """What a configuration sets, by the names of what was run."""
    asked: dict[str, str] = {}
    text = file.text[:CONFIGURATION_CHARACTERS_MAX]
    for tag, name in TAGS.items():
        values = re.findall(rf"<{tag}>\s{{0,40}}([^<>\s]{{1,80}})\s{{0,40}}</{tag}>", text)
        if len(values) == 1:  # of several phases it is not known which is meant
            asked[name] = values[0]
    if asked.get("asked_rate", "").lower() in ("unlimited", "disabled"):
        del asked["asked_rate"]
    if "reconnects" in asked:
        asked["reconnects"] = "yes" if asked["reconnects"].lower() == "true" else "no"
    return asked


def _series(file: File) -> Sequence[Published] | None:
    """``results.csv`` and ``samples.csv``: an interval each line."""
    if not file.first_lines or not SERIES_HEAD.match(file.first_lines[0]):
        return None
    points: list[list[float]] = []
    for line, row in cells(file):
        column = next((name for name in row if name.startswith("throughput")), "throughput")
        points.append(sampled(row, line, next(iter(row)), column))
        if len(points) > SERIES_MAX:
            raise Broken(f"has more than {SERIES_MAX:,} intervals", line)
    step = points[1][0] - points[0][0] if len(points) > 1 else 0.0
    # The last interval is seldom whole.
    series = tuple(rate for _, rate in points[:-1])
    return [Published(file.at(1), "benchbase", file.base, series=series, interval_s=step if step > 0 else 1.0)]


SUMMARY = Importer("BenchBase summary", _summary)
SERIES = Importer("BenchBase results", _series)
OLD_SUMMARY = Importer("OLTP-Bench summary", _old_summary)
PARAMETERS = Importer("BenchBase configuration", _parameters)
