"""OLTP-EMUL, the load test of the Firebird project: its report as text and as HTML ("Performance in TOTAL"), and the
configuration of a run. See oltp_isql_run_worker.sh and the view report_perf_total.

Its score are business actions a minute, each a transaction of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from acidtest.audit.amounts import NUMBER, number
from acidtest.audit.bench import Published
from acidtest.audit.importers import commands, tables
from acidtest.audit.importers.file import Broken, File, Importer

HINT = b"Performance in TOTAL"
SCORE = "avg_times_per_minute"
OVERALL = re.compile(
    rf"[\s*]{{0,9}}overall\b.{{0,60}}?(?:for (\d{{1,9}}) minutes?.{{0,30}}?)?"
    rf"\s{NUMBER}\s{{1,60}}(?:(\d{{1,9}})\s|{NUMBER}\s)?",
    re.IGNORECASE,
)
MINUTES = re.compile(r"for (?:last )?(?:test_time=)?(\d{1,9}) minutes", re.IGNORECASE)
ASKED = re.compile(
    r"\s*(test_time|warm_time|working_mode|init_docs|winq|use_external_to_stop|mon_unit_perf|separate_workers|update_conflict_percent|actions_todo_before_reconnect|create_with_fw|fbv?|build)\s*[=:]\s*(\S{1,80})\s*",
    re.IGNORECASE,
)
OWN = frozenset(("test_time", "warm_time", "working_mode", "init_docs"))


def _text(file: File) -> Sequence[Published] | None:
    if HINT not in file.head and SCORE.encode() not in file.head.lower():
        return None
    if b"<table" in file.head.lower():
        return _html(file)
    asked: dict[str, str] = {}
    found: Published | None = None
    inside = False
    for at, line in enumerate(file.lines, start=1):
        low = line.lower()
        if SCORE in low and "overall performance index" not in low:
            inside = True
        elif inside and found is None and (match := OVERALL.match(line[:400])):
            minutes = match[1] or asked.get("test_time", "")
            found = _published(file, at, float(match[2]), minutes, number(match[3] or match[4] or ""))
        elif match := ASKED.fullmatch(line[:400]):
            asked[match[1].lower()] = match[2]
        elif found is None and (match := MINUTES.search(line[:400])):
            asked["test_time"] = match[1]
    if found is None:
        raise Broken("is OLTP-EMUL's report without its overall performance")
    return [_filled(found, asked)]


def _html(file: File) -> Sequence[Published]:
    for table in tables.of_file(file):
        names = [name.strip().lower() for name in table.head]
        if SCORE in names:
            column = names.index(SCORE)
            for row in table.rows:
                score = (
                    number(row.cells[column]) if "overall" in row.cells[0].lower() and len(row.cells) > column else None
                )
                if score is not None:
                    match = MINUTES.search(row.cells[0])
                    mean = number(row.cells[column + 1]) if len(row.cells) > column + 1 else None
                    return [_published(file, row.line, score, match[1] if match else "", mean)]
    raise Broken("is OLTP-EMUL's report without its overall performance")


def _published(file: File, at: int, score: float, minutes: str, mean_ms: float | None) -> Published:
    return Published(
        file.at(at),
        "oltp-emul",
        file.base,
        rate=score / 60,
        tpm=score,
        measured_s=60 * float(minutes) if minutes else None,
        latency_ms={"mean": mean_ms} if mean_ms else {},
        engine="firebird",
        script="OLTP-EMUL",
        written=f"{score:g} {SCORE}",
    )


def _filled(one: Published, asked: dict[str, str]) -> Published:
    names = {"winq": "terminals", "init_docs": "scale", "working_mode": "script"}
    by_field = {names.get(name, name): value for name, value in asked.items() if name not in ("test_time", "warm_time")}
    for name, of in (("test_time", "measured_s"), ("warm_time", "warmup_s")):
        if (minutes := number(asked.get(name, ""))) is not None:
            by_field[of] = str(60 * minutes)
    if one.script == "OLTP-EMUL" and "script" in by_field:
        one = replace(one, script="")
    return commands.filled(one, by_field)


def _configuration(file: File) -> Sequence[Published] | None:
    if b"working_mode" not in file.head or b"warm_time" not in file.head:
        return None
    found = [(at, match) for at, line in enumerate(file.first_lines, start=1) if (match := ASKED.fullmatch(line[:400]))]
    asked = {match[1].lower(): match[2] for _, match in found}
    if len(OWN & asked.keys()) < 2:
        return None
    one = Published(file.at(found[0][0]), "oltp-emul", file.base, engine="firebird", planned=True)
    return [_filled(one, asked)]


REPORT = Importer("OLTP-EMUL report", _text)
CONFIGURATION = Importer("OLTP-EMUL configuration", _configuration)
