"""Mountinfo and the place read back."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidtest.files import MARK
from acidtest.place import drives_mounted, facts, place_facts, queue
from acidtest.place.facts import Mount, mount_of, mounts_now, parse_mountinfo

MOUNTINFO = r"""
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 22 0:26 / /mnt/with\040space rw,noatime - tmpfs tmpfs rw,size=10240k
31 22 254:16 /sub /mnt rw - xfs /dev/vdb rw
"""


def test_the_longest_mount_point_wins() -> None:
    mounts = parse_mountinfo(MOUNTINFO)
    found = [mount_of(Path(p), mounts) for p in ("/mnt/with space/db", "/mnt/x", "/mntx", "/")]
    assert [m.filesystem for m in found if m] == ["tmpfs", "xfs", "ext4", "ext4"]
    assert found[0] is not None
    assert found[0].options == "rw,noatime,size=10240k"


def test_the_mounts_of_one_source_are_those_of_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Path("/proc/self/mountinfo").read_text()  # others mount meanwhile
    monkeypatch.setattr("acidtest.place.facts._read", lambda _: table)
    whole = mounts_now()
    assert whole
    for source in {mount.source for mount in whole}:
        assert [mount for mount in mounts_now(source) if mount.source == source] == [
            mount for mount in whole if mount.source == source
        ]


@given(st.text())
def test_any_text_parses(text: str) -> None:
    parse_mountinfo(text)


def test_this_machine(tmp_path: Path) -> None:
    facts = place_facts(tmp_path)
    seen = subprocess.run(["findmnt", "-no", "FSTYPE", "-T", tmp_path], capture_output=True, text=True, check=True)
    assert facts.filesystem == seen.stdout.strip()
    assert facts.free_bytes > 0


def test_what_a_lab_has_mounted_is_offered_to_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (names := ("own/mnt", "acidtest-1/mnt", "acidtest-2")):
        (tmp_path / name).mkdir(parents=True)
    for name in ("acidtest-1", "acidtest-2"):
        (tmp_path / name / MARK).touch()
    table = [Mount("254:9", "/", str(tmp_path / name), "rw", "ext4", f"/dev/{name}") for name in names]
    monkeypatch.setattr(facts, "mounts_now", lambda: table)
    assert [place_facts.path for place_facts in drives_mounted(0)] == [str(tmp_path / "own/mnt")]


def test_every_setting_of_a_queue_is_put_back(tmp_path: Path) -> None:
    before = {
        "scheduler": "none",
        "rotational": "0",
        "write_cache": "write back",
        "nr_requests": "64",
        "read_ahead_kb": "128",
    }
    for name, value in before.items():
        (tmp_path / name).write_text(value)
    kept = queue.snapshot(tmp_path, before)
    assert kept == before
    for changed in before:
        queue.put(tmp_path, tmp_path, {changed: "7"})
        assert queue.restore(tmp_path, kept)
        assert {name: queue.read(tmp_path, name) for name in before} == before
    assert not queue.restore(tmp_path, kept)
