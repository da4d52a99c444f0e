"""Each way of writing asks the kernel for what its name says, and for nothing else: the rig under strace."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest

from acidtest.conductor import probe as probing
from acidtest.conductor.admission import Devices
from acidtest.errors import BadInput
from acidtest.files import find_rig
from acidtest.journal.protocol import Count, DirectoryTarget, FlushMethod, ProbeJob, ProbePattern, ProbeStep

WRITES = 25
FLAGS = {"direct": {"O_DIRECT"}, "dsync": {"O_DSYNC"}, "direct_dsync": {"O_DIRECT", "O_DSYNC"}}
CALLS = ("sync_file_range", "fsync", "fdatasync")
METHODS: tuple[FlushMethod, ...] = ("plain", "direct", "dsync", "direct_dsync", "sync_file_range", "fsync", "fdatasync")


@pytest.mark.parametrize("pattern", ["overwrite", "append"])
@pytest.mark.parametrize("method", METHODS)
def test_the_calls(method: FlushMethod, pattern: ProbePattern, tmp_path: Path) -> None:
    place, trace = tmp_path / "place", tmp_path / "trace"
    place.mkdir()
    step = ProbeStep(
        method=method, pattern=pattern, block_bytes=8192, writers=1, one_file=False, extent=Count(transactions=WRITES)
    )
    job = ProbeJob(
        seed=1,
        target=DirectoryTarget(path=str(place)),
        overwrite_bytes=1 << 20,
        append_bytes=1 << 20,
        steps=[step],
    )
    command = [
        "strace",
        "-f",
        "-o",
        trace,
        "-e",
        "trace=openat,pwrite64,sync_file_range,fsync,fdatasync",
        find_rig(),
        "probe",
    ]
    ran = subprocess.run(command, input=job.model_dump_json(), capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = trace.read_text().splitlines()
    opened = [line for line in lines if f'{pattern}-0"' in line and "O_WRONLY" in line]
    flags = set(re.findall(r"O_D\w+", opened[-1]))
    assert flags - {"O_DIRECTORY"} == FLAGS.get(method, set())
    count = {call: sum(f" {call}(" in line for line in lines) for call in (*CALLS, "pwrite64")}
    prepared = 1 if pattern == "overwrite" else 0  # one MiB at once
    assert count["pwrite64"] == WRITES + prepared
    for call in CALLS:
        around = 2 if call == "fsync" else 0  # before the first write and after the last
        assert count[call] == (WRITES if call == method else 0) + around, count


@pytest.mark.parametrize("pattern", ["read", "read_random", "overwrite_random"])
@pytest.mark.parametrize("method", ["plain", "direct"])
def test_a_disk_test_reads_and_writes_what_its_name_says(
    method: FlushMethod, pattern: ProbePattern, tmp_path: Path
) -> None:
    place, trace = tmp_path / "place", tmp_path / "trace"
    place.mkdir()
    step = ProbeStep(
        method=method, pattern=pattern, block_bytes=8192, writers=1, one_file=True, extent=Count(transactions=WRITES)
    )
    job = ProbeJob(
        seed=1, target=DirectoryTarget(path=str(place)), overwrite_bytes=1 << 20, append_bytes=1 << 20, steps=[step]
    )
    command = ["strace", "-f", "-o", trace, "-e", "trace=openat,pread64,pwrite64,fsync", find_rig(), "probe"]
    ran = subprocess.run(command, input=job.model_dump_json(), capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = trace.read_text().splitlines()
    reads = pattern.startswith("read")
    opened = [line for line in lines if 'overwrite-0"' in line and ("O_RDONLY" if reads else "O_WRONLY") in line]
    assert any("O_DIRECT" in line for line in opened) == (method == "direct")
    call = "pread64" if reads else "pwrite64"
    blocks = [line for line in lines if f" {call}(" in line and ", 8192, " in line]
    assert len(blocks) == WRITES
    offsets = [int(re.findall(r", 8192, (\d+)", line)[0]) for line in blocks]
    assert all(offset % 8192 == 0 and offset < 1 << 20 for offset in offsets)
    in_order = sorted(set(offsets)) == [8192 * number for number in range(WRITES)]
    assert in_order == (pattern == "read")


def test_a_device_that_the_command_does_not_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the conductor too, before it looks whether the device is empty."""
    monkeypatch.setattr(probing, "is_device", Mock(return_value=True))
    monkeypatch.setattr(probing, "admit", admit := Mock())
    with pytest.raises(BadInput, match="only when the command names it as to be used"):
        probing.probe(tmp_path, Mock(), Devices.named([], []), Mock(), Mock())
    admit.assert_not_called()
