"""What BenchBase (and OLTP-Bench before it) leaves in its results folder: ResultWriter.java. A sample's time is that of
``Worker.run``, from when the transaction began, also under a rate."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Any

from acidtest.audit.amounts import figures, number, whole
from acidtest.audit.bench import EngineName, Published
from acidtest.audit.importers import commands
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.numbers import SERIES_MAX, Latencies, PerSecond, load, table
from acidtest.families import PRODUCTS
from acidtest.words import counted

ENGINES: dict[str, EngineName] = {
    word.upper(): product.name for product in PRODUCTS.values() for word in (product.name, *product.words)
}
LATENCIES = (
    ("p50", "Median Latency (microseconds)"),
    ("p95", "95th Percentile Latency (microseconds)"),
    ("p99", "99th Percentile Latency (microseconds)"),
    ("max", "Maximum Latency (microseconds)"),
    ("mean", "Average Latency (microseconds)"),
)
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
RAW_HEAD = "Transaction Type Index,Transaction Name,"


def _summary(file: File) -> Sequence[Published] | None:
    if b'"Throughput (requests/second)"' not in file.head or file.head.lstrip()[:1] != b"{":
        return None
    summary = table(load(file))
    throughput, goodput = (number(summary.get(f"{name} (requests/second)")) for name in ("Throughput", "Goodput"))
    if throughput is None:
        raise Broken("is a summary of BenchBase without a throughput")
    elapsed = number(summary.get("Elapsed Time (nanoseconds)"))
    distribution = table(summary.get("Latency Distribution"))
    latency = {name: number(distribution.get(key)) for name, key in LATENCIES}
    kind = str(summary.get("Benchmark Type") or "")
    one = Published(
        file.at(_line(file, '"Throughput (requests/second)"')),
        "benchbase",
        f"{kind} {file.base}"[:200].strip(),
        rate=throughput if goodput is None else goodput,
        attempts=throughput,
        terminals=whole(summary.get("terminals")),
        measured_s=elapsed / 1e9 if elapsed else None,
        latency_ms={name: value / 1000 for name, value in figures(latency).items()},
        latency_from="actual start",
        engine=ENGINES.get(str(summary.get("DBMS Type", "")).upper()),
        warehouses=whole(summary.get("scalefactor")) if kind == TPCC else None,
        script=kind[:60],
        scale=number(summary.get("scalefactor")),
        isolation=str(summary.get("isolation") or "")[:60],
        written=f"{throughput} requests/second",
        parameters={"version": str(summary["DBMS Version"])[:80]} if summary.get("DBMS Version") else {},
    )
    beside = _beside(file, ".summary.json", ".config.xml")
    return [commands.filled(one, _asked(beside)) if beside is not None else one]


def _old_summary(file: File) -> Sequence[Published] | None:
    """``.summary`` of OLTP-Bench: when, product, version, benchmark, the latencies in seconds, the rate, and what was
    asked for, a line each."""
    lines = [line.strip() for line in file.first_lines[:SUMMARY_LINES_MAX]]
    at = next((n for n, line in enumerate(lines) if DISTRIBUTION.fullmatch(line)), None)
    if at is None or at < 1 or len(lines) < at + 2 or (rate := number(lines[at + 1])) is None:
        return None
    latency = {name: number(value) for name, value in PAIR.findall(lines[at])}
    named = {"p50": "median", "mean": "avg", "p95": "95th", "p99": "99th", "max": "max"}
    asked = dict(line.split("=", 1) for line in lines[at + 2 :] if "=" in line)
    one = Published(
        file.at(at + 2),
        "oltpbench",
        f"{lines[at - 1]} {file.base}"[:200],
        rate=rate,
        latency_ms={name: value * 1000 for name, key in named.items() if (value := latency.get(key))},
        latency_from="actual start",
        engine=ENGINES.get(lines[at - 3].upper()) if at > 2 else None,
        script=lines[at - 1][:60],
        terminals=whole(asked.get("terminals")),
        scale=number(asked.get("scalefactor")),
        isolation=asked.get("isolation", "")[:60],
        written=f"{lines[at + 1]} requests/second",
        parameters={"version": lines[at - 2][:80]} if at > 1 else {},
    )
    beside = _beside(file, ".summary", ".ben.cnf")
    return [commands.filled(one, _old_asked(beside)) if beside is not None else one]


def _old_asked(file: File) -> dict[str, str]:
    """Its samples ask for a rate of 10,000 where as fast as it goes is meant."""
    asked = _asked(file)
    return {name: value for name, value in asked.items() if (name, value) != ("asked_rate", "10000")}


def _old_parameters(file: File) -> Sequence[Published] | None:
    """``.ben.cnf`` of OLTP-Bench, which its results name as what was asked for."""
    if b"<configuration" not in file.head[:400] or b"<work" not in file.head:
        return None
    kind = ENGINE.search(file.text)
    one = Published(
        file.at(_line(file, "<configuration")), "oltpbench", file.base, planned=True,
        engine=ENGINES.get(kind[1].upper()) if kind else None,
    )  # fmt: skip
    asked = _old_asked(file)
    return [commands.filled(one, asked)] if "terminals" in asked else None


def _parameters(file: File) -> Sequence[Published] | None:
    """The configuration itself: what a run of it would do. Beside a summary it is read with that."""
    if b"<parameters" not in file.head:
        return None
    if b"<work" not in file.head or _beside(file, ".config.xml", ".summary.json") is not None:
        return [] if file.base.endswith(".config.xml") else None
    kind = ENGINE.search(file.text)
    one = Published(
        file.at(_line(file, "<parameters")), "benchbase", file.base, planned=True,
        engine=ENGINES.get(kind[1].upper()) if kind else None,
    )  # fmt: skip
    return [commands.filled(one, _asked(file))]


def _beside(file: File, end: str, other: str) -> File | None:
    """The file of the same run that ends otherwise."""
    base = file.path.name.removesuffix(end) + other
    return file.beside(base) if file.path.name.endswith(end) else None


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


def _line(file: File, word: str) -> int:
    return file.text.count("\n", 0, max(file.text.find(word), 0)) + 1


def _series(file: File) -> Sequence[Published] | None:
    """``results.csv`` and ``samples.csv``: an interval each line."""
    if not file.first_lines or not SERIES_HEAD.match(file.first_lines[0]):
        return None
    names = [name.strip() for name in file.first_lines[0].split(",")]
    column = next((n for n, name in enumerate(names) if name.lower().startswith("throughput")), 1)
    at: list[float] = []
    rates: list[float] = []
    for line, row in _rows(file):
        if len(row) < len(names) and row:
            raise Broken(f"has {len(row):,} of {counted(len(names), 'column')}", line)
        if row:
            time, rate = number(row[0]), number(row[column])
            if time is None or rate is None:
                raise Broken("holds a line without time and throughput", line)
            at.append(time)
            rates.append(rate)
            if len(rates) > SERIES_MAX:
                raise Broken(f"has more than {SERIES_MAX:,} intervals", line)
    interval = at[1] - at[0] if len(at) > 1 and at[1] > at[0] else 1.0
    # The last interval is seldom whole.
    return [Published(file.at(1), "benchbase", file.base, series=tuple(rates[:-1]), interval_s=interval)]


def _raw(file: File) -> Sequence[Published] | None:
    """``raw.csv``: a transaction each line, its time "microseconds" by name and seconds by nature."""
    if not file.first_lines or not file.first_lines[0].startswith(RAW_HEAD):
        return None
    latencies, seconds = Latencies(), PerSecond()
    for line, row in _rows(file):
        if not row:
            continue
        start, latency = (number(row[2]), number(row[3])) if len(row) > 3 else (None, None)
        if start is None or latency is None:
            raise Broken("holds a line without start and latency", line)
        latencies.add(latency / 1000)
        seconds.add(int(start + latency / 1e6))
    return [
        Published(
            file.at(1),
            "benchbase",
            file.base,
            measured_s=float(seconds.seconds) or None,
            latency_ms=latencies.as_ms(),
            latency_from="actual start",
            series=seconds.series(),
        )
    ]


def _rows(file: File) -> Iterator[tuple[int, list[Any]]]:
    """The lines after the head, in columns."""
    reader = csv.reader(line.replace("\0", "") for line in file.stream())
    try:
        next(reader, None)
        yield from ((reader.line_num, row) for row in reader)
    except csv.Error as error:
        raise Broken(f"is no table: {error}", reader.line_num) from None


SUMMARY = Importer("BenchBase summary", _summary)
SERIES = Importer("BenchBase results", _series)
OLD_SUMMARY = Importer("OLTP-Bench summary", _old_summary)
OLD_PARAMETERS = Importer("OLTP-Bench configuration", _old_parameters)
PARAMETERS = Importer("BenchBase configuration", _parameters)
RAW = Importer("BenchBase transactions", _raw)
