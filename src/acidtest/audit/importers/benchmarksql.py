"""BenchmarkSQL 4 to 6: its log, its files of properties, ``result.csv`` and ``runInfo.csv``, and the report that
generateReport.sh makes of them. See src/client/jTPCC.java and jTPCCResult.java."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from acidtest.audit.amounts import NUMBER, number
from acidtest.audit.bench import EngineName, Published, Statement
from acidtest.audit.importers import commands
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.numbers import Latencies, PerSecond
from acidtest.families import PRODUCTS

# "11:38:09,554 [Thread-7] INFO   jTPCC : Term-00, Measured tpmC (NewOrders) = 44511.25"; of 6: "… main, warehouses=10"
LINE = re.compile(r"(?:.{0,120}(?:jTPCC|OLTPClient)[\w:.]{0,40} ?[:-] +)?(?:Term-00|main|Vodka-DBHammer),? +(.{1,300})")
BARE = re.compile(r"\s{0,20}((?:Measured tpm|Transaction (?:Count|Error)|Session (?:Start|End)).{1,200})")
MEASURED = re.compile(rf"Measured (tpmC|tpmTOTAL|tpmE) ?(?:\((?:NewOrders|ErrorCount)\))? *= *{NUMBER}")
COUNTED = re.compile(r"Transaction (Count|Error|NewOrders) *= *(\d{1,15})")
ASKED = re.compile(r"(\w{2,40}) ?= ?(\S{1,200})")
SESSION = re.compile(r"Session (Start|End) *= *(\d{4}-\d\d-\d\d) (\d\d):(\d\d):(\d\d)")
PROPERTY = re.compile(r"\s*(\w{2,40})\s*=\s*(\S{0,200})\s*(?:#.*|//.*)?")
OWN = frozenset(
    ("warehouses", "terminals", "runmins", "runtxnsperterminal", "loadworkers", "neworderweight", "limittxnspermin")
)
FIELDS = {
    "warehouses": "warehouses", "terminals": "terminals", "limittxnspermin": "asked_rate", "sutthreads": "threads",
    "numsutthreads": "threads", "loadwarehouses": "warehouses", "isolation": "isolation",
}  # fmt: skip
SECRET = frozenset(("conn", "user", "password", "driver"))
RESULT_HEAD = "run,elapsed,latency,dblatency,ttype"
INFO_HEAD = "run,driver,driverversion,db,sessionstart"
OVERALL = re.compile(rf"Overall (tpmC|tpmTotal):(?:\s|<[^<>]{{1,60}}>){{1,30}}{NUMBER}")
BACKGROUND = "DELIVERY_BG"


@dataclass
class _Run:
    line: int
    asked: dict[str, str] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    at_s: dict[str, int] = field(default_factory=dict)

    def published(self, file: File) -> Published:
        tpm, nopm = self.rates.get("tpmTOTAL"), self.rates.get("tpmC")
        measured = (self.at_s["End"] - self.at_s["Start"]) % 86_400 if len(self.at_s) == 2 else None
        one = Published(
            file.at(self.line),
            "benchmarksql",
            file.base,
            rate=tpm / 60 if tpm else None,
            tpm=tpm,
            nopm=nopm,
            measured_s=float(measured) if measured else None,
            errors=self.counts.get("Error"),
            script="TPC-C",
            written=f"{nopm} tpmC (NewOrders)" if nopm is not None else "",
        )
        return _filled(one, self.asked)


def _filled(one: Published, properties: dict[str, str]) -> Published:
    low = {name.lower(): value for name, value in properties.items() if value}
    asked = {FIELDS.get(name, name): value for name, value in low.items() if name not in SECRET}
    if (minutes := number(low.get("runmins", ""))) is not None:
        asked["measured_s"] = str(minutes * 60)
    if (minutes := number(low.get("rampupmins", low.get("rampupsutmins", "")))) is not None:
        asked["warmup_s"] = str(minutes * 60)
    limit = number(asked.pop("asked_rate", ""))
    if limit:
        asked["asked_rate"] = str(limit / 60)
    asked["scale"] = asked.get("warehouses", "")
    filled = commands.filled(one, {name: value for name, value in asked.items() if value})
    return replace(filled, engine=one.engine or _engine(low.get("db", "") or low.get("conn", "")))


def _engine(text: str) -> EngineName | None:
    low = text.lower()
    return next((one.name for one in PRODUCTS.values() if any(word in low for word in (one.name, *one.words))), None)


def _log(file: File) -> Sequence[Published | Statement] | None:
    if not any("Term-00" in line or "Measured tpm" in line or "jTPCC" in line for line in file.first_lines):
        return None
    runs = [_Run(1)]
    begun = 0
    for at, line in enumerate(file.stream(), start=1):
        if "Term-00, Running Average" in line or not (match := LINE.match(line[:2_000]) or BARE.match(line)):
            begun = begun or (at if "Running Average tpmTOTAL" in line else 0)
            continue
        said = match[1]
        if found := MEASURED.match(said):
            if found[1] in runs[-1].rates:
                runs.append(_Run(at))
            runs[-1].line = at if found[1] == "tpmC" else runs[-1].line
            runs[-1].rates[found[1]] = float(found[2])
        elif found := COUNTED.match(said):
            runs[-1].counts[found[1]] = int(found[2])
        elif found := SESSION.match(said):
            hours, minutes, seconds = (int(found[n]) for n in (3, 4, 5))
            runs[-1].at_s[found[1]] = hours * 3600 + minutes * 60 + seconds
        elif found := ASKED.fullmatch(said):
            if runs[-1].rates and found[1] == "db":
                runs.append(_Run(at))
            runs[-1].asked[found[1]] = found[2]
    whole = [run for run in runs if run.rates]
    if not whole:
        if begun:
            raise Broken("is BenchmarkSQL's log that ends before its result", begun)
        return None
    words = [
        Statement(file.at(run.line), "tpc-word", f"tpmC: {run.rates['tpmC']:,.1f}", run.rates["tpmC"])
        for run in whole
        if "tpmC" in run.rates
    ]
    return [*(run.published(file) for run in whole), *words]


def _properties(file: File) -> Sequence[Published] | None:
    lines = file.first_lines
    if not any(line.lstrip().lower().startswith(("warehouses", "runmins")) for line in lines):
        return None
    found = [(at, match) for at, line in enumerate(lines, start=1) if (match := PROPERTY.fullmatch(line[:400]))]
    set_ = {match[1]: match[2] for _, match in found}
    if len(OWN & {name.lower() for name in set_}) < 3:
        return None
    one = Published(file.at(found[0][0]), "benchmarksql", file.base, planned=True, script="TPC-C")
    return [_filled(one, set_)]


def _result(file: File) -> Sequence[Published] | None:
    """A transaction each line: milliseconds since the start, and what it took."""
    if not file.first_lines or not file.first_lines[0].lower().startswith(RESULT_HEAD):
        return None
    columns = [name.strip().lower() for name in file.first_lines[0].split(",")]
    latencies, seconds = Latencies(), PerSecond()
    errors = done = orders = 0
    failed_at = columns.index("error") if "error" in columns else None
    for at, line in enumerate(file.stream(), start=1):
        cells = line.split(",")
        if at == 1 or not line:
            continue
        elapsed, latency = (number(cells[1]), number(cells[2])) if len(cells) > 4 else (None, None)
        if elapsed is None or latency is None:
            raise Broken("holds a line without elapsed time and latency", at)
        kind = cells[4].strip('" ')
        if failed_at is not None and len(cells) > failed_at and cells[failed_at].strip() not in ("0", ""):
            errors += 1
        elif kind != BACKGROUND:
            done += 1
            orders += kind == "NEW_ORDER"
            latencies.add(latency)
            seconds.add(int(elapsed / 1000))
    measured = float(seconds.seconds)
    rate = done / measured if measured else None
    return [
        Published(
            file.at(1),
            "benchmarksql",
            file.base,
            rate=rate,
            tpm=60 * rate if rate else None,
            nopm=60 * orders / measured if measured else None,
            measured_s=measured or None,
            latency_ms=latencies.as_ms(),
            errors=errors,
            series=seconds.series(),
            script="TPC-C",
        )
    ]


def _info(file: File) -> Sequence[Published] | None:
    if not file.first_lines or not file.first_lines[0].lower().startswith(INFO_HEAD):
        return None
    rows = list(csv.reader(line.replace("\0", "") for line in file.first_lines[:20]))
    found = [dict(zip(rows[0], row, strict=False)) for row in rows[1:] if row]
    one = Published(file.at(2), "benchmarksql", file.base, planned=True, script="TPC-C")
    return [_filled(one, {**of, "runWarehouses": "", "warehouses": of.get("runWarehouses", "")}) for of in found]


def _report(file: File) -> Sequence[Published] | None:
    if b"Overall tpm" not in file.head and (b"BenchmarkSQL" not in file.head or b"<html" not in file.head.lower()):
        return None
    rates = {match[1]: (float(match[2]), match.start()) for match in OVERALL.finditer(file.text)}
    if "tpmC" not in rates:
        return None
    tpm = rates.get("tpmTotal", (None, 0))[0]
    nopm, begin = rates["tpmC"]
    at = file.text.count("\n", 0, begin) + 1
    asked = {
        match[1]: match[2]
        for line in file.lines[:2_000]
        if (match := PROPERTY.fullmatch(line[:400])) and match[1].lower() in OWN | {"db", "rampupmins"}
    }
    one = Published(
        file.at(at),
        "benchmarksql",
        file.base,
        rate=tpm / 60 if tpm else None,
        tpm=tpm,
        nopm=nopm,
        script="TPC-C",
        written=f"Overall tpmC: {nopm}",
    )
    return [_filled(one, asked)]


LOG = Importer("BenchmarkSQL log", _log)
PROPERTIES = Importer("BenchmarkSQL properties", _properties)
RESULT = Importer("BenchmarkSQL transactions", _result)
INFO = Importer("BenchmarkSQL run", _info)
REPORT = Importer("BenchmarkSQL report", _report)
