"""Histograms: Prometheus' text format of exposition, and tools that say how many values theirs left out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from acidtest.audit.bench import Published, Statement
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

SERIES_MAX = 2_000
BYTES_MAX = 1 << 20
LINE_MAX = 4_000
NUMBER = r"[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,3})?"
SAMPLE = linear.compile(
    rf"\s*([a-zA-Z_:][\w:]{{0,200}})_(bucket|sum|count)(?:\{{([^}}]*)\}})?\s{{1,9}}({NUMBER}|NaN)"
    r"(?:\s{1,9}\d{1,16})?\s*$"
)
LIMIT = linear.compile(rf"(?:^|,)\s*le=\"({NUMBER}|\+Inf)\",?")
TIMED = {"seconds": 1e3, "milliseconds": 1.0, "ms": 1.0, "microseconds": 1e-3, "us": 1e-3, "duration": 1e3,
         "latency": 1e3}  # fmt: skip
WHAT = r"(?:values?|samples?|latenc(?:y|ies)|measurements?|recordings?)"
RANGE = r"(?:outside|out)(?: of)?(?: the)?(?: histogram(?:'s)?)?(?: \w{1,20})? range"
OUTSIDE = linear.compile(
    rf"(\d{{1,15}}) (?:\w{{1,20}} ){{0,3}}?{WHAT}(?: (?:were|was|are|is|lie|fell|dropped)){{0,3}} {RANGE}"
    rf"|{WHAT} {RANGE}\s*[:=]\s*(\d{{1,15}})",
    linear.I,
)


def _exposed(file: File) -> Sequence[Published] | None:
    if b"_bucket{" not in file.head:
        return None
    of: dict[tuple[str, str], dict[float, float]] = defaultdict(dict)
    sums: dict[tuple[str, str], float] = {}
    lines: dict[tuple[str, str], int] = {}
    for at, line in enumerate(file.stream(), start=1):
        if (match := SAMPLE.match(line[:LINE_MAX])) is None or len(of) > SERIES_MAX:
            continue
        labels = match[3] or ""
        limit = LIMIT.search(labels)
        key = match[1], LIMIT.sub("", labels).strip(", ")
        value = float(match[4]) if match[4] != "NaN" else 0.0
        if match[2] == "bucket" and limit:
            lines.setdefault(key, at)
            of[key][float(limit[1])] = value
        elif match[2] == "sum":
            sums[key] = value
    return [one for key in of if (one := _published(file, lines[key], key, of[key], sums.get(key)))] or None


def _published(
    file: File, at: int, key: tuple[str, str], buckets: dict[float, float], whole: float | None
) -> Published | None:
    """Of times only. A percentile lies between two limits; the upper one is told, for it is not below that."""
    name, labels = key
    scale = next((of for word in reversed(name.split("_")) if (of := TIMED.get(word))), None)
    count = max(buckets.values(), default=0.0)
    finite = sorted(limit for limit in buckets if limit != float("inf"))
    if scale is None or not count or not finite:
        return None
    latency = {"mean": scale * whole / count} if whole is not None else {}
    for short, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        latency[short] = scale * next((limit for limit in finite if buckets[limit] >= share * count), finite[-1])
    return Published(
        file.at(at), "prometheus", f"{name}{{{labels}}}" if labels else name, unit="requests", latency_ms=latency,
        latency_from="actual start", ceiling_ms=scale * finite[-1], parameters={"count": f"{count:.0f}"},
    )  # fmt: skip


def _outside(file: File) -> Sequence[Statement] | None:
    if file.size > BYTES_MAX or b"\0" in file.head or "range" not in file.text:
        return None
    found = [
        Statement(file.at(at), "out of range", " ".join(line.split())[:200], float(match[1] or match[2]))
        for at, line in enumerate(file.lines, start=1)
        if "range" in line and (match := OUTSIDE.search(line[:LINE_MAX])) and float(match[1] or match[2])
    ]
    return found or None


EXPOSED = Importer("Prometheus histograms", _exposed)
DROPPED = Importer("text", _outside, beside=True)
