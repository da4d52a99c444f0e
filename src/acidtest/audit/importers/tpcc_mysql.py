"""What tpcc-mysql's tpcc_start prints. See src/main.c (thread_main, alarm_handler) in both of its forms: latencies as
``trx: 12920, 95%: 9.483, …``, and before 2016 as ``686(0):2.044|3.593``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from acidtest.audit.amounts import NUMBER
from acidtest.audit.bench import Published, Statement
from acidtest.audit.importers.file import Broken, File, Importer

BEGIN = re.compile(r"###easy### TPC-C Load Generator")
PARAMETER = re.compile(r"\s*\\?\[(warehouse|connection|rampup|measure)\]: (\d{1,9})(?: \(sec\.\))?\s*")
INTERVAL = re.compile(
    rf"\s*(\d{{1,9}}), (?:trx: (\d{{1,9}}), 95%: {NUMBER}, 99%: {NUMBER}, max_rt: {NUMBER}|(\d{{1,9}})\(\d{{1,9}}\):)"
)
COUNTED = re.compile(r"\s*\\?\[([0-4])\] sc:(\d{1,12}) +lt:(\d{1,12}) +rt:(\d{1,12}) +fl:(\d{1,12})")
TOTAL = re.compile(rf"\s*{NUMBER} TpmC\s*")


@dataclass
class _Run:
    line: int
    asked: dict[str, int] = field(default_factory=dict)
    series: list[tuple[float, float]] = field(default_factory=list)
    percentiles: list[tuple[float, float, float]] = field(default_factory=list)
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)  # done, failed
    tpmc: float | None = None

    def published(self, file: File) -> Published:
        measured = self.asked.get("measure")
        done, failed = (sum(of[n] for of in self.counts.values()) for n in (0, 1))
        step = (self.series[0][0] if self.series else 0.0) or 10.0
        tpm = 60 * done / measured if done and measured else None
        longest = max((of[2] for of in self.percentiles), default=None)
        return Published(
            file.at(self.line),
            "tpcc-mysql",
            file.base,
            rate=tpm / 60 if tpm else None,
            tpm=tpm,
            nopm=self.tpmc,
            terminals=self.asked.get("connection"),
            measured_s=float(measured) if measured else None,
            warmup_s=float(self.asked["rampup"]) if "rampup" in self.asked else None,
            latency_ms={"max": longest} if longest else {},  # the percentiles are of 10 s each
            latency_from="actual start",
            errors=failed if self.counts else None,
            series=tuple(count / step for _, count in self.series),
            interval_s=step,
            warehouses=self.asked.get("warehouse"),
            script="TPC-C",
            scale=float(self.asked["warehouse"]) if "warehouse" in self.asked else None,
            written=f"{self.tpmc} TpmC" if self.tpmc is not None else "",
        )


def _read(file: File) -> Sequence[Published | Statement] | None:
    if not any(BEGIN.search(line) or "<TpmC>" in line for line in file.first_lines):
        return None
    runs: list[_Run] = []
    for at, line in enumerate(file.stream(), start=1):
        if BEGIN.search(line) or (not runs and "<Parameters>" in line):
            runs.append(_Run(at))
        if not runs:
            continue
        run = runs[-1]
        if match := PARAMETER.fullmatch(line):
            run.asked[match[1]] = int(match[2])
        elif match := INTERVAL.match(line):
            run.series.append((float(match[1]), float(match[2] or match[6])))
            if match[2]:
                run.percentiles.append((float(match[3]), float(match[4]), float(match[5])))
        elif match := COUNTED.match(line):
            run.counts[match[1]] = (int(match[2]) + int(match[3]), int(match[5]))
        elif match := TOTAL.fullmatch(line):
            run.tpmc, run.line = float(match[1]), at
    whole = [run for run in runs if run.tpmc is not None or run.series]
    if not whole:
        raise Broken("is tpcc-mysql's output that ends before its result", runs[-1].line if runs else None)
    parts: list[Published | Statement] = [run.published(file) for run in whole]
    parts += [Statement(file.at(run.line), "tpc-word", f"TpmC: {run.tpmc:,.1f}", run.tpmc) for run in whole if run.tpmc]
    return parts


IMPORTER = Importer("tpcc-mysql output", _read)
