"""Places as a user meets them: file systems, mount options and schedulers as factors, raw devices, and what cannot be."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from acidtest.files import state_directory
from blocks import loops_over_files_in, mounts_below
from support import ACIDTEST, Run, journal_lines, processes_with, times

MATRIX = """
name = "places"
durability = "drive"
repetitions = 1
base = { filesystem = "raw" }
[workload.commits]
count = 20
[factors]
engine = ["sqlite", "firebird-5.0"]
filesystem = [
  { name = "raw", set = { "place.kind" = "raw" } },
  { name = "ext4", set = { "place.kind" = "loop", "place.filesystem" = "ext4" } },
  { name = "btrfs", set = { "place.kind" = "loop", "place.filesystem" = "btrfs" } },
  { name = "jfs", set = { "place.kind" = "loop", "place.filesystem" = "jfs" } },
]
"place.mount" = ["defaults", "sync,noatime", "noatime,nobh"]
"place.scheduler" = ["mq-deadline", "cfq"]
[[exclude]]
engine = "sqlite"
filesystem = "raw"
[[exclude]]
engine = "firebird-5.0"
filesystem = ["btrfs", "jfs"]
[[exclude]]
engine = "firebird-5.0"
"place.mount" = ["sync,noatime", "noatime,nobh"]
filesystem = "ext4"
[[exclude]]
filesystem = ["btrfs", "jfs"]
"place.mount" = "noatime,nobh"
[[exclude]]
filesystem = ["btrfs", "jfs"]
"place.scheduler" = "cfq"
[[exclude]]
"place.mount" = "noatime,nobh"
"place.scheduler" = "cfq"
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_file_system_by_option_by_scheduler(acidtest: Run, tmp_path: Path) -> None:
    file = written(tmp_path / "places.toml", MATRIX)
    done = acidtest("run", file, "--out", tmp_path / "out", code=3)  # cells failed, and the matrix went on
    found = {r["cell"].removeprefix("commits/").removesuffix("#1"): r for r in journal_lines(tmp_path / "out")}
    states = {name: r["status"] for name, r in found.items()}
    expected = {
        "firebird-5.0/drive/raw/–/mq-deadline": "done",
        "firebird-5.0/drive/raw/–/cfq": "failed",
    }
    for engine, mount in (("firebird-5.0", "defaults"), ("sqlite", "defaults"), ("sqlite", "sync,noatime")):
        expected[f"{engine}/drive/ext4/{mount}/mq-deadline"] = "done"
        expected[f"{engine}/drive/ext4/{mount}/cfq"] = "failed"
        if engine == "sqlite":
            expected[f"{engine}/drive/btrfs/{mount}/mq-deadline"] = "done"
            expected[f"{engine}/drive/jfs/{mount}/mq-deadline"] = "failed"
    expected["sqlite/drive/ext4/noatime,nobh/mq-deadline"] = "invalid"
    assert states == expected
    for name, recording in found.items():
        reason, place = recording["reason"] or "", recording["place"]
        settings = {s["name"]: s for s in recording["settings"]}
        if "/cfq" in name:
            assert "scheduler cfq" in reason
        elif "/jfs/" in name:
            assert "this kernel has no jfs" in reason
        elif "nobh" in name:
            assert reason.startswith("place.mount nobh: asked for nobh, in force is rw,noatime")
        else:
            assert settings["place.scheduler"] == {
                "name": "place.scheduler", "asked": "mq-deadline", "in_force": "mq-deadline", "agrees": True,
                "source": "sysfs",
            }  # fmt: skip
            assert (place["scheduler"], place["direct_io"]) == ("mq-deadline", "yes")
            assert place["filesystem"] == ("none" if "/raw/" in name else name.split("/")[2])
            assert recording["database_bytes"] > 0
            assert ("sync" in place["mount_options"].split(",")) is ("sync" in name)
    assert loops_over_files_in(tmp_path) == [] == mounts_below(tmp_path)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["journal.jsonl", "report.html"]
    assert "a loop over an image" in done.stdout


def test_an_engine_that_cannot_be_on_a_raw_device_is_refused_by_name(
    acidtest: Run, experiment: Callable[..., Path], tmp_path: Path
) -> None:
    file = experiment(engine='["firebird-5.0", "sqlite", "postgresql-15"]', extra='[place]\nkind = "raw"')
    done = acidtest("run", file, "--out", tmp_path / "out", code=2)
    assert "sqlite: cannot have its database on a raw device" in done.stderr
    assert '[[exclude]] engine = "sqlite"' in done.stderr
    assert not (tmp_path / "out").exists()


def test_every_firebird_has_its_database_on_a_raw_device(
    acidtest: Run, experiment: Callable[..., Path], tmp_path: Path
) -> None:
    engines = ["firebird-3.0", "firebird-4.0", "firebird-5.0", "firebird-3.0-server"]
    in_turn = '[[exclude]]\ndurability = "{}"\nengine = {}\n'
    excluded = in_turn.format("os", json.dumps(engines[::2])) + in_turn.format("drive", json.dumps(engines[1::2]))
    extra = f'[place]\nkind = "raw"\n{excluded}'
    file = experiment(engine=json.dumps(engines), durability='["os", "drive"]', extra=extra)
    acidtest("run", file, "--out", tmp_path / "out", code=0)
    recordings = journal_lines(tmp_path / "out")
    assert [r["status"] for r in recordings] == ["done"] * 4
    assert all(r["place"]["kind"] == "raw" and r["checks_after"]["conditions"] for r in recordings)


