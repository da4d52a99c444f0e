"""What an experiment asks of a place stands in its recording: every key that a kind of place takes, in real runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import pytest

from acidtest.experiment.places import KEYS_OF_KIND, OF_CUTS
from support import Run, journal_lines

QUEUE = {
    "scheduler": "mq-deadline", "scheduler_tunables": "fifo_batch=8", "queue": "nomerges=2", "read_ahead_kb": 64,
    "nr_requests": 32, "write_cache": "write through",
}  # fmt: skip
FILE_SYSTEM = {
    "filesystem": "ext4", "mkfs": "-m 1", "mount": "noatime", "block_size": 1024, "stripe_kb": 64, "stripe_disks": 2,
    "journal_mb": 8,
}  # fmt: skip
IMAGE = {"size_mb": 256, "sparse": True}
MEMORY = {"memory_mb": 100, "start": "cold", "access": "random"}
DISK = {
    "disk": "nvme", "disk_parameters": "queue_depth=2", "disk_cache_mb": 1, "disk_battery": "dead", "disk_sector": 512,
    "disk_faults": "reorder, ignore-write-through",
    "disk_medium": "file",
}  # fmt: skip
# By kind: the engine and the keys of each of its runs.
RUNS: dict[str, list[tuple[str, Mapping[str, Any]]]] = {
    "directory": [("sqlite", {"path": "here", **MEMORY})],
    "loop": [
        ("sqlite", {"path": "here", **IMAGE, **FILE_SYSTEM, **QUEUE, **MEMORY}),
        ("sqlite", {"filesystem": "ext4", "journal": "external", "journal_path": "here"}),
    ],
    "raw": [("firebird-5.0", {"path": "here", **IMAGE, **QUEUE, **MEMORY})],
    "disk": [
        ("sqlite", {"path": "here", "size_mb": 256, **FILE_SYSTEM, **QUEUE, **DISK, **MEMORY}),
        ("sqlite", {"filesystem": "ext4", "journal": "none"}),
    ],
}
# Where else a kind's keys are asked for: raw's device in test_places, what acts at power cuts in test_powercut, swap, which most
# machines lack, in tests/conductor/test_memory.py and tests/place/test_cgroup.py.
ELSEWHERE: dict[str, AbstractSet[str]] = {
    "directory": {"swap_mb"}, "loop": {"swap_mb"}, "raw": {"device", "drive_cache", "swap_mb"},
    "disk": {*OF_CUTS, "swap_mb"},
}  # fmt: skip


def in_force(recording: Mapping[str, Any], key: str, value: object) -> bool:
    """Whether the recording says that this key was in force."""
    place = recording["place"]
    settings = {setting["name"]: setting for setting in recording["settings"] if setting["agrees"]}

    def setting(name: str, asked: object) -> bool:
        found = settings.get(f"place.{name}")
        return found is not None and str(found["asked"]) == str(asked) and str(asked) in found["in_force"]

    match key:
        case "path":
            if place["kind"] == "raw":  # which has no path but the device's: what the image lies on is told
                return place["path"].startswith("/dev/loop") and bool(place["image_on"])
            return str(place["path"]).startswith(str(value))
        case "journal_path":
            return place["journal_device"].startswith("/dev/loop")
        case "size_mb":
            return f"{value} MiB" in place["image"]
        case "sparse":
            return "sparse" in place["image"]
        case "mkfs":
            return f" {value} " in place["mkfs"]
        case "mount":
            return setting(f"mount {value}", value) and str(value) in place["mount_options"].split(",")
        case "stripe_kb" | "stripe_disks":  # in blocks of 1,024 bytes, of both disks
            return "stripe=128" in place["mount_options"].split(",")
        case "scheduler_tunables" | "queue":
            return setting(*str(value).split("="))
        case "disk":
            return place["disk"].startswith(f"{value}, ")
        case "disk_parameters":
            return str(value).replace("=", " ") in place["disk"]
        case "disk_cache_mb":
            return f"write cache {value} MiB" in place["disk"]
        case "disk_battery":
            return f", controller with a {value} battery, " in place["disk"]
        case "disk_sector":
            return f"sectors of {value} bytes" in place["disk"]
        case "disk_medium":
            return place["image"].startswith(f"{value}, ")
    return setting(key, value)


def test_every_key_of_these_kinds_is_asked_for() -> None:
    for kind, runs in RUNS.items():
        asked = {"kind", *ELSEWHERE.get(kind, ()), *(key for _, keys in runs for key in keys)}
        assert asked == KEYS_OF_KIND[kind], kind


@pytest.mark.parametrize(
    ("kind", "engine", "keys"),
    [(kind, engine, keys) for kind, runs in RUNS.items() for engine, keys in runs],
    ids=[f"{kind} {n}" for kind, runs in RUNS.items() for n, _ in enumerate(runs, start=1)],
)
def test_it_is_read_back(acidtest: Run, tmp_path: Path, kind: str, engine: str, keys: Mapping[str, Any]) -> None:
    (tmp_path / "here").mkdir()
    asked = {key: str(tmp_path / "here") if value == "here" else value for key, value in keys.items()}
    place = "".join(f"{key} = {json.dumps(value)}\n" for key, value in asked.items())
    length = "duration_s = 3" if "access" in keys else "count = 5"  # the hint is given while the load goes on
    file = tmp_path / "asked.toml"
    file.write_text(
        f'name = "asked"\nrepetitions = 1\nengine = "{engine}"\ndurability = "drive"\n[workload.commits]\n{length}\n'
        f'[place]\nkind = "{kind}"\n{place}'
    )
    ran = acidtest("run", file, "--out", tmp_path / "out")
    assert ran.returncode in (0, 1), ran.stderr + ran.stdout  # findings may be severe
    (recording,) = journal_lines(tmp_path / "out")
    assert recording["status"] == "done", recording["reason"]
    assert recording["place"]["kind"] == kind
    assert [key for key, value in asked.items() if not in_force(recording, key, value)] == []


def test_what_drives_a_workload_is_read_back(acidtest: Run, tmp_path: Path) -> None:
    asked = {"terminals": 3, "warmup_s": 0.2, "duration_s": 0.5, "rate_per_s": 200.0, "arrivals": "fixed", "retries": 3, "row_bytes": 7}  # fmt: skip
    file = tmp_path / "driven.toml"
    file.write_text(
        'name = "driven"\nrepetitions = 1\nengine = "sqlite"\ndurability = "os"\n[settings.sqlite]\ncache_size_kb = 321\n'
        "[workload.commits]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in asked.items())
    )
    ran = acidtest("run", file, "--out", tmp_path / "out")
    assert ran.returncode in (0, 1), ran.stderr + ran.stdout
    (recording,) = journal_lines(tmp_path / "out")
    assert recording["status"] == "done", recording["reason"]
    assert {key: recording["workload"][key] for key in asked} == asked
    assert (recording["result"]["terminals"], recording["result"]["warmup_s"]) == (3, 0.2)
    assert recording["result"]["arrivals"]["scheduled"] == pytest.approx(100, abs=5)
    assert {setting["name"]: setting["in_force"] for setting in recording["settings"]}["cache_size_kb"] == "321"
    assert "warehouses" not in recording["workload"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[place]\nfilesystem = "xfs"\nmount = "sync"\nscheduler = "bfq"\n', "place.filesystem, place.mount: without effect: this needs"),
        ('[place]\nkind = "guest"\nfilesystem = "ext4"\nmemory_mb = 64\n', "write guest_memory_mb, or leave it out"),
    ],
)  # fmt: skip
def test_what_would_be_dropped_ends_with_2_before_anything_is_made(
    acidtest: Run, tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('name = "wrong"\nengine = "sqlite"\ndurability = "os"\n[workload.commits]\ncount = 5\n' + text)
    for command in (("run", file, "--out", tmp_path / "out"), ("plan", file)):
        done = acidtest(*command, code=2)
        assert f"{file}: place." in done.stderr
        assert said in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_run_of_power_cuts_is_sent_to_its_command(acidtest: Run, tmp_path: Path) -> None:
    file = Path(__file__).parents[2] / "experiments" / "power-cut.toml"
    done = acidtest("run", file, "--out", tmp_path / "out", code=2)
    assert 'factors.drive, level "tearing": place.disk_keeps: acts at a power cut only' in done.stderr
    assert f"acidtest powercut {file}" in done.stderr
