"""What harnesses of small benchmarks print: JMH, Google Benchmark, hyperfine, Criterion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from acidtest.audit.amounts import number
from acidtest.audit.bench import Published
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 4 << 20
LINE_MAX = 400
RESULTS_MAX = 2_000
FIGURE = r"(\d[\d,]{0,15}(?:\.\d{1,12})?)"
# "Insert.batch  100  thrpt  5  1234.567 ± 12.345  ops/s"
JMH = linear.compile(
    rf"\s*(?:\[info\]\s+)?(\w[\w.$:·-]{{1,120}})((?:\s+\S{{1,40}}){{0,6}}?)\s+(thrpt|avgt|sample|ss)\s+(\d{{1,6}})\s+{FIGURE}\s+"
    rf"(?:±\s*\(?[\d.,]{{1,20}}%?\)?\s+)?(?:(ops)/(ns|us|μs|µs|ms|s|min)|(ns|us|μs|µs|ms|s|min)/op)\s*"
)
HYPERFINE = linear.compile(r"\s*Benchmark (?:#?\d{1,4}): (\S.{0,200})")
MEAN = linear.compile(r"\s*Time \((?:mean|abs)[^)]{0,20}\):\s+(\d[\d.]{0,15}) (ns|µs|μs|us|ms|s|min)\b.*")
RUNS = linear.compile(r"\s*Range \(.{1,40}\):.{1,200}?(\d{1,9}) runs\s*")
CRITERION = linear.compile(
    r"\s*(\S.{0,120}?)?\s{1,80}time:\s+\[[\d.]{1,20} (?:ns|µs|μs|us|ms|s) ([\d.]{1,20}) (ns|µs|μs|us|ms|s) .{1,40}\]\s*"
)
GOOGLE = linear.compile(
    r"(\S{3,120})\s+(\d[\d.]{0,15}) (ns|us|ms|s)\s+(\d[\d.]{0,15}) (?:ns|us|ms|s)\s+(\d{1,12})(?:\s.{0,200})?"
)
MS = {"ns": 1e-6, "us": 1e-3, "μs": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4}
MODES = ("thrpt", "avgt", "sample", "ss")
UNITS = (" ns", " us", " ms", " s")
HINTS = (b"thrpt", b"avgt", b"Benchmark ", b"time:", b" sample ", b" ss ")


def _read(file: File) -> Sequence[Published] | None:
    if file.size > BYTES_MAX or b"\0" in file.head[:4096] or not any(hint in file.head for hint in HINTS):
        return None
    return list(_results(file))[:RESULTS_MAX] or None


def _results(file: File) -> Iterator[Published]:
    command, before, mean = "", "", None
    for at, line in enumerate(file.lines, start=1):
        bare = line[:LINE_MAX]
        if any(mode in bare for mode in MODES) and (match := JMH.fullmatch(bare)):
            yield from _jmh(file, at, match)
        elif any(unit in bare for unit in UNITS) and (match := GOOGLE.fullmatch(bare)) and (value := number(match[2])):
            yield Published(
                file.at(at), "google benchmark", match[1], unit="operations",
                latency_ms={"mean": value * MS[match[3]]}, written=f"{match[2]} {match[3]}",
                parameters={"iterations": match[5]},
            )  # fmt: skip
        elif "Benchmark " in bare and (match := HYPERFINE.fullmatch(bare)):
            command = match[1].strip()
        elif command and (match := MEAN.fullmatch(bare)) and (value := number(match[1])) is not None:
            mean = (at, value * MS[match[2]])
        elif mean and (match := RUNS.fullmatch(bare)):
            yield Published(
                file.at(mean[0]), "hyperfine", command[:120], took_s=mean[1] / 1000, runs=int(match[1]),
                written=f"{mean[1] / 1000:g} s",
            )  # fmt: skip
            mean = None
        elif "time:" in bare and (match := CRITERION.fullmatch(bare)) and (value := number(match[2])) is not None:
            name = (match[1] or before).strip()
            yield Published(
                file.at(at), "criterion", name[:120], unit="operations", latency_ms={"mean": value * MS[match[3]]},
                written=f"{match[2]} {match[3]}",
            )  # fmt: skip
        before = bare


def _jmh(file: File, at: int, match: re.Match[str]) -> Iterator[Published]:
    name = " ".join(f"{match[1]} {match[2] or ''}".split())[:120]
    value = number(match[5].replace(",", ""))
    if not value:
        return
    one = Published(file.at(at), "jmh", name, unit="operations", runs=int(match[4]), script=match[1])
    if match[6]:
        rate = value * 1000 / MS[match[7]]
        yield replace(one, rate=rate, written=f"{match[5]} ops/{match[7]}")
    else:
        yield replace(one, latency_ms={"mean": value * MS[match[8]]}, written=f"{match[5]} {match[8]}/op")


IMPORTER = Importer("output of a harness", _read)
