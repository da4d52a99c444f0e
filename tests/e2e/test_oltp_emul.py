"""A kit with the contract of OLTP-EMUL: made, filled, driven, and its own report beside ours. The real one is the user's:
docs/OLTP-EMUL.md says how it is run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import small_kit
from support import Run, journal_lines, times

AS_KIT = pytest.mark.parametrize("sessions", ["as_kit", pytest.param("prepared", marks=pytest.mark.long)])


def experiment(tmp_path: Path, engines: list[str], more: str = "count = 60") -> Path:
    file = tmp_path / "kit.toml"
    file.write_text(
        f'name = "kit"\nrepetitions = 1\ndurability = "os"\n[workload.oltp_emul]\npath = "kit"\nterminals = 2\n{more}\n'
        f"[factors]\nengine = {json.dumps(engines)}\n"
    )
    return file


def sums(path: Path) -> dict[str, str]:
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in path.rglob("*") if file.is_file()}


@AS_KIT
def test_it_is_made_filled_and_driven_and_its_report_stands_beside_ours(
    acidtest: Run, tmp_path: Path, sessions: str
) -> None:
    kit = small_kit.write(tmp_path / "kit")
    before = sums(kit)
    engines = ["firebird-3.0", "firebird-5.0", "firebird-4.0-server", "firebird-4.0"][-times(2, 4) :]
    out = tmp_path / "out"
    file = experiment(tmp_path, engines, f'count = 60\nsessions = "{sessions}"')
    acidtest("run", file, "--out", out, code=0)
    recordings = journal_lines(out)
    assert len(recordings) == len(engines)
    for recording in recordings:
        assert recording["status"] == "done", recording["reason"]
        assert recording["load"]["rows"] == 7  # documents, as the configuration says
        kinds = {kind["name"]: kind for kind in recording["result"]["kinds"]}
        assert set(kinds) == {"sp_write_document", "sp_do_nothing", "sp_conflict", "sp_halt"}
        assert kinds["sp_write_document"]["committed"] == recording["result"]["counts"]["committed"] == 60
        assert kinds["sp_do_nothing"]["rolled_back"] == recording["result"]["counts"]["rolled_back"] > 0
        reports = {report["title"]: report for report in recording["own_reports"]}
        assert reports["Performance in total"]["rows"][0][3] == "60"
        assert [row[:3] for row in reports["Performance in detail"]["rows"]] == [["sp_write_document", "60", "60"]]
        failed = str(kinds["sp_do_nothing"]["rolled_back"])
        assert reports["Exceptions in the kit's log"]["rows"] == [["335544517", "except", "sp_do_nothing", failed]]
        # What only prints is run for each operation, and its sessions do ten each: or neither.
        done = recording["result"]["counts"]["committed"] + recording["result"]["counts"]["rolled_back"]
        (printed,) = reports["Exceptions"]["rows"]
        opened = recording["result"]["connections"]
        if sessions == "as_kit":
            assert int(printed[3]) == done
            assert done // 10 - 2 <= opened["opened"] <= done // 10
        else:
            assert (printed[3], opened) == ("0", None)
        for checks in (recording["checks_before"], recording["checks_after"]):
            assert [condition["holds"] for condition in checks["conditions"]] == [True, True, True]
    assert sums(kit) == before
    report = acidtest("report", out)
    assert "the database's own report: Performance in detail" in report.stdout
    assert "What the database reports itself" in (out / "report.html").read_text()


def test_what_the_kit_has_wrong_makes_the_recording_invalid(acidtest: Run, tmp_path: Path) -> None:
    """Three pieces of 2 are not an amount of 3."""
    small_kit.write(tmp_path / "kit", piece="2")
    out = tmp_path / "out"
    acidtest("run", experiment(tmp_path, ["firebird-4.0"], "init_docs = 0\ncount = 5"), "--out", out)
    (recording,) = journal_lines(out)
    assert recording["status"] == "invalid"
    assert "documents and the rows that their amounts are spread over disagree: 5 amounts" in recording["reason"]


@AS_KIT
def test_a_halted_kit_ends_the_run_and_says_so(acidtest: Run, tmp_path: Path, sessions: str) -> None:
    small_kit.write(tmp_path / "kit", nothing=0, halt=1)
    out = tmp_path / "out"
    acidtest("run", experiment(tmp_path, ["firebird-4.0"], f'count = 20000\nsessions = "{sessions}"'), "--out", out)
    (recording,) = journal_lines(out)
    assert recording["status"] == "failed"
    assert "the kit has halted its test" in recording["reason"]


@AS_KIT
def test_a_conflict_is_counted_and_not_tried_again(acidtest: Run, tmp_path: Path, sessions: str) -> None:
    """Both terminals change one row without waiting, and nothing else has a weight but documents."""
    small_kit.write(tmp_path / "kit", nothing=0, conflict=60)
    out = tmp_path / "out"
    acidtest("run", experiment(tmp_path, ["firebird-4.0"], f'duration_s = 2\nsessions = "{sessions}"'), "--out", out)
    (recording,) = journal_lines(out)
    assert recording["status"] == "done", recording["reason"]
    counts = recording["result"]["counts"]
    kinds = {kind["name"]: kind for kind in recording["result"]["kinds"]}
    assert counts["retries"] == counts["errors"] == 0
    assert counts["conflicts"] == counts["given_up"] == kinds["sp_conflict"]["conflicts"]
    assert kinds["sp_conflict"]["committed"] > 0


def test_an_error_in_a_script_is_told_with_its_file_and_line(acidtest: Run, tmp_path: Path) -> None:
    kit = small_kit.write(tmp_path / "kit")
    script = kit / "src" / "oltp_data_filling.sql"
    script.write_text("commit;\n\ninsert into nowhere values (1);\n")
    out = tmp_path / "out"
    acidtest("run", experiment(tmp_path, ["firebird-4.0"]), "--out", out, code=3)
    (recording,) = journal_lines(out)
    assert f"{script}:3: " in recording["reason"]
