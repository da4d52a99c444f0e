"""Power cuts under programs of the user's: those that are shipped, and those whose check or load is no witness."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

import faulty_program
from support import Cut, Run, times

PROGRAMS = sorted((Path(__file__).parents[2] / "programs").glob("*.toml"))

FAULTS = (
    faulty_program.TEXT
    + """[place]
kind = "disk"
filesystem = "ext4"
"""
)


@pytest.mark.parametrize(
    "file",
    # One that is called for each item, and one that is a server; others are programs of these kinds.
    [
        pytest.param(file, id=file.stem, marks=() if file.stem in ("shell-file", "redis") else pytest.mark.long)
        for file in PROGRAMS
    ],
)
def test_a_shipped_program_keeps_its_word_at_its_durable_level(powercut: Cut, tmp_path: Path, file: Path) -> None:
    durable, fast = tomllib.loads(file.read_text())["program"]["durability"]
    result = powercut(file, tmp_path / "out", "--quick", "--cuts", str(times(1, 2)))
    verdicts = {combination["levels"]["durability"]: combination["verdict"] for combination in result["combinations"]}
    reasons = [cut["cut"] and cut["cut"]["reasons"] for cut in result["cuts"]]
    assert {cut["status"] for cut in result["cuts"]} == {"done"}, [cut["reason"] for cut in result["cuts"]]
    assert verdicts[durable] == "survived", reasons
    assert verdicts[fast] in ("survived", "lost"), reasons  # what is in flight then may have been written
    assert result["losses"]["unannounced"] == 0, reasons
    if file.stem == "shell-file":  # nothing writes within its moments what nobody flushes
        assert verdicts[fast] == "lost"
    for cut in result["cuts"]:
        checks = cut["cut"]["checks"]
        assert checks["check-notices-an-empty-disk"] == checks["check-notices-a-planted-loss"] == "survived"
        assert cut["cut"]["fate"]["acknowledged"] > 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "the program&#39;s own check" in page or "the program's own check" in page


def test_no_verdict_rests_on_a_check_that_notices_nothing(acidtest: Run, powercut: Cut, tmp_path: Path) -> None:
    file, outside, out = tmp_path / "faults.toml", tmp_path / "outside", tmp_path / "out"
    outside.mkdir()
    file.write_text(FAULTS.replace("@OUTSIDE@", str(outside)))
    result = powercut(file, out, "--cuts", "1", code=3)
    cuts = {cut["cell"].split("/")[2].partition("#")[0]: cut for cut in result["cuts"]}
    verdicts = {level: cut["cut"]["verdict"] for level, cut in cuts.items() if cut["status"] == "done"}
    assert verdicts == {
        "sound": "survived", "grouped": "survived", "buffered": "unknown", "credulous": "unknown", "elsewhere": "unknown", "unhelpful": "unknown",
        "unflushed": "lost",
    }  # fmt: skip
    reasons = {level: " / ".join(cuts[level]["cut"]["reasons"]) for level in verdicts}
    assert "which was never written: its answers prove nothing" in reasons["credulous"]
    assert (
        "on a disk that had lost everything written since the start, program.check did not answer missing"
        in (reasons["elsewhere"])
    )
    assert "in one write with the next: does it buffer its output?" in reasons["buffered"]
    assert "program.check ended with code 7: no client is here" in reasons["unhelpful"]
    assert cuts["unprepared"]["reason"] == "program.setup ended with code 3: no room"
    assert cuts["unflushed"]["unannounced"]
    # What the cut has left is inspected again by the program's own check.
    again = acidtest("powercut", "--replay", cuts["unflushed"]["cut"]["state"], "--json", code=1)
    replayed = json.loads(again.stdout)
    assert replayed["verdict"] == "lost"
    assert replayed["reasons"] == cuts["unflushed"]["cut"]["reasons"]


def test_crash_states_of_a_program(powercut: Cut, tmp_path: Path) -> None:
    file = tmp_path / "faults.toml"
    text = FAULTS.replace("@OUTSIDE@", str(tmp_path)).replace('"disk"', '"disk"\ndisk_failure = "crash-states"')
    file.write_text(f'{text}disk_states = 4\n[factors]\ndurability = ["sound", "buffered", "unflushed"]\n')
    result = powercut(file, tmp_path / "out", "--cuts", "1", code=None)
    found = {
        combination["levels"]["durability"]: (combination["verdict"], combination["crash_states"])
        for combination in result["combinations"]
    }
    assert found["sound"] == ("survived", 4)
    assert found["buffered"][0] != "survived"
    assert found["unflushed"][0] == "lost"
    planted = result["controls"]["check-notices-a-planted-loss"]
    assert planted["held"] == planted["of"] >= 2  # of the shortest state that is not survived nothing may be asked
    (lost,) = (
        cut["cut"]["files"] for cut in result["cuts"] if cut["cut"]["verdict"] == "lost" and "unflushed" in cut["cell"]
    )
    assert lost["than"] == "load"
    assert "data/file" in lost["missing"] | lost["shorter"]
    lines = [json.loads(line) for line in (tmp_path / "out" / "cuts.jsonl").read_text().splitlines()]
    worst = [line["worst"] for line in lines if line.get("kind") == "explored" and line["worst"]]
    assert all(one["files"] is not None for one in worst)


def test_what_is_no_power_cut_refuses_a_program(acidtest: Run, tmp_path: Path) -> None:
    refused = acidtest("run", PROGRAMS[0], "--out", tmp_path / "out", code=2)
    assert f"acidtest powercut {PROGRAMS[0]} --out DIR" in refused.stderr
    text = FAULTS.replace("@OUTSIDE@", str(tmp_path)).replace("[program]", "[program]\nversion = 'no-such-program -V'")
    (tmp_path / "lacking.toml").write_text(text)
    lacking = acidtest("powercut", tmp_path / "lacking.toml", "--out", tmp_path / "out", code=4)
    assert "program.version: ended with code 127" in lacking.stderr
    planned = acidtest("plan", PROGRAMS[0], "--quick", code=0)
    assert "20 items" in planned.stdout
