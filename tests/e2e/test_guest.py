"""A guest as a user meets it: jfs beside the raw disk, in one run with this machine's own, after labs that were killed."""

from __future__ import annotations

import json
import random
import subprocess
import time
from pathlib import Path

import pytest

from support import ACIDTEST, Run, journal_lines, times

# In the order that the seed draws, the cell of this machine is the first: the guest boots once, and lives to the end.
MATRIX = """
name = "guest"
engine = "firebird-5.0"
durability = "drive"
repetitions = 1
seed = 2
base = { place = "raw" }
place = { size_mb = 64, guest_memory_mb = 512 }
settings.firebird.server_mode = "SuperClassic"
[workload.commits]
duration_s = 1
[factors]
place = [
  { name = "raw", set = { "place.kind" = "guest", "place.filesystem" = "raw" } },
  { name = "jfs", set = { "place.kind" = "guest", "place.filesystem" = "jfs", "place.mount" = "sync,noatime" } },
  { name = "ignored", set = { "place.kind" = "guest", "place.filesystem" = "ext4", "place.mount" = "oldalloc" } },
  { name = "here", set = { "place.kind" = "directory" } },
]
"""
KILLS = times(1, 4)


def qemus(below: Path) -> list[str]:
    found = []
    for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = cmdline.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if words.startswith("qemu-system") and str(below) in words:
            found.append(cmdline.parent.name)
    return found


def kill_and_clean(acidtest: Run, file: Path, out: Path, delay_s: float, about: str) -> None:
    """Kill a lab so long after its QEMU began: the guest goes on, and ``clean`` ends it and removes what is left."""
    lab = subprocess.Popen([ACIDTEST, "run", file, "--out", out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while not qemus(file.parent) and lab.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(delay_s)
    lab.kill()
    lab.wait()
    was_up = qemus(file.parent)
    cleaned = acidtest("clean")
    about = f"{about}, killed {delay_s:.3f} s after QEMU began: {cleaned.stdout}{cleaned.stderr}"
    assert cleaned.returncode == 0, about
    assert qemus(file.parent) == [], about
    assert [p.name for p in out.iterdir() if p.name.startswith("acidtest-")] == [], about
    assert was_up, about  # else nothing was tried


@pytest.mark.long  # make test has tests/guest
def test_jfs_beside_the_raw_disk_of_the_same_guest(acidtest: Run, tmp_path: Path) -> None:
    file, out = tmp_path / "guest.toml", tmp_path / "out"
    file.write_text(MATRIX)
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    for _ in range(KILLS):
        kill_and_clean(acidtest, file, out, moments.uniform(0, 8), f"seed {seed}")
    done = acidtest("run", file, "--out", out, "--json", timeout=800, code=1)
    found = {r["cell"].removeprefix("commits/").removesuffix("#1"): r for r in journal_lines(out)}
    states = {name: (r["status"], r["reason"]) for name, r in found.items()}
    good = ("firebird-5.0/drive/raw", "firebird-5.0/drive/jfs", "firebird-5.0/drive/here")
    assert all(states[name] == ("done", None) for name in good), states
    status, reason = states["firebird-5.0/drive/ignored"]
    assert (status, "place.mount oldalloc: asked for oldalloc" in reason) == ("invalid", True)
    for name in good:
        recording = found[name]
        assert all(c["holds"] for when in ("before", "after") for c in recording[f"checks_{when}"]["conditions"])
        assert all(s["agrees"] for s in recording["settings"])
        assert (recording["place"]["guest"] is None) == name.endswith("here")
    jfs, here = found["firebird-5.0/drive/jfs"], found["firebird-5.0/drive/here"]
    assert (jfs["place"]["filesystem"], jfs["place"]["write_cache"]) == ("jfs", "write back")
    assert {"sync", "noatime"} <= set(jfs["place"]["mount_options"].split(","))
    assert jfs["machine"]["kernel"] != here["machine"]["kernel"]
    assert jfs["machine"]["virtualization"] == "QEMU tcg"
    in_force = {s["name"]: s["in_force"] for s in jfs["settings"]}
    # The header page was read from the database in the guest, and brought back.
    assert (in_force["forced_writes_in_header"], in_force["server_mode"]) == ("true", "SuperClassic")
    assert found["firebird-5.0/drive/raw"]["place"]["filesystem"] == "none"
    shown = json.loads(done.stdout)
    relative = {(r["levels"]["engine"], r["levels"]["place"]): (r["guest"], r["relative"]) for r in shown["rows"]}
    guest, ratio = relative["firebird-5.0", "jfs"]
    assert "QEMU" in guest
    assert ratio["median"] > 0
    assert relative["firebird-5.0", "here"] == (None, None)  # never read against the guest's base
    assert {c["against"]["place"] for c in shown["comparisons"] if c["row"]["place"] == "here"} <= {"here"}
    assert any(f["rule"] == "guest" for f in shown["findings"])
    assert sorted(p.name for p in out.iterdir()) == ["journal.jsonl", "report.html"]
