"""BenchmarkSQL 4 to 6: its log, its files of properties, ``result.csv``, and the report that
generateReport.sh makes of them. See src/client/jTPCC.java and jTPCCResult.java."""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from acidtest.audit.amounts import NUMBER, number
from acidtest.audit.bench import EngineName, Published
from acidtest.audit.importers import commands, known, outputs
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.outputs import N, Output, Row, Run

# "11:38:09,554 [Thread-7] INFO   jTPCC : Term-00, Measured tpmC (NewOrders) = 44511.25"; of 6: "… main, warehouses=10"
LINE = r"(?:(?:.{0,120}(?:jTPCC|OLTPClient)[\w:.]{0,40} ?[:-] +)?(?:Term-00|main|Vodka-DBHammer),? +)"
MEASURED = r" ?(?:\((?:NewOrders|ErrorCount)\))? *= *"
OWN = frozenset(
    ("warehouses", "terminals", "runmins", "runtxnsperterminal", "loadworkers", "neworderweight", "limittxnspermin")
)
FIELDS = {"limittxnspermin": "asked_rate", "sutthreads": "threads", "numsutthreads": "threads",
          "loadwarehouses": "warehouses", "runwarehouses": "warehouses"}  # fmt: skip
SECRET = frozenset(("conn", "user", "password", "driver"))
RESULT_HEAD = "run,elapsed,latency,dblatency,ttype"
OVERALL = re.compile(rf"Overall (tpmC|tpmTotal):(?:\s|<[^<>]{{1,60}}>){{1,30}}{NUMBER}")
BACKGROUND = "delivery_bg"


def _asked(held: Mapping[str, str]) -> dict[str, str]:
    asked = {FIELDS.get(name, name): value for name, value in held.items() if value and name not in SECRET}
    minutes = {"measured_s": held.get("runmins"), "warmup_s": held.get("rampupmins", held.get("rampupsutmins"))}
    asked |= {name: str(of * 60) for name, value in minutes.items() if (of := number(value)) is not None}
    if "asked_rate" in asked:
        asked["asked_rate"] = str((number(asked["asked_rate"]) or 0.0) / 60)
    if not number(asked.get("asked_rate")):
        asked.pop("asked_rate", None)
    return asked | ({"scale": asked["warehouses"]} if "warehouses" in asked else {})


def _engine(held: Mapping[str, str]) -> EngineName | None:
    return known.product(held.get("db") or held.get("conn") or "")


def _logged(file: File, run: Run) -> Iterator[Mapping[str, Any]]:
    values = run.values
    asked = {name[3:].lower(): value for name, value in values.items() if name.startswith("_= ")}
    clock = [[int(of) for of in values[name].split(":")] for name in ("_begun", "_ended") if name in values]
    begun_ended = [hours * 3600 + minutes * 60 + seconds for hours, minutes, seconds in clock]
    measured = (begun_ended[1] - begun_ended[0]) % 86_400 if len(begun_ended) == 2 else 0
    yield {
        "measured_s": float(measured) or None,
        "engine": _engine(asked),
        "asked": _asked(asked),
        "written": f"{values['nopm']} tpmC (NewOrders)" if "nopm" in values else "",
    }


LOG = Output(
    "benchmarksql",
    r"Measured tpm|.*Term-00|.*jTPCC|.*Measured tpm",
    (
        Row("result", rf"{LINE}?Measured tpmC{MEASURED}{N}", ("nopm",)),
        Row("part", rf"{LINE}?Measured tpmTOTAL{MEASURED}{N}", ("tpm",)),
        Row("part", rf"{LINE}?Transaction Error *= *(\d{{1,15}})", ("errors",)),
        Row("part", rf"{LINE}?Session Start *= *\d{{4}}-\d\d-\d\d (\d\d:\d\d:\d\d)", ("_begun",)),
        Row("value", rf"{LINE}?Session End *= *\d{{4}}-\d\d-\d\d (\d\d:\d\d:\d\d)", ("_ended",)),
        Row("head", rf"{LINE}db ?= ?(\S{{1,200}})$", ("_db",)),
        Row("part", rf"{LINE}(\w{{2,40}}) ?= ?(\S{{1,200}})$", ("=_= ",)),
        Row("part", r".*Running Average tpmTOTAL"),
    ),
    {"script": "TPC-C"},
    _logged,
    "BenchmarkSQL's log that ends before its result",
    tpc_word="tpmC",
)  # fmt: skip


def _properties(file: File) -> Sequence[Published] | None:
    one = Published(
        file.at(1), "benchmarksql", "", script="TPC-C", engine=_engine(outputs.properties(file.first_lines))
    )
    return outputs.asked_by(file, OWN, 3, _asked, one)


def _result(file: File) -> Sequence[Published] | None:
    """A transaction each line: milliseconds since the start, and what it took."""
    if not file.first_lines or not file.first_lines[0].lower().startswith(RESULT_HEAD):
        return None
    seconds: Counter[int] = Counter()
    latencies = array("f")
    failed = orders = 0
    for at, row in outputs.cells(file):
        elapsed, latency = outputs.sampled(row, at, "elapsed", "latency")
        kind = row.get("ttype", "").strip().lower()
        if row.get("error", "").strip() not in ("0", ""):
            failed += 1
        elif kind != BACKGROUND:
            orders += kind == "new_order"
            seconds[int(elapsed / 1000)] += 1
            latencies.append(latency)
    if not seconds:
        return [Published(file.at(1), "benchmarksql", file.base, script="TPC-C", errors=failed)]
    begun, measured = min(seconds), max(seconds) - min(seconds) + 1
    if measured > outputs.SERIES_MAX:
        raise Broken(f"holds times that are {measured:,} s apart")
    rate = len(latencies) / measured
    in_order = sorted(latencies)
    at_share = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return [
        Published(
            file.at(1), "benchmarksql", file.base, script="TPC-C", errors=failed, rate=rate, tpm=60 * rate,
            nopm=60 * orders / measured, measured_s=float(measured),
            latency_ms={"mean": fmean(in_order)}
            | {name: in_order[math.ceil(share * len(in_order)) - 1] for name, share in at_share.items()},
            series=tuple(float(seconds[begun + n]) for n in range(1, measured - 1)),  # without those that are not whole
        )
    ]  # fmt: skip


def _report(file: File) -> Sequence[Published] | None:
    if b"Overall tpm" not in file.head and (b"BenchmarkSQL" not in file.head or b"<html" not in file.head.lower()):
        return None
    rates = {match[1]: float(match[2]) for match in OVERALL.finditer(file.text)}
    if "tpmC" not in rates:
        return None
    tpm, nopm = rates.get("tpmTotal"), rates["tpmC"]
    held = {
        name: of for name, of in outputs.properties(file.lines[:2_000]).items() if name in OWN | {"db", "rampupmins"}
    }
    one = Published(
        file.at(outputs.line_of(file, "Overall tpmC:")), "benchmarksql", file.base, tpm=tpm, nopm=nopm,
        rate=tpm / 60 if tpm else None, script="TPC-C", written=f"Overall tpmC: {nopm}", engine=_engine(held),
    )  # fmt: skip
    return [commands.filled(one, _asked(held))]


LOG_OUTPUT = Importer("BenchmarkSQL log", LOG.read)
PROPERTIES = Importer("BenchmarkSQL properties", _properties)
RESULT = Importer("BenchmarkSQL transactions", _result)
REPORT = Importer("BenchmarkSQL report", _report)
