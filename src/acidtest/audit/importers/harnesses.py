"""What harnesses of small benchmarks print: JMH, Google Benchmark, hyperfine, Criterion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acidtest.audit.bench import Published, Statement
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.importers.outputs import MS, RESULTS, N, Output, Row, Run, amount

BYTES_MAX = 4 << 20
UNIT = "(ns|us|μs|µs|ms|s|min)"
# "Insert.batch  100  thrpt    5  1234.567 ± 12.345  ops/s"
JMH_LINE = (
    r"(?:\[info\]\s+)?(\w[\w.$:·-]{1,120})((?:\s+\S{1,40}){0,6}?)\s+(?:thrpt|avgt|sample|ss)\s+(\d{1,6})\s+"
    rf"(\d[\d,]{{0,15}}(?:\.\d{{1,12}})?)\s+(?:±\s*\(?[\d.,]{{1,20}}%?\)?\s+)?(?:ops/{UNIT}|{UNIT}/op)\s*$"
)
GOOGLE_LINE = rf"(\S{{3,120}})\s+({N} {UNIT})\s+{N} (?:ns|us|ms|s)\s+(\d{{1,12}})(?:\s.{{0,200}})?$"
CRITERION_LINE = rf"(\S.{{0,120}}?)?\s{{0,80}}time:\s+\[[\d.]{{1,20}} {UNIT} ({N} {UNIT}) .{{1,40}}\]\s*$"
HINTS = (b"thrpt", b"avgt", b"Benchmark ", b"time:", b" sample ", b" ss ")
FIXED, TIMED = {"unit": "operations"}, RESULTS | {"mean"}


def _jmh(file: File, run: Run) -> Iterator[Mapping[str, Any]]:
    values = run.values
    value, name = amount(values["_value"].replace(",", "")), " ".join(f"{values['script']} {values['_of']}".split())
    if value and "_per" in values:
        yield {"name": name[:120], "rate": value * 1000 / MS[values["_per"]],
               "written": f"{values['_value']} ops/{values['_per']}"}  # fmt: skip
    elif value:
        unit = values["_each"]
        yield {"name": name[:120], "mean": value * MS[unit], "written": f"{values['_value']} {unit}/op"}


def _hyperfine(file: File, run: Run) -> Iterator[Mapping[str, Any]]:
    if "runs" in run.values:
        yield {"name": run.values.get("name", "")[:120], "written": f"{run.values['took_s']:g} s"}


OUTPUTS = (
    Output(
        "jmh", JMH_LINE, (Row("result", JMH_LINE, ("script", "_of", "runs", "_value", "_per", "_each")),), FIXED, _jmh,
        results=TIMED,
    ),
    Output(
        "google benchmark", GOOGLE_LINE,
        (Row("result", GOOGLE_LINE, ("name", "written", "mean", "mean of", "", "iterations")),), FIXED, results=TIMED,
    ),
    Output(
        "hyperfine", r"Benchmark (?:#?\d{1,4}): \S",
        (
            Row("once", r"Benchmark (?:#?\d{1,4}): (\S.{0,200})", ("name",)),
            Row("result", rf"Time \((?:mean|abs)[^)]{{0,20}}\):\s+{N} {UNIT}\b", ("took_s", "took_s of")),
            Row("value", r"Range \(.{1,40}\):.{1,200}?(\d{1,9}) runs\s*$", ("runs",)),
        ),
        derived=_hyperfine,
    ),
    Output(
        "criterion", CRITERION_LINE,
        (
            Row("once", r"(\w[^\[\]]{0,120})$", ("name",)),  # a long name has a line of its own
            Row("result", CRITERION_LINE, ("name", "", "written", "mean", "mean of")),
        ),
        FIXED, results=TIMED,
    ),
)  # fmt: skip


def _read(file: File) -> Sequence[Published | Statement] | None:
    if file.size > BYTES_MAX or b"\0" in file.head[:4096] or not any(hint in file.head for hint in HINTS):
        return None
    return [one for output in OUTPUTS for one in output.read(file) or ()] or None


IMPORTER = Importer("output of a harness", _read)
