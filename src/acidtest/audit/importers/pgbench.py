"""What pgbench prints and logs, from PostgreSQL 9.4 on. See its manual, and ``printResults``, ``printProgressReport``
and ``doLog`` in src/bin/pgbench/pgbench.c."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from acidtest.audit.amounts import NUMBER, figures
from acidtest.audit.bench import Published
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.numbers import Latencies, PerSecond
from acidtest.audit.importers.tables import PROSE

BEGIN = re.compile(r"\s*transaction type: (.+)")
PROGRESS = re.compile(rf"\s*progress: {NUMBER} s, {NUMBER} tps, lat \S{{1,20}} ms stddev [\w.+-]{{1,20}}(.*)")
# Where somebody quotes it from: "tps = 612.3 (without initial connection time)".
EXCERPT = re.compile(rf"\s*tps = {NUMBER} \((?:without|with|including|excluding) \w")
RUNS_MAX = 10_000
TPS = re.compile(rf"\s*tps = {NUMBER}(.*)")
SCRIPT = re.compile(r"\s*SQL script (\d{1,4}): (.{1,200})")
WEIGHT = re.compile(r"\s*- weight: (\d{1,9})")
QUERY_MODE = re.compile(r"\s*query mode: (\w{1,20})")
LOADED = re.compile(
    r"(?:\d{1,12} of \d{1,12} tuples \(\d{1,3}%\)(?: of pgbench_\w{1,20})? done|done in \d{1,9}\.\d\d s \()"
)
# What else it says of a run, as it is written.
TOLD = re.compile(
    r"\s*(scaling factor|partition method|partitions|maximum number of tries|number of transactions per client"
    r"|number of transactions above the \S{1,12} ms latency limit|latency stddev|average connection time"
    r"|initial connection time|number of serialization failures|number of deadlock failures"
    r"|number of transactions retried)(?:: | = )(\S.{0,80})"
)
FIGURES = {
    "clients": re.compile(rf"\s*number of clients: {NUMBER}"),
    "threads": re.compile(rf"\s*number of threads: {NUMBER}"),
    "duration_s": re.compile(rf"\s*duration: {NUMBER} s"),
    "processed": re.compile(rf"\s*number of transactions actually processed: {NUMBER}"),
    "failed": re.compile(rf"\s*number of failed transactions: {NUMBER}"),
    "skipped": re.compile(rf"\s*number of transactions skipped: {NUMBER}"),
    "retries": re.compile(rf"\s*total number of retries: {NUMBER}"),
    "mean": re.compile(rf"\s*latency average(?: =|:) {NUMBER} ms"),
    "lag": re.compile(rf"\s*rate limit schedule lag: avg {NUMBER} "),
}


BEFORE = re.compile(r"\s*(?:scaling factor|query mode|number of|duration|latency average)\b")  # a rate


@dataclass
class _Run:
    """One call of pgbench, while it is read."""

    line: int = 0
    script: str = ""
    values: dict[str, float] = field(default_factory=dict)
    progress: list[tuple[float, float]] = field(default_factory=list)  # when, and its rate
    query_mode: str = ""
    told: dict[str, str] = field(default_factory=dict)
    scripts: list[str] = field(default_factory=list)  # with their weights
    quoted: bool = False  # without its first lines
    including: bool = False  # whether the last rate is that with the connections

    def published(self, file: File) -> Published:
        values = self.values
        rate, processed, failed = values.get("tps"), values.get("processed"), values.get("failed", 0.0)
        # From 15 on the rate is without those that failed.
        attempts = rate * (processed + failed) / processed if rate is not None and processed else None
        ends = [at for at, _ in self.progress]
        told = dict(self.told)
        scale = told.pop("scaling factor", "").split(" ")[0]
        # From 14 on only -C has an average of many; before, both ways print the same.
        reconnects = True if "average connection time" in told else False if "initial connection time" in told else None
        if self.scripts:
            told["scripts"] = ", ".join(self.scripts)
        return Published(
            file.at(self.line),
            "pgbench",
            self.script or file.base,
            rate=rate,
            attempts=attempts,
            terminals=_whole(values.get("clients")),
            threads=_whole(values.get("threads")),
            measured_s=values.get("duration_s") or (processed / rate if rate and processed else None),
            latency_ms=figures({"mean": values.get("mean")}),
            # Under --rate the time that a transaction is late counts as its own.
            latency_from="scheduled start" if "lag" in values else "actual start",
            errors=_whole(values.get("failed")),
            skipped=_whole(values.get("skipped")),
            retries=_whole(values.get("retries")),
            series=tuple(one for _, one in self.progress),
            interval_s=(ends[-1] - ends[0]) / (len(ends) - 1) if len(ends) > 1 and ends[-1] > ends[0] else 1.0,
            unit="reads" if "select only" in self.script.lower() else "transactions",
            engine="postgresql",
            script=self.script,
            scale=float(scale) if scale.isdigit() else None,
            query_mode=self.query_mode,
            reconnects=reconnects,
            written=f"tps = {rate}" if rate is not None else "",
            parameters=told,
        )


def _summary(file: File) -> Sequence[Published] | None:
    if not any(BEGIN.match(line) or PROGRESS.match(line) or EXCERPT.match(line) for line in file.first_lines):
        return None
    runs: list[_Run] = []
    run = _Run()
    for number, line in enumerate(file.stream(), start=1):
        if match := PROGRESS.match(line):
            if "tps" in run.values or (run.progress and float(match[1]) <= run.progress[-1][0]):
                run = _Run()
            if not run.line:
                run.line = number
                runs.append(run)
            run.progress.append((float(match[1]), float(match[2])))
            if ", lag " in match[3]:
                run.values["lag"] = 0.0
        elif match := BEGIN.match(line):
            if run.script or "tps" in run.values:
                run = _Run()
            if not run.line:
                if len(runs) == RUNS_MAX:
                    file.left_out(f"holds more runs than are read of one file; the first {RUNS_MAX:,} count", number)
                    break
                runs.append(run)
            run.line, run.script = number, match[1].strip()[:200]
        elif (run.line or EXCERPT.match(line)) and (match := TPS.match(line)):
            if "tps" in run.values and run.quoted and not ("excluding" in match[2] and run.including):
                run = _Run()
            if not run.line:
                run.line, run.quoted = number, True
                runs.append(run)
            run.including = "including" in match[2]
            if "including" not in match[2] or "tps" not in run.values:
                run.values["tps"] = float(match[1])
        elif run.line and (match := QUERY_MODE.match(line)):
            run.query_mode = match[1]
        elif run.line and (match := SCRIPT.fullmatch(line)):
            run.scripts.append(match[2].strip())
        elif run.scripts and (match := WEIGHT.match(line)):
            run.scripts[-1] = f"{run.scripts[-1].partition('@')[0]}@{match[1]}"
        else:
            if "tps" in run.values and run.quoted and BEFORE.match(line):
                run = _Run()
            if match := TOLD.fullmatch(line):
                run.told.setdefault(match[1], match[2].strip())
            for name, pattern in FIGURES.items():
                if match := pattern.match(line):
                    run.values[name] = float(match[1])
    whole = [run for run in runs if "tps" in run.values]
    if not whole and not any(run.progress for run in runs) and not PROSE.fullmatch(file.base):
        raise Broken("is a summary of pgbench that ends before its rate", runs[-1].line if runs else None)
    return [run.published(file) for run in whole or runs]


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


TIME = r"(\d{1,15}|skipped|failed|serialization|deadlock)"
# client_id transaction_no time script_no time_epoch time_us [ schedule_lag ] [ retries ]
ONE = re.compile(rf"\d{{1,9}} \d{{1,15}} {TIME} \d{{1,9}} (\d{{9,11}}) \d{{1,6}}((?: -?\d{{1,15}}){{0,2}})")
# interval_start num_transactions sum_latency sum_latency_2 min_latency max_latency { sum_lag … }
AGGREGATED = re.compile(r"(\d{9,11}) (\d{1,12}) (\d{1,18}) \d{1,30} \d{1,15} (\d{1,15})((?: \d{1,30}){0,12})")


def _log(file: File) -> Sequence[Published] | None:
    """The log of ``-l``, a transaction or an interval each line."""
    first = file.first_lines[:20]
    if not first:
        return None
    if all(ONE.fullmatch(line) for line in first):
        return [_of_transactions(file)]
    if all(AGGREGATED.fullmatch(line) for line in first):
        return [_of_intervals(file)]
    if re.fullmatch(r"pgbench_log\.\d{1,9}(?:\.\d{1,9})?", file.base):
        raise Broken("is no log of pgbench that is known here", 1)
    return None


def _of_transactions(file: File) -> Published:
    latencies, seconds = Latencies(), PerSecond()
    skipped = failed = bad = 0
    lag = False
    for number, line in enumerate(file.stream(), start=1):
        match = ONE.fullmatch(line)
        if bad:
            raise Broken("holds a line that is none of pgbench's log", bad)
        if match is None:
            bad = number  # the last one may be cut
        elif match[1].isdigit():
            latencies.add(int(match[1]) / 1000)
            seconds.add(int(match[2]))
            lag = lag or len(match[3].split()) == 2
        elif match[1] == "skipped":
            skipped += 1
        else:
            failed += 1
    return Published(
        file.at(1),
        "pgbench",
        file.base,
        measured_s=float(seconds.seconds) or None,
        latency_ms=latencies.as_ms(),
        latency_from="scheduled start" if lag or skipped else "",  # one more column is the lag or the retries
        errors=failed,
        skipped=skipped or None,
        series=seconds.series(),
        engine="postgresql",
    )


def _of_intervals(file: File) -> Published:
    starts: list[int] = []
    counts: list[int] = []
    total = longest = 0
    for number, line in enumerate(file.stream(), start=1):
        match = AGGREGATED.fullmatch(line)
        if match is None:
            raise Broken("holds a line that is none of pgbench's log", number)
        starts.append(int(match[1]))
        counts.append(int(match[2]))
        total += int(match[3])
        longest = max(longest, int(match[4]))
    steps = [later - one for one, later in pairwise(starts) if later > one]
    interval = float(min(steps, default=1))
    return Published(
        file.at(1),
        "pgbench",
        file.base,
        measured_s=interval * len(counts),
        latency_ms={"mean": total / sum(counts) / 1000, "max": longest / 1000} if sum(counts) else {},
        series=tuple(count / interval for count in counts[1:-1]),
        interval_s=interval,
        engine="postgresql",
    )


def _load(file: File) -> Sequence[Published] | None:
    """What ``pgbench -i`` prints; no result."""
    return [] if any(LOADED.match(line) for line in file.first_lines) else None


SUMMARY = Importer("pgbench output", _summary)
LOG = Importer("pgbench log", _log)
LOAD = Importer("pgbench load", _load)
