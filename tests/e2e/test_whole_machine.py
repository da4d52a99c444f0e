"""Power cuts of whole machines as a user meets them: ext4 on dm-crypt, on a drive that keeps its word and on one that lies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import Run, times

MACHINES = """
name = "machines"
engine = "sqlite"
durability = "drive"
repetitions = {cuts}
place = {{ kind = "machine", filesystem = "ext4", stack = "dm-crypt", size_mb = 64, guest_memory_mb = 384, guest_cpus = 1 }}
[factors]
drive = [
  {{ name = "honest", set = {{ "place.disk_faults" = "" }} }},
  {{ name = "lying", set = {{ "place.disk_faults" = "lie-about-flush" }} }},
]
[workload.numbered]
terminals = 2
count = 20
"""
CUTS = times(1, 5)


@pytest.mark.long  # make test has tests/guest, and test_plug_guest.py as a user meets it
def test_dm_crypt_on_a_drive_that_keeps_its_word_and_on_one_that_lies(acidtest: Run, tmp_path: Path) -> None:
    file, out = tmp_path / "machines.toml", tmp_path / "out"
    file.write_text(MACHINES.format(cuts=CUTS))
    refused = acidtest("run", file, "--out", out)
    assert (refused.returncode, "no speed is told of them" in refused.stderr) == (2, True), refused.stderr
    done = acidtest("powercut", file, "--out", out, "--json", code=0)
    answer = json.loads(done.stdout)
    assert {path.name for path in out.iterdir()} == {"cuts.jsonl", "report.html"}
    rows = {row["levels"]["drive"]: row for row in answer["combinations"]}
    assert {name: (row["verdict"], row["unknown"]) for name, row in rows.items()} == {
        "honest": ("survived", 0),
        "lying": ("lost", 0),
    }
    assert rows["lying"]["lost"] == CUTS
    assert rows["honest"]["commits_acknowledged"] >= CUTS
    for row in rows.values():  # emulated: nothing that takes time is told
        assert [row[key] for key in ("commits_per_s", "filesystem_recovery_s", "engine_recovery_s")] == [None] * 3
    assert "speed, and how long recovery takes" in {one["what"] for one in answer["not_checked"]}
    recordings = [json.loads(line) for line in (out / "cuts.jsonl").read_text().splitlines()[1:]]
    for recording in recordings:
        place = recording["place"]
        assert (place["kind"], place["filesystem"], place["device"]) == ("machine", "ext4", "/dev/mapper/acidtest")
        assert place["guest"]["accelerator"] == "tcg"
        settings = {setting["name"]: setting["in_force"] for setting in recording["settings"]}
        assert (settings["place.stack"], settings["synchronous"]) == ("dm-crypt", "full")
        assert recording["cut"]["checks"]["disk-loses-its-cache"] == "survived"
