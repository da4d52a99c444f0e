"""What go-tpc and ``tiup bench tpcc`` print, in each of ``--output plain|table|json``. See tpcc/workload.go
(OutputStats, outputRtMeasurement) and pkg/measurement."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from acidtest.audit.amounts import NUMBER, figures, number
from acidtest.audit.bench import Published, Statement
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.outputs import picked
from acidtest.audit.importers.trees import rows

PLAIN = re.compile(r"[\s>]*\[(Summary|Current)\] ([A-Z_]{1,30}) +- (Takes\(s\): .+)")
COLUMNS = ("Takes(s)", "Count", "TPM", "Sum(ms)", "Avg(ms)", "50th(ms)", "90th(ms)", "95th(ms)", "99th(ms)",
           "99.9th(ms)", "Max(ms)")  # fmt: skip
TABLE = re.compile(r"\s*\| *\[(Summary|Current)\] *\| *([A-Z_]{1,30}) *\|(.+)\|\s*")
TOTAL = re.compile(rf"[\s>]*tpmC: {NUMBER}(?:, tpmTotal: {NUMBER})?, efficiency: {NUMBER}%")
TOTAL_TABLE = re.compile(rf"\s*\| *{NUMBER} *\| *{NUMBER} *\| *{NUMBER}% *\|\s*")
TOTAL_HEAD = re.compile(r"\s*\| *TPMC *\| *TPMTOTAL *\|", re.IGNORECASE)
WORKERS = re.compile(r"\s*Finished: (\d{1,9}) OLTP workers")
NAMES = {"mean": "Avg(ms)", "p50": "50th(ms)", "p95": "95th(ms)", "p99": "99th(ms)", "max": "Max(ms)"}
CEILING_MS = 16_000.0  # measurement.DefaultMaxLatency; its histogram has one significant figure
TPMC_PER_WAREHOUSE = 12.86  # specWarehouseFactor


@dataclass
class _Run:
    line: int = 0
    summary: dict[str, dict[str, float]] = field(default_factory=dict)
    current: list[float] = field(default_factory=list)  # new orders a minute
    total: tuple[float, float | None, float] | None = None
    takes_s: float = 10.0
    workers: int | None = None


def _read(file: File) -> Sequence[Published | Statement] | None:
    phases = [line for line in file.first_lines if "[Summary]" in line or "[Current]" in line]
    if not any("Takes(s)" in line or TABLE.fullmatch(line) for line in phases):
        return None
    runs = [_Run()]
    in_total = False
    for number_, line in enumerate(file.stream(), start=1):
        run = runs[-1]
        for phase, operation, values in _measured(line):
            if phase == "Current" and run.summary:
                run = _Run()
                runs.append(run)
            if phase == "Summary":
                run.line = run.line or number_
                run.summary[operation] = values
            elif operation == "NEW_ORDER" and "TPM" in values:
                run.current.append(values["TPM"] / 60)
                run.takes_s = values.get("Takes(s)") or run.takes_s
        if total := TOTAL.match(line) or (TOTAL_TABLE.fullmatch(line) if in_total else None):
            run.total, run.line = (float(total[1]), number(total[2]), float(total[3])), number_
        elif line.startswith("[{") and '"tpmC"' in line:
            run.total, run.line = _json_total(line, number_), number_
        elif match := WORKERS.match(line):
            run.workers = int(match[1])
        in_total = TOTAL_HEAD.match(line) is not None or (in_total and line.startswith(("+", "|")))
    whole = [run for run in runs if run.summary]
    if not whole and not runs[-1].current:
        raise Broken("is go-tpc's output without a figure")
    words = ((run.line, run.total[0]) for run in whole if run.total)
    return [
        *(_published(run, file) for run in whole or runs),
        *(Statement(file.at(at), "tpc-word", f"tpmC: {tpmc:,.1f}", tpmc) for at, tpmc in words),
    ]


def _measured(line: str) -> list[tuple[str, str, dict[str, float]]]:
    """What one line says: the phase, the operation, and its figures. A line of JSON says it of all operations."""
    if match := PLAIN.fullmatch(line):
        pairs = (one.partition(": ") for one in match[3].split(", "))
        return [(match[1], match[2], figures({name.strip(): number(value) for name, _, value in pairs}))]
    if match := TABLE.fullmatch(line):
        columns = zip(COLUMNS, match[3].split("|"), strict=False)
        return [(match[1], match[2], figures({name: number(value) for name, value in columns}))]
    if line.startswith("[{") and '"Prefix"' in line:
        return [
            (str(of.get("Prefix", "")).strip(" []"), str(of.get("Operation", "")), picked(of, {n: n for n in COLUMNS}))
            for of in _objects(line)
        ]
    return []


def _objects(line: str) -> list[dict[str, Any]]:
    try:
        return rows(json.loads(line))
    except (ValueError, RecursionError):
        return []


def _json_total(line: str, at: int) -> tuple[float, float | None, float] | None:
    of = next(iter(_objects(line)), None)
    if of is None:
        raise Broken("holds a total of go-tpc that is no JSON", at)
    new_orders, efficiency = number(of.get("tpmC")), number(str(of.get("efficiency", "")).rstrip("%"))
    return None if new_orders is None else (new_orders, number(of.get("tpmTotal")), efficiency or 0.0)


def _published(run: _Run, file: File) -> Published:
    new_order = run.summary.get("NEW_ORDER", {})
    good = {name: values for name, values in run.summary.items() if not name.endswith("_ERR")}
    failed = [values.get("Count", 0.0) for name, values in run.summary.items() if name.endswith("_ERR")]
    tpm = (run.total[1] if run.total else None) or sum(values.get("TPM", 0.0) for values in good.values())
    nopm = run.total[0] if run.total else new_order.get("TPM")
    efficiency = run.total[2] if run.total else 0.0
    warehouses = round(nopm / (TPMC_PER_WAREHOUSE * efficiency / 100)) if nopm and efficiency else None
    return Published(
        file.at(run.line or 1), "go-tpc", file.base, rate=tpm / 60 if good else None, tpm=tpm if good else None,
        nopm=nopm, terminals=run.workers, measured_s=new_order.get("Takes(s)"), latency_ms=picked(new_order, NAMES),
        latency_from="actual start", errors=int(sum(failed)) if good else None, series=tuple(run.current),
        interval_s=run.takes_s, ceiling_ms=CEILING_MS, warehouses=warehouses, script="TPC-C" if new_order else "",
        scale=float(warehouses) if warehouses else None, written=f"tpmC: {nopm}" if run.total else "",
    )  # fmt: skip


IMPORTER = Importer("go-tpc output", _read)
