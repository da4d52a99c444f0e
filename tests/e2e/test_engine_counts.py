"""What engines themselves count, as a user meets it: in recordings, in the tables and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import journal_lines


def of(recording: dict, name: str) -> dict:
    (found,) = [counter for counter in recording["engine_counts"]["counters"] if counter["name"] == name]
    return dict(found)


@pytest.mark.parametrize(
    "engine", [pytest.param("firebird-3.0", marks=pytest.mark.long), "firebird-5.0", "firebird-4.0-server"]
)
def test_a_firebird_tells_what_it_counted(acidtest, tmp_path: Path, engine: str) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        f'name = "t"\nrepetitions = 1\nengine = "{engine}"\ndurability = "drive"\n'
        "[workload.commits]\nterminals = 2\ncount = 60\nwarmup_s = 0\n"
    )
    out = tmp_path / "out"
    ran = acidtest("run", file, "--out", out, code=0)
    (recording,) = journal_lines(out)
    counts = recording["engine_counts"]
    assert (counts["not_counted"], counts["committed"], counts["uncertain"]) == (None, 60, 0)
    assert counts["source"] == "MON$IO_STATS, MON$RECORD_STATS"
    assert of(recording, "record_inserts") == {
        "name": "record_inserts", "unit": "records", "sessions": 60, "database": 60,
    }  # fmt: skip
    assert of(recording, "record_updates")["sessions"] == 0
    # With forced writes a commit writes its data page and the page of its transaction at least.
    assert of(recording, "page_writes")["database"] >= of(recording, "page_writes")["sessions"] >= 2 * 60
    assert of(recording, "page_fetches")["sessions"] > of(recording, "page_marks")["sessions"] > 60
    assert "Counted by the engine itself for each commit" in ran.stdout
    (row,) = json.loads(acidtest("report", out, "--json").stdout)["rows"]
    assert row["engine_work"]["sessions"]["record_inserts"] == 1.0
    assert "Counted by the engine itself" in (out / "report.html").read_text()


def test_an_engine_that_is_not_asked_has_no_figures(acidtest, experiment, tmp_path: Path) -> None:
    ran = acidtest("run", experiment(count=10), "--out", tmp_path / "out", code=0)
    assert all(line["engine_counts"] is None for line in journal_lines(tmp_path / "out"))
    assert "Counted by the engine" not in ran.stdout
