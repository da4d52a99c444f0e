"""What the block device did during a run, as its recording has it."""

from __future__ import annotations

from pathlib import Path

from support import Run, journal_lines

RUN = """
name = "device"
durability = "drive"
repetitions = 1
[workload.commits]
warmup_s = 6
duration_s = 3
[factors]
engine = ["sqlite"]
place = [
  { name = "ext4", set = { "place.kind" = "loop", "place.filesystem" = "ext4" } },
  { name = "memory", set = { "place.path" = "/dev/shm", warmup_s = 0, duration_s = 0.2 } },
]
"""


def test_the_device_is_read_from_the_end_of_the_warm_up_to_the_end(acidtest: Run, tmp_path: Path) -> None:
    file = tmp_path / "device.toml"
    file.write_text(RUN)
    done = acidtest("run", file, "--out", tmp_path / "out")
    assert done.returncode in (0, 1), done.stderr  # a flush that costs nothing, as in memory, is a finding
    found = {r["levels"]["place"]: r for r in journal_lines(tmp_path / "out")}
    assert found["memory"]["device"] is None
    work, result = found["ext4"]["device"], found["ext4"]["result"]
    assert f"/dev/{work['device']}" == found["ext4"]["place"]["device"]
    # A commit is two flushes here, for the file grows; with the warm-up's it would be six. A busy machine reads the
    # counters late.
    commits = result["counts"]["committed"]
    assert 0.9 * commits <= work["flushes"] <= 4 * commits, (work, commits)
    assert work["write_bytes"] >= 4096 * 0.9 * commits
    assert 0 < work["busy_s"] <= 1.1 * result["measured_s"]
    assert 0 < work["flush_s"] <= work["write_s"] + 0.01
