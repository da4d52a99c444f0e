"""The shape of a load on real engines: stages, classes, sleeping sessions, a session for each transaction."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import journal_lines

SHAPES = """
name = "shapes"
repetitions = 1
durability = "os"
engine = "{engine}"

[workload.ramp]
kind = "commits"
terminals = 4
arrivals = "fixed"
stages = [{{ seconds = 1, rate_per_s = 10 }}, {{ seconds = 1, rate_per_s = 10, to = 30 }}]

[workload.mixed]
kind = "tpcc"
warehouse_percent = 1
duration_s = 1.0
classes = [
    {{ name = "payers", mix = {{ payment = 3, order_status = 1 }} }},
    {{ name = "arriving", rate_per_s = 20, arrivals = "fixed" }},
]

[workload.beside]
kind = "commits"
count = 20
connect = "per_transaction"
sleeping_sessions = 2
sleeping_in_transaction = true

[waive]
too-few-repetitions = "one is enough here"
"""


@pytest.mark.parametrize("engine", ["sqlite", "postgresql-17", pytest.param("firebird-5.0", marks=pytest.mark.long)])
def test_what_was_asked_for_is_in_the_journal_and_in_the_report(acidtest, tmp_path: Path, engine: str) -> None:
    file, out = tmp_path / "shapes.toml", tmp_path / "out"
    file.write_text(SHAPES.format(engine=engine))
    ran = acidtest("run", file, "--out", out, "--json")
    assert ran.returncode in (0, 1), ran.stderr + ran.stdout
    recordings = {r["levels"]["workload"]: r for r in journal_lines(out)}
    assert [r["reason"] for r in recordings.values()] == [None, None, None]

    stages = recordings["ramp"]["result"]["stages"]
    assert [s["tally"]["arrivals"]["scheduled"] for s in stages] == [10, 20]
    payers, arriving = recordings["mixed"]["result"]["classes"]
    assert {k["name"] for k in payers["tally"]["kinds"] if k["committed"]} <= {"payment", "order_status"}
    assert arriving["tally"]["arrivals"]["scheduled"] == 20
    beside = recordings["beside"]["result"]
    assert beside["sleepers"]["awake_at_end"] == 2
    assert beside["connections"]["opened"] == 20 + beside["counts"]["given_up"] + beside["counts"]["errors"]

    rows = {row["workload"]: row for row in json.loads(ran.stdout)["rows"]}
    assert [s["name"] for s in rows["ramp"]["stages"]] == ["10 arrivals/s", "10 to 30 arrivals/s"]
    assert [c["name"] for c in rows["mixed"]["terminal_classes"]] == ["payers", "arriving"]
    assert rows["beside"]["sleeping_sessions"]["in_transaction"] is True
    page = (out / "report.html").read_text()
    assert all(text in page for text in ("Classes of terminals", "10 to 30 arrivals/s", "2 sleeping sessions"))
    result = acidtest("report", out)
    assert "Stages" in result.stdout
    assert "2 sleeping sessions" in result.stdout
