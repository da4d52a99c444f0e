"""YCSB and go-ycsb: what they print: summary and status lines. See Client.java, StatusThread.java, and go-ycsb's
pkg/measurement.

One result for a run; its latencies are those of the operation that was done most often.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from acidtest.audit.importers import commands
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.importers.outputs import RESULTS, N, Output, Row, Run, numbers

FLOAT = r"(\d{1,18}(?:\.\d{1,20})?(?:E-?\d{1,3})?)"
THROUGHPUT, RUNTIME = "Throughput(ops/sec)", "RunTime(ms)"
# Not those of a histogram's buckets, whose names are numbers.
SUMMARY = rf"\[([A-Z][A-Z_-]{{1,40}}\], (?:[^,]{{0,60}}[^,\d]|Return=-?\d{{1,9}})), {FLOAT}\s*$"
STATUS = rf"(?:\S+ \S+ )?(\d{{1,9}}) sec: \d{{1,15}} operations; (?:{N} current ops/sec;)?"
GO = r"([A-Z_]{2,40}) +- (Takes\(s\): .{1,400})"
LATENCY = re.compile(r"(Average|Max|(\d{2}(?:\.\d{1,3})?)(?:th)?Percentile)Latency\((us|ms)\)|(Avg|Max|[\d.]+th)\(us\)")
SHORT = {"Average": "mean", "Avg": "mean", "Max": "max"}
READ_ONLY = frozenset(("READ", "SCAN"))
FINE = ("Return=OK", "Return=0", "Return=")
FIELDS = {"recordcount": "scale", "threadcount": "terminals", "target": "asked_rate"}
CUT_OFF = 0.75  # of the usual interval: a shorter last one is no whole one


def _by_operation(values: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    of: dict[str, dict[str, float]] = defaultdict(dict)
    for name, said in values.items():
        if name.startswith("_of "):
            operation, _, what = name[4:].partition("], ")
            of[operation][what] = float(said)
        elif name.startswith("_go "):
            of[name[4:]] = numbers(one.partition(": ")[::2] for one in said.split(", "))
            of[name[4:]]["Operations"] = of[name[4:]].get("Count", 0.0)
    return of


def _latencies(of: Mapping[str, float]) -> dict[str, float]:
    found = ((LATENCY.fullmatch(name), value) for name, value in of.items() if value > 0)
    return {
        SHORT.get(match[1] or match[4], f"p{(match[2] or match[4] or '').removesuffix('th')}"):
        value if match[3] == "ms" else value / 1000
        for match, value in found
        if match
    }  # fmt: skip


def _run(file: File, run: Run) -> Iterator[Mapping[str, Any]]:
    of = _by_operation(run.values)
    overall = of.pop("OVERALL", {})
    rate, runtime = overall.get(THROUGHPUT), overall.get(RUNTIME)
    done = {name: at for name, at in of.items() if at.get("Operations") and name not in ("CLEANUP", "TOTAL")}
    good = {name: at for name, at in done.items() if not name.endswith(("-FAILED", "_ERROR"))}
    failed = sum(at["Operations"] for name, at in done.items() if name not in good)
    refused = sum(
        count for at in of.values() for name, count in at.items() if name.startswith("Return=") and name not in FINE
    )
    last = next((at for name, at in reversed(of.items()) if "Takes(s)" in at), None)
    if last is not None:  # go-ycsb counts what failed apart; YCSB's throughput is of all operations
        total = of.get("TOTAL")
        rate = total.get("OPS", 0.0) if total else sum(at.get("OPS", 0.0) for at in good.values())
        runtime = 1000 * (total or last).get("Takes(s)", 0.0)
    most = max(good, key=lambda name: good[name]["Operations"], default="")
    told_of = sum(at["Operations"] for at in done.values())
    only_read = good.keys() <= READ_ONLY and bool(good) and told_of >= 0.00099 * (rate or 0.0) * (runtime or 0.0)
    series = run.series
    if len(series) > 2 and series[-1][0] - series[-2][0] < CUT_OFF * (series[1][0] - series[0][0]):
        series = series[:-1]  # which the end of the run cut off
    asked = {FIELDS.get(name[3:], name[3:]): value for name, value in run.values.items() if name.startswith("_= ")}
    if of or overall:
        yield {
            "rate": rate,
            "attempts": rate + 1000 * failed / runtime if last is not None and rate and runtime else None,
            "measured_s": runtime / 1000 if runtime else None,
            "errors": max(failed, refused) if of else None,
            "series": tuple(value for _, value in series),
            "interval_s": replace(run, series=series).interval_s,
            "unit": "reads" if only_read else "operations",
            "script": "load" if {re.sub("-FAILED|_ERROR", "", name) for name in done} == {"INSERT"} else "",
            "asked": asked | commands.ycsb(run.values.get("_command", "").split()),
            **_latencies(good.get(most, {})),
            **({"latency of": most} if most else {}),
        }


OUTPUT = Output(
    "ycsb",
    rf"{SUMMARY}|{GO}|{STATUS}",
    (
        Row("ahead", r"(?:.*Command line:|.*java .*\b(?:site\.ycsb|com\.yahoo\.ycsb)\.Client) (.+)", ("_command",)),
        Row("ahead", r'"([\w.]{1,60})"="([^"]{0,200})"\s*$', ("=_= ",)),
        Row("result", r"\[OVERALL\], RunTime\(ms\), (\S+)", ("_runtime",)),
        Row("result", rf"\[OVERALL\], Throughput\(ops/sec\), {FLOAT}", ("rate",)),
        Row("part", SUMMARY, ("=_of ",)),
        Row("interval", STATUS, ("at", "rate")),
        Row("part", GO, ("=_go ",)),
        Row("title", r"Run finished"),
    ),
    {"latency_from": "actual start"},
    _run,
    "YCSB's output that ends before its summary",
    results=RESULTS | {"mean", "max"},
)  # fmt: skip


OUTPUT_TEXT = Importer("YCSB output", OUTPUT.read)
