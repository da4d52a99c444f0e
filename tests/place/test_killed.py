"""A lab, or its simulated disk, is killed at any moment: nothing of it remains."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from acidtest.place import leftovers, release_leftovers
from acidtest.place.device_safety import look
from blocks import loop_over, loops_over_files_in, mounts_below
from places import smallest_mb
from support import ACIDTEST, times

LAB = """
import sys, time
from pathlib import Path
from acidtest.experiment import PlaceSpec
from acidtest.place import Ledger, make
ledger, base = Ledger(), Path(sys.argv[1])
print("begins", flush=True)
while True:
    place = make(PlaceSpec(**eval(sys.argv[2])), base, ledger, database_bytes=1)
    directory = place.subdirectory("cell")
    (directory / "file").write_bytes(b"x" * 1_000_000)
    place.release()
"""
WRITES = """
import os, sys
from pathlib import Path
from acidtest.experiment import PlaceSpec
from acidtest.place import Ledger, make
class Tells(Ledger):
    def start_process(self, command, **more):
        id, process = super().start_process(command, **more)
        if command[-1] == "disk":
            print(process.pid, flush=True)
        return id, process
place = make(PlaceSpec(**eval(sys.argv[2])), Path(sys.argv[1]), Tells(), database_bytes=1)
print("made", flush=True)
with (place.path / "file").open("wb") as file:
    while True:
        file.write(b"x" * 100_000)
        file.flush()
        os.fsync(file.fileno())
"""
QUEUE = {"scheduler": "bfq", "read_ahead_kb": 64}
SPECS = {
    "ext4": {"kind": "loop", "filesystem": "ext4", **QUEUE},
    "xfs": {"kind": "loop", "filesystem": "xfs", "journal": "external"},
    "btrfs": {"kind": "loop", "filesystem": "btrfs", "mount": "sync"},
    "raw": {"kind": "raw", **QUEUE},
    "disk": {"kind": "disk", "filesystem": "ext4", "size_mb": smallest_mb("ext4"), **QUEUE},
}
MOMENTS = times(2, 6)  # of each


def kill_one(base: Path, spec: dict[str, object], delay_s: float) -> None:
    lab = subprocess.Popen(
        [sys.executable, "-c", LAB, base, repr(spec)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert lab.stdout is not None
    assert lab.stdout.readline() == b"begins\n"
    time.sleep(delay_s)
    lab.kill()
    _, errors = lab.communicate()
    assert lab.returncode == -signal.SIGKILL, errors.decode()


@pytest.mark.parametrize("name", SPECS)
def test_nothing_remains(name: str, tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    for _ in range(MOMENTS):
        kill_one(base, SPECS[name], delay := moments.uniform(0, 0.6))
        release_leftovers()
        about = f"seed {seed}, killed after {delay:.4f} s"
        assert mounts_below(base) == [], about
        assert loops_over_files_in(base) == [], about
        assert list(base.iterdir()) == [], about
        assert leftovers() == [], about


@pytest.mark.parametrize(
    ("filesystem", "faults"), [("ext4", ""), ("xfs", ""), ("xfs", "stop after 300 requests fail after 1 s")]
)
def test_nothing_remains_of_a_disk_that_is_killed_and_of_its_lab(tmp_path: Path, filesystem: str, faults: str) -> None:
    base = tmp_path / "base"
    base.mkdir()
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    spec = {"kind": "disk", "filesystem": filesystem, "size_mb": smallest_mb(filesystem), "disk_faults": faults}
    for number in range(MOMENTS):
        lab = subprocess.Popen(
            [sys.executable, "-c", WRITES, base, repr(spec)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            assert lab.stdout is not None
            disk = int(lab.stdout.readline())
            if number % 2:  # while the place is made, or while it is written to
                assert lab.stdout.readline() == b"made\n"
            time.sleep(delay := moments.uniform(0, 0.8))
            os.kill(disk, signal.SIGKILL)
        finally:
            lab.kill()
            lab.communicate()
        about = f"seed {seed}, {number + 1} of {MOMENTS}, killed after {delay:.4f} s"
        cleaned = subprocess.run([ACIDTEST, "clean"], capture_output=True, text=True, check=False, timeout=60)
        assert cleaned.returncode == 0, f"{about}: {cleaned.stderr}"
        assert mounts_below(base) == [], about
        assert loops_over_files_in(base) == [], about
        assert list(base.iterdir()) == [], about
        assert leftovers() == [], about


def test_a_real_device_is_unmounted_restored_and_wiped(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    with loop_over(tmp_path / "drive", 512) as device:
        scheduler = Path(f"/sys/block/{device.name}/queue/scheduler")
        before = scheduler.read_text()
        seed = random.randrange(1 << 32)
        moments = random.Random(seed)
        for _ in range(MOMENTS):
            spec = {"kind": "device", "device": str(device), "filesystem": "ext4", **QUEUE}
            kill_one(base, spec, delay := moments.uniform(0, 0.6))
            release_leftovers()
            about = f"seed {seed}, killed after {delay:.4f} s"
            assert scheduler.read_text() == before, about
            found = look(str(device))
            assert found.used == "", about
            # In the middle of mkfs there is no label yet by which to know that it was ours.
            assert found.holds in ((), ("data of no known kind",)), about
            subprocess.run(["blkdiscard", "--zeroout", device], check=True)


def test_labs_side_by_side_do_not_take_each_others_loops(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    once = LAB.replace("while True:", f"for _ in range({times(3, 8)}):") + "ledger.close()\n"
    labs = [
        subprocess.Popen([sys.executable, "-c", once, base, repr(SPECS["raw"])], stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [lab.communicate()[1] for lab in labs]
    assert [lab.returncode for lab in labs] == [0, 0, 0], said
    assert loops_over_files_in(base) == []
    assert leftovers() == []
