"""A FUSE mount whose server has ended is named, with what removes it, wherever it would make something fail.

All in a mount namespace of the test's own: nobody else sees the dead mount.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from blocks import loops_over_files_in, mounts_below
from support import ACIDTEST

CHECKOUT = Path(__file__).parents[2]
BESIDE_A_DEAD_DISK = """
import contextlib, json, os, signal, subprocess, sys, time
from pathlib import Path
from acidtest.errors import CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.place import Ledger, make
from acidtest.place.facts import mounts_now
from acidtest.place.mounts import LIBRARY, dead_mounts

MNT_DETACH = 2
base, others, acidtest, pytest = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
assert os.readlink("/proc/self/ns/mnt") != others
for mount in reversed(mounts_now()):  # of others, who would wait until this namespace has gone
    if mount.source.startswith("/dev/loop") or mount.filesystem.startswith("fuse."):
        LIBRARY.umount2(os.fsencode(mount.point), MNT_DETACH)

def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout

def btrfs():
    try:
        make(PlaceSpec(kind="loop", filesystem="btrfs", size_mb=128), base, ledger, database_bytes=1).release()
    except CellFailed as error:
        return [error.message, error.remedy]
    return []

ledger = Ledger()
place = make(PlaceSpec(kind="disk", filesystem="ext4", size_mb=64), base, ledger, database_bytes=1)
told = {"alive": [str(mount) for mount in dead_mounts()]}
os.kill(place.storage.disk.pid, signal.SIGKILL)
while not (dead := dead_mounts()):
    time.sleep(0.01)
told |= {"point": dead[0].point, "dead": [[str(mount), mount.remedy] for mount in dead], "cell": btrfs()}
told["doctor"] = json.loads(said(acidtest, "doctor", "--json"))["findings"]
told["tests"] = said(*pytest)
told["remedied"] = subprocess.run(dead[0].remedy.partition("; or: ")[2], shell=True).returncode
told |= {"left": [str(mount) for mount in dead_mounts()], "cell again": btrfs()}
with contextlib.suppress(OSError, CellFailed):
    place.release()
ledger.close()
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What everybody says beside a simulated disk whose process was killed, and after what was named has been done."""
    directory = tmp_path_factory.mktemp("dead")
    (directory / "base").mkdir()
    script = directory / "beside.py"
    script.write_text(BESIDE_A_DEAD_DISK)
    own = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", CHECKOUT / "tests/layers/test_groups.py"]
    others = Path("/proc/self/ns/mnt").readlink()
    done = subprocess.run(
        ["unshare", "--mount", sys.executable, script, directory / "base", others, ACIDTEST, *own],
        env={**os.environ, "ACIDTEST_HOME": str(directory / "home")},
        cwd=CHECKOUT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_only_a_mount_whose_server_has_ended_is_dead(told: dict[str, Any]) -> None:
    assert told["alive"] == []
    ((words, _),) = told["dead"]
    assert words == f"{told['point']}: the server of this FUSE mount (acidtest-disk) has ended"


def test_the_cell_that_it_makes_fail_names_it(told: dict[str, Any]) -> None:
    ((words, remedy),) = told["dead"]
    message, do = told["cell"]
    assert message.startswith("mkfs.btrfs ")
    assert "Transport endpoint is not connected" in message
    assert message.endswith(words)
    assert do == remedy


def test_doctor_names_it(told: dict[str, Any]) -> None:
    ((words, remedy),) = told["dead"]
    expected = {"what": "dead mount", "state": "doubtful", "detail": words, "remedy": remedy}
    assert expected in told["doctor"]


def test_a_run_of_the_tests_begins_and_ends_with_it(told: dict[str, Any]) -> None:
    ((words, remedy),) = told["dead"]
    lines = told["tests"].splitlines()
    assert lines.count(f"{words}. What removes it: {remedy}") == 2, told["tests"]
    assert "1 passed" in lines[-1]


def test_what_is_named_removes_it(told: dict[str, Any]) -> None:
    assert (told["remedied"], told["left"], told["cell again"]) == (0, [], [])


def test_a_bench_that_is_told_to_end_leaves_none(tmp_path: Path) -> None:
    bench = subprocess.Popen(
        [sys.executable, "-m", "bench", "cuts", "--rounds", "100"],
        env={**os.environ, "TMPDIR": str(tmp_path)}, cwd=CHECKOUT,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with contextlib.closing(bench.stderr):  # type: ignore[type-var]
        while not mounts_below(tmp_path):
            assert bench.poll() is None
            time.sleep(0.01)
        bench.send_signal(signal.SIGTERM)
        _, words = bench.communicate()
    assert (bench.returncode, words) == (128 + signal.SIGTERM, "stopped by SIGTERM: what was made is released\n")
    assert (mounts_below(tmp_path), loops_over_files_in(tmp_path), list(tmp_path.glob("home/ledger/*"))) == ([], [], [])
