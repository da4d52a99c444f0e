"""Histories under power cuts as a user meets them: on a disk that keeps its word, and with a bug planted on our side."""

from __future__ import annotations

import json
import re
from pathlib import Path

from acidtest.files import find_rig
from acidtest.workload import BY_KIND
from support import Run

PLANTED = Path(__file__).parents[1] / "powercut" / "planted_rig.py"
CUTS = """
name = "histories"
repetitions = 1
durability = "drive"
[factors]
engine = ["sqlite", "firebird-5.0"]
[workload.history]
terminals = 3
rows = 30
open_ms = 50
count = 40
[place]
kind = "disk"
filesystem = "ext4"
"""


def test_each_condition_is_looked_at_after_a_cut(acidtest: Run, tmp_path: Path) -> None:
    """Firebird may lose on an honest disk (findings/): then it is said which row, and by which path."""
    (tmp_path / "cuts.toml").write_text(CUTS)
    ran = acidtest("powercut", tmp_path / "cuts.toml", "--out", tmp_path / "out", "--json")
    assert ran.returncode in (0, 1), ran.stderr
    cuts = {cut["cell"].split("/")[1]: cut for cut in json.loads(ran.stdout)["cuts"]}
    assert cuts["sqlite"]["cut"]["verdict"] == "survived"
    firebird = cuts["firebird-5.0"]["cut"]
    assert firebird["verdict"] in ("survived", "lost")
    assert (firebird["verdict"] == "lost") == bool(firebird["reasons"])
    lines = [json.loads(line) for line in (tmp_path / "out" / "cuts.jsonl").read_text().splitlines()]
    for recording in (line for line in lines if line["kind"] == "recording"):
        checked = {condition["name"] for condition in recording["checks_after"]["conditions"]}
        assert checked == set(BY_KIND["history"].CONDITIONS)
        assert recording["cut"]["checks"]["holds-without-a-cut"] == "survived"


def test_a_history_that_loses_is_made_smaller_and_loses_again(acidtest: Run, tmp_path: Path) -> None:
    """Commits that were said to be acknowledged before they were are missing whatever is left out."""
    file, out = tmp_path / "cuts.toml", tmp_path / "out"
    file.write_text(CUTS)
    environment = {"ACIDTEST_RIG": str(PLANTED), "REAL_RIG": str(find_rig()), "PLANTED": "early"}
    asked = ("powercut", file, "--only", "history/sqlite/drive", "--out", out)
    ran = acidtest(*asked, "--smaller", "1", environment=environment, code=1)
    terminals = [int(many) for many in re.findall(r"^.*terminals = (\d+).*: \d+ lost: ", ran.stdout, re.MULTILINE)]
    assert terminals[:2] == [3, 1], ran.stdout
    again = acidtest("powercut", out / "smaller.toml", "--cuts", "1", "--out", tmp_path / "again", "--json",
                     environment=environment, code=1)  # fmt: skip
    (one,) = json.loads(again.stdout)["cuts"]
    assert one["cut"]["verdict"] == "lost"
    assert "/sqlite/" in one["cell"]
    refused = acidtest(*asked, "--smaller", "12", "--cuts", "3")
    assert (refused.returncode, "makes its own cuts" in refused.stderr) == (2, True)
