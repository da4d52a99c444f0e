"""What go-tpc and ``tiup bench tpcc`` print, in each of ``--output plain|table|json``. See tpcc/workload.go
(OutputStats, outputRtMeasurement) and pkg/measurement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from acidtest.audit.importers.file import File, Importer
from acidtest.audit.importers.outputs import N, Output, Row, Run, amount, numbers, picked
from acidtest.audit.importers.trees import load_json, rows

COLUMNS = ("Takes(s)", "Count", "TPM", "Sum(ms)", "Avg(ms)", "50th(ms)", "90th(ms)", "95th(ms)", "99th(ms)",
           "99.9th(ms)", "Max(ms)")  # fmt: skip
NAMES = {"mean": "Avg(ms)", "p50": "50th(ms)", "p95": "95th(ms)", "p99": "99th(ms)", "max": "Max(ms)"}
CEILING_MS = 16_000.0  # measurement.DefaultMaxLatency; its histogram has one significant figure
TPMC_PER_WAREHOUSE = 12.86  # specWarehouseFactor


def _operations(values: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """The figures of each operation in the summary, by its name; those that failed end in "_ERR"."""
    plain = {name[4:]: numbers(one.partition(": ")[::2] for one in text.split(", "))
             for name, text in values.items() if name.startswith("_of ")}  # fmt: skip
    table = {name[5:]: numbers(zip(COLUMNS, text.split("|"), strict=False))
             for name, text in values.items() if name.startswith("_row ")}  # fmt: skip
    objects = rows(load_json(values["_json"])) if "_json" in values else ()
    return plain | table | {str(one.get("Operation", "")): numbers(one.items()) for one in objects}


def _derived(file: File, run: Run) -> Iterator[Mapping[str, Any]]:
    operations = _operations(run.values)
    done = {name: of for name, of in operations.items() if not name.endswith("_ERR")}
    failed = sum(of.get("Count", 0.0) for name, of in operations.items() if name not in done)
    new_order = done.get("NEW_ORDER", {})
    nopm, efficiency = run.values.get("nopm", new_order.get("TPM")), run.get("_efficiency")
    warehouses = round(nopm / (TPMC_PER_WAREHOUSE * efficiency / 100)) if nopm and efficiency else None
    # New orders a minute, as they are printed in mid-run.
    course = [amount(one) for one in run.values.get("_current", "").split("@") if one]
    yield {
        "nopm": nopm,
        "tpm": run.values.get("tpm") or sum(of.get("TPM", 0.0) for of in done.values()) or None,
        "errors": int(failed) if done else None,
        "measured_s": new_order.get("Takes(s)"),
        "series": tuple(tpm / 60 for tpm in course),
        "interval_s": amount(run.values["_takes"].split(", ")[0]) if course else 10.0,
        "warehouses": warehouses,
        "scale": float(warehouses) if warehouses else None,
        "script": "TPC-C" if new_order else "",
        "written": f"tpmC: {nopm}" if "nopm" in run.values else "",
        **picked(new_order, NAMES),
    }


PHASE = r"\| *\[(?:Summary|Current)\] *\|"
COURSE = ("_takes+", "_current@")
TOTAL = ("nopm", "tpm", "_efficiency")
OUTPUT = Output(
    "go-tpc",
    rf"[\s>]*\[(?:Summary|Current)\] [A-Z_]{{1,30}} +- Takes\(s\)|{PHASE}|\[\{{\"Prefix\"",
    (
        Row("head", rf"[>\s]*\[Current\] NEW_ORDER +- Takes\(s\): {N}, Count: [\d.]+, TPM: {N}", COURSE),
        Row("head", rf"\| *\[Current\] *\| *NEW_ORDER *\| *{N} *\| *[\d.]+ *\| *{N} *\|", COURSE),
        Row("part", r"[>\s]*\[Summary\] ([A-Z_]{1,30}) +- (Takes\(s\): .+)", ("=_of ",)),
        Row("part", r"\| *\[Summary\] *\| *([A-Z_]{1,30}) *\|(.+)\|", ("=_row ",)),
        Row("part", r"(\[\{\"Prefix\": ?\"\[Summary\].*)", ("_json",)),
        Row("value", r"Finished: (\d{1,9}) OLTP workers", ("terminals",)),
        Row("result", rf"[>\s]*tpmC: {N}(?:, tpmTotal: {N})?, efficiency: {N}%", TOTAL),
        Row("result", rf"\| *{N} *\| *{N} *\| *{N}% *\|", TOTAL),
        Row("result", rf"\[\{{\"tpmC\": ?\"?{N}\"?, ?\"tpmTotal\": ?\"?{N}\"?, ?\"efficiency\": ?\"?{N}%", TOTAL),
        Row("end", r"[>\s]*tpmC: |\| *[\d.]+ *\| *[\d.]+ *\| *[\d.]+% *\||\[\{\"tpmC\""),
    ),
    {"latency_from": "actual start", "ceiling_ms": CEILING_MS},
    _derived,
    "go-tpc's output that ends before its summary",
    tpc_word="tpmC",
)  # fmt: skip
IMPORTER = Importer("go-tpc output", OUTPUT.read)
