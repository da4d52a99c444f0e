"""The probe as a user meets it: storage of every kind, and what cannot be."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acidtest.experiment import PlaceSpec
from acidtest.place import Ledger, Place, make
from blocks import loop_over, mounted, mounted_in_memory
from support import ACIDTEST, Run, times

SHORT = ("--seconds", "2", "--quick")
METHODS = {"plain", "sync_file_range", "direct", "fsync", "fdatasync", "dsync", "direct_dsync"}


def found(ran: subprocess.CompletedProcess[str], code: int = 0) -> Any:
    assert ran.returncode == code, ran.stderr + ran.stdout
    return json.loads(ran.stdout)


@contextmanager
def placed(base: Path, ledger: Ledger, **spec: Any) -> Iterator[Place]:
    base.mkdir()
    place = make(PlaceSpec(**{"kind": "loop", "filesystem": "ext4", **spec}), base, ledger, database_bytes=1)
    try:
        yield place
    finally:
        place.release()


def test_a_directory_of_this_machine(acidtest: Run, tmp_path: Path) -> None:
    out, place = tmp_path / "out", tmp_path / "place"
    place.mkdir()
    probe = found(acidtest("probe", place, *SHORT, "--writers", "1", "--out", out, "--json"))
    assert probe["verdict"] in ("flushes", "cannot tell")
    assert (probe["path"], probe["repetitions"]) == (str(place), 5)
    rows = probe["rows"]
    assert {(row["method"], row["pattern"]) for row in rows} == {
        (method, pattern) for method in METHODS for pattern in ("overwrite", "append")
    }
    for row in rows:
        assert row["refused"] is None
        assert row["blocks_per_s"]["n"] == 5
        assert 0 < row["blocks_per_s"]["low"] <= row["blocks_per_s"]["median"] <= row["blocks_per_s"]["high"]
        assert row["latency_us"]["max"] > 0
        assert (row["verdict"] is not None) == (row["method"] in ("fsync", "fdatasync", "dsync", "direct_dsync"))
    plain = next(row for row in rows if (row["method"], row["pattern"]) == ("plain", "overwrite"))
    assert plain["times_plain"]["median"] == 1
    assert list(place.iterdir()) == []
    assert [path.name for path in out.iterdir()] == ["probe.json"]
    assert found(acidtest("report", out, "--json")) == probe
    refused(acidtest("probe", place, *SHORT, "--out", out), "holds a probe already")
    shown = acidtest("report", out)
    assert f"Commit path of {place}" in shown.stdout
    assert f"Verdict: {probe['verdict']}" in shown.stdout


def test_memory_does_not_flush(acidtest: Run, tmp_path: Path) -> None:
    with mounted_in_memory(tmp_path / "memory", size_mb=256) as memory:
        ran = acidtest("probe", memory, *SHORT)
        assert list(memory.iterdir()) == []
    assert ran.returncode == 1, ran.stderr
    words = " ".join(ran.stdout.split())
    assert "Verdict: does not flush" in words
    assert "tmpfs is memory: a power cut takes all that is on it." in words
    assert "0 s left" in words


@pytest.mark.parametrize(
    ("spec", "verdict", "rule"),
    [
        # Two file systems on top of each other: a time says nothing.
        ({}, "cannot tell", None),
        ({"mount": "nobarrier"}, "does not flush", "no-barrier"),
        ({"write_cache": "write through"}, "does not flush", "flush-stops"),
    ],
)
def test_a_file_system_of_known_options(
    acidtest: Run, tmp_path: Path, ledger: Ledger, spec: dict[str, Any], verdict: str, rule: str | None
) -> None:
    volatile = "write back" in Path("/sys/block").joinpath(_disk_of(tmp_path), "queue/write_cache").read_text()
    with placed(tmp_path / "base", ledger, **spec) as place:
        probe = found(acidtest("probe", place.path, *SHORT, "--json"), 1 if verdict == "does not flush" else 0)
        assert [layer["kind"] for layer in probe["layers"]][:3] == ["file system", "loop", "file system"]
        if volatile:  # else this machine's disk says that it needs no flush, and the rules say so too
            assert probe["verdict"] == verdict
            assert rule is None or rule in {one["rule"] for one in probe["evidence"]}
        assert [path.name for path in place.path.glob("acidtest-*")] == []


TURNS_PER_S = 30  # so few that a busy machine, too, writes faster where nothing waits for a turn
FASTER = ("faster-than-it-turns", "does not flush")
DURABLE = ("fsync", "fdatasync", "dsync", "direct_dsync")


@pytest.mark.parametrize(
    ("spec", "lies"),
    [
        pytest.param({"disk_cache_mb": 0}, False, marks=pytest.mark.long),
        ({"disk_cache_mb": 32}, False),
        ({"disk_faults": "lie-about-flush"}, True),
    ],
    ids=["cache off", "cache on", "lying"],
)
def test_a_simulated_disk_that_turns(
    acidtest: Run, tmp_path: Path, ledger: Ledger, spec: dict[str, Any], lies: bool
) -> None:
    """An honest disk passes its turns only where the next block is caught in the same turn, which on average takes half of
    one. A lying disk is named by the ways in which it is twice as fast. The rule at every speed is in
    tests/audit/test_flushes.py."""
    disk = {"kind": "disk", "disk": "rotating", "disk_parameters": f"rpm={60 * TURNS_PER_S}"}
    with placed(tmp_path / "base", ledger, **disk, **spec) as place:
        ran = acidtest("probe", place.path, "--quick", "--seconds", "5", "--json")
        probe = found(ran, ran.returncode)
    assert [(layer["kind"], layer["about"]) for layer in probe["layers"]][1:] == [("disk", "simulated")]
    rates = {
        row["method"]: row["blocks_per_s"]["median"]
        for row in probe["rows"]
        if (row["method"], row["pattern"], row["writers"]) in {(one, "overwrite", 1) for one in DURABLE}
    }
    assert set(rates) == set(DURABLE)
    named = {one["method"] for one in probe["evidence"] if (one["rule"], one["verdict"]) == FASTER}
    assert (
        {one for one, rate in rates.items() if rate > 300}
        <= named
        <= {one for one, rate in rates.items() if rate > 240}
    )
    assert (probe["verdict"] == "does not flush") == (ran.returncode == 1) == bool(named)
    if lies:
        assert max(rates.values()) > 1.05 * TURNS_PER_S, rates
    else:
        assert max(rates.values()) <= 2 * TURNS_PER_S, rates


def _disk_of(path: Path) -> str:
    source = subprocess.run(["findmnt", "-no", "SOURCE", "-T", path], capture_output=True, text=True, check=True)
    parent = subprocess.run(
        ["lsblk", "-no", "PKNAME", source.stdout.strip()], capture_output=True, text=True, check=False
    )
    return parent.stdout.strip().splitlines()[0] if parent.stdout.strip() else Path(source.stdout.strip()).name


def test_writers_on_one_file_and_on_their_own(acidtest: Run, tmp_path: Path) -> None:
    for option in ([], ["--one-file"]):
        probe = found(
            acidtest("probe", tmp_path, "--seconds", "1", "--repetitions", "1", "--writers", "4,16", "--json", *option)
        )
        many = [row for row in probe["rows"] if row["writers"] > 1]
        assert {row["writers"] for row in probe["rows"]} == {1, 4, 16}
        assert all(row["one_file"] is bool(option) and row["blocks_per_s"]["median"] > 0 for row in many)
        # One repetition bears neither an interval nor a verdict on time.
        assert all(row["blocks_per_s"]["low"] is None for row in probe["rows"])
        assert probe["verdict"] == "cannot tell"
        assert {one["rule"] for one in probe["evidence"] if one["method"]} == {"too-few-repetitions"}


def test_a_block_that_the_drive_does_not_take_is_refused_row_by_row(
    acidtest: Run, tmp_path: Path, ledger: Ledger
) -> None:
    with loop_over(tmp_path / "drive", 64) as device:
        subprocess.run(["losetup", "--sector-size", "4096", device], check=True)
        probe = found(acidtest("probe", device, "--use-device", device, *SHORT, "--block", "512", "--json"))
        refused = {row["method"]: row["refused"] for row in probe["rows"]}
        assert {method for method, words in refused.items() if words} == {"direct", "direct_dsync"}
        assert "Invalid argument" in refused["direct"]


def test_a_device_is_only_looked_at_until_the_command_names_it(acidtest: Run, tmp_path: Path) -> None:
    image = tmp_path / "drive"
    with loop_over(image, 64) as device:
        before = hashlib.sha256(image.read_bytes()).digest()
        looked = acidtest("probe", device, code=0)
        assert "Nothing was written" in looked.stdout
        assert f"--use-device {device}" in looked.stdout
        assert hashlib.sha256(image.read_bytes()).digest() == before
        probe = found(acidtest("probe", device, "--use-device", device, *SHORT, "--json"))
        assert {row["pattern"] for row in probe["rows"]} == {"overwrite"}
        assert {row["method"] for row in probe["rows"]} == METHODS
        assert hashlib.sha256(image.read_bytes()).digest() == before  # left empty, as it was
        subprocess.run(["mkfs.ext4", "-q", "-L", "precious", device], check=True)
        refused(acidtest("probe", device, "--use-device", device, *SHORT), "precious", "--erase")
        with mounted(device, tmp_path / "point"):
            refused(acidtest("probe", device, "--use-device", device, "--erase", device, *SHORT), "mounted at")
            refused(acidtest("probe", tmp_path / "point", "--use-device", device, *SHORT), "not what is probed")
        erased = acidtest("probe", device, "--use-device", device, "--erase", device, *SHORT, "--json")
        assert found(erased)["rows"]


def refused(ran: subprocess.CompletedProcess[str], *said: str, code: int = 2) -> None:
    assert ran.returncode == code, (ran.returncode, ran.stdout, ran.stderr)
    assert 1 <= len([line for line in ran.stderr.splitlines() if not line.startswith("device ")]) <= 2, ran.stderr
    for words in said:
        assert words in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/nowhere/at/all"], "No such file"),
        (["/dev/null"], "neither a directory nor a block device"),
        ([".", "--block", "1000"], "power of two"),
        ([".", "--block", "256"], "power of two"),
        ([".", "--writers", "1,two"], "numbers from 1 to 16"),
        ([".", "--writers", "64"], "numbers from 1 to 16"),
        ([".", "--seconds", "0"], "above 0"),
        ([".", "--repetitions", "0"], "1 to 1000"),
        ([".", "--use-device", "/dev/null"], "not what is probed"),
        ([".", "--out", "/dev/null/x"], "cannot be written to"),
    ],
)
def test_bad_arguments(acidtest: Run, arguments: list[str], said: str) -> None:
    refused(acidtest("probe", *arguments), said)


def test_a_directory_without_permission(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    drop = "-dac_override,-dac_read_search"
    command = ["setpriv", f"--bounding-set={drop}", f"--inh-caps={drop}", ACIDTEST, "probe", locked]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    refused(ran, "cannot be written to", "Permission denied")


def test_a_disk_without_space(acidtest: Run, tmp_path: Path) -> None:
    with mounted_in_memory(tmp_path / "small", size_mb=10) as small:
        refused(acidtest("probe", small, *SHORT), "MB free", str(small))
        assert list(small.iterdir()) == []


def test_killed_in_the_middle_it_leaves_what_clean_removes(acidtest: Run, tmp_path: Path) -> None:
    environment = {**os.environ, "ACIDTEST_HOME": str(tmp_path / "home")}
    place = tmp_path / "place"
    place.mkdir()
    for delay_s in (0.3, 0.0, 1.0)[: times(1, 3)]:
        lab = subprocess.Popen(
            [ACIDTEST, "probe", place, "--seconds", "30"],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        end = time.monotonic() + 120
        while not list(place.glob("acidtest-*/overwrite-0")):
            assert lab.poll() is None
            assert time.monotonic() < end
            time.sleep(0.01)
        time.sleep(delay_s)
        lab.kill()
        assert lab.wait() == -signal.SIGKILL
        cleaned = acidtest("clean", environment=environment, code=0)
        assert f"removed {place}/acidtest-" in cleaned.stdout
        assert list(place.iterdir()) == []
        assert acidtest("clean", environment=environment).stdout == "Nothing was left behind.\n"


def test_interrupted_it_leaves_nothing(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    # What was started in the background may have been told to ignore it.
    lab = subprocess.Popen(
        ["env", "--default-signal=INT", ACIDTEST, "probe", place, "--seconds", "30"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    while not list(place.glob("acidtest-*/overwrite-0")):
        assert lab.poll() is None
        time.sleep(0.01)
    lab.send_signal(signal.SIGINT)
    lab.communicate(timeout=300)
    assert lab.returncode == 130
    assert list(place.iterdir()) == []
