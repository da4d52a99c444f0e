"""OLTP-EMUL, the load test of the Firebird project: its report as text and as HTML ("Performance in TOTAL"), and the
configuration of a run. See oltp_isql_run_worker.sh and the view report_perf_total.

Its score are business actions a minute, each a transaction of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from acidtest.audit.amounts import NUMBER, number
from acidtest.audit.bench import Published
from acidtest.audit.importers import commands, tables
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.outputs import asked_by, properties

HINT = b"Performance in TOTAL"
SCORE = "avg_times_per_minute"
OVERALL = re.compile(
    rf"[\s*]{{0,9}}overall\b.{{0,60}}?(?:for (\d{{1,9}}) minutes?.{{0,30}}?)?"
    rf"\s{NUMBER}\s{{1,60}}(?:(\d{{1,9}})\s|{NUMBER}\s)?",
    re.IGNORECASE,
)
MINUTES = re.compile(r"for (?:last )?(?:test_time=)?(\d{1,9}) minutes", re.IGNORECASE)
OWN = frozenset(("test_time", "warm_time", "working_mode", "init_docs"))
KNOWN = OWN | {
    "winq", "use_external_to_stop", "mon_unit_perf", "separate_workers", "update_conflict_percent",
    "actions_todo_before_reconnect", "create_with_fw", "fb", "fbv", "build",
}  # fmt: skip


def _text(file: File) -> Sequence[Published] | None:
    if HINT not in file.head and SCORE.encode() not in file.head.lower():
        return None
    if b"<table" in file.head.lower():
        return _html(file)
    asked = properties(file.lines)
    found: Published | None = None
    inside = False
    for at, line in enumerate(file.lines, start=1):
        low = line.lower()
        if SCORE in low and "overall performance index" not in low:
            inside = True
        elif inside and found is None and (match := OVERALL.match(line[:400])):
            minutes = match[1] or asked.get("test_time", "")
            found = _published(file, at, float(match[2]), minutes, number(match[3] or match[4] or ""))
        elif found is None and (match := MINUTES.search(line[:400])):
            asked["test_time"] = match[1]
    if found is None:
        raise Broken("is OLTP-EMUL's report without its overall performance")
    return [commands.filled(replace(found, script=asked.get("working_mode", found.script)), _asked(asked))]


def _html(file: File) -> Sequence[Published]:
    for table in tables.of_file(file):
        names = [name.strip().lower() for name in table.head]
        column = names.index(SCORE) if SCORE in names else len(names)
        for row in table.rows:
            score, mean = ([number(cell) for cell in row.cells[column : column + 2]] + [None, None])[:2]
            if score is not None and "overall" in row.cells[0].lower():
                match = MINUTES.search(row.cells[0])
                return [_published(file, row.line, score, match[1] if match else "", mean)]
    raise Broken("is OLTP-EMUL's report without its overall performance")


def _published(file: File, at: int, score: float, minutes: str, mean_ms: float | None) -> Published:
    return Published(
        file.at(at), "oltp-emul", file.base, rate=score / 60, tpm=score, engine="firebird", script="OLTP-EMUL",
        measured_s=60 * float(minutes) if minutes else None, latency_ms={"mean": mean_ms} if mean_ms else {},
        written=f"{score:g} {SCORE}",
    )  # fmt: skip


def _asked(held: Mapping[str, str]) -> dict[str, str]:
    names = {"winq": "terminals", "init_docs": "scale", "working_mode": "script"}
    times = {"test_time": "measured_s", "warm_time": "warmup_s"}
    asked = {names.get(name, name): value for name, value in held.items() if name in KNOWN and name not in times}
    minutes = {of: value for name, of in times.items() if (value := number(held.get(name))) is not None}
    return asked | {of: str(60 * value) for of, value in minutes.items()}


REPORT = Importer("OLTP-EMUL report", _text)
CONFIGURATION = Importer(
    "OLTP-EMUL configuration",
    lambda file: asked_by(file, OWN, 2, _asked, Published(file.at(1), "oltp-emul", "", engine="firebird")),
)