def test_without_root_what_needs_it_is_said_in_one_line_and_the_rest_works(
    experiment: Callable[..., Path], tmp_path: Path
) -> None:
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)

    def unprivileged(file: Path, out: Path) -> subprocess.CompletedProcess[str]:
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", ACIDTEST, "run", file, "--out", out]
        environment = {**os.environ, "ACIDTEST_HOME": str(tmp_path / "home")}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)

    loops = experiment(extra='[place]\nkind = "loop"\nfilesystem = "ext4"', name="loops")
    refused = unprivileged(loops, out := tmp_path / "refused")
    assert refused.returncode == 4, refused.stderr
    words = " ".join(refused.stderr.split())
    assert (
        words
        == f"acidtest: loop places need root run: sudo ACIDTEST_HOME={tmp_path / 'home'} {ACIDTEST} run {loops} --out {out}"
    )
    assert not (tmp_path / "refused").exists()
    plain = unprivileged(experiment(), tmp_path / "plain")
    assert plain.returncode == 0, plain.stderr


@pytest.mark.parametrize(
    ("engine", "kind"),
    [("sqlite", "loop"), pytest.param("firebird-5.0", "loop", marks=pytest.mark.long), ("firebird-5.0", "raw")],
)
def test_a_place_that_runs_full_fails_its_cell_only(acidtest: Run, tmp_path: Path, engine: str, kind: str) -> None:
    file = written(
        tmp_path / "full.toml",
        f"""
name = "full"
engine = "{engine}"
durability = "os"
repetitions = 1
workload = {{ commits = {{ row_bytes = 8000, count = 5 }} }}
[factors]
count = [5, 9000]
[place]
kind = "{kind}"
{'filesystem = "ext2"' if kind == "loop" else ""}
size_mb = {64 if kind == "loop" else 16}
""",
    )
    acidtest("run", file, "--out", tmp_path / "out", code=3)
    found = {r["workload"]["count"]: (r["status"], r["reason"]) for r in journal_lines(tmp_path / "out")}
    assert found[5] == ("done", None)
    assert found[9000][0] == "failed"
    assert "raise place.size_mb" in found[9000][1]


def test_doctor_says_which_file_systems_can_be_made(acidtest: Run) -> None:
    findings = {f["what"]: f for f in json.loads(acidtest("doctor", "--json").stdout)["findings"]}
    can, _, cannot = findings["file systems"]["detail"].partition(" can be made; ")
    assert {"ext2", "ext3", "ext4", "xfs", "btrfs"} <= set(can.split(", "))
    kernel = Path("/proc/filesystems").read_text().split()
    assert ("jfs" in cannot) is ("jfs" not in kernel)
    assert findings["loop places"]["state"] == "ok"


KILLED = """
name = "killed"
engine = "firebird-5.0"
durability = "drive"
repetitions = 40
[workload.commits]
duration_s = 0.3
[factors]
filesystem = [
  { name = "raw", set = { "place.kind" = "raw" } },
  { name = "ext4", set = { "place.kind" = "loop", "place.filesystem" = "ext4" } },
  { name = "xfs", set = { "place.kind" = "loop", "place.filesystem" = "xfs", "place.journal" = "external" } },
  { name = "btrfs", set = { "place.kind" = "loop", "place.filesystem" = "btrfs" } },
]
"place.scheduler" = ["bfq"]
"""


@pytest.mark.timeout(1200)
def test_after_each_kill_clean_leaves_nothing(acidtest: Run, tmp_path: Path) -> None:
    file, out, home = written(tmp_path / "killed.toml", KILLED), tmp_path / "out", tmp_path / "home"
    home.mkdir()
    (home / "engines").symlink_to(state_directory() / "engines")
    environment = {**os.environ, "ACIDTEST_HOME": str(home)}
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    began, first = time.monotonic(), 0.0
    for _ in range(times(2, 20)):
        lab = subprocess.Popen([ACIDTEST, "run", file, "--out", out], env=environment, stdout=subprocess.DEVNULL)
        if first:
            time.sleep(delay := moments.uniform(0.5, 1.5 * first))
        else:  # how long this machine takes to its first recording tells which moments are of interest
            journal = out / "journal.jsonl"
            while not journal.is_file() or journal.read_bytes().count(b"\n") < 2:
                assert lab.poll() is None
                time.sleep(0.05)
            delay = first = time.monotonic() - began
        lab.kill()
        lab.wait()
        done = acidtest("clean", environment=environment)
        about = f"seed {seed}, killed after {delay:.4f} s: {done.stdout}{done.stderr}"
        assert done.returncode == 0, about
        assert mounts_below(tmp_path) == [] == loops_over_files_in(tmp_path), about
        assert processes_with(f"ACIDTEST_HOME={home}") == {}, about
        assert {p.name for p in out.glob("*")} <= {"journal.jsonl", "report.html", ".acidtest-can-write"}, about
        assert list((home / "ledger").glob("*")) == [], about
    statuses = {recording["status"] for recording in journal_lines(out)}
    assert statuses == {"done"}  # what the journal holds is whole
