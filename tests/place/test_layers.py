"""What lies beneath a directory or device, read from this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from acidtest.experiment import PlaceSpec
from acidtest.place import Ledger, make, place_facts
from acidtest.place.facts import layers
from blocks import loop_over


def test_a_directory_of_this_machine(tmp_path: Path) -> None:
    found, facts = layers(tmp_path), place_facts(tmp_path)
    assert (found[0].kind, found[0].name, found[0].about) == ("file system", facts.filesystem, facts.mount_options)
    disk = found[-1]
    if facts.write_cache != "unknown":
        assert disk.kind == "disk"
        assert (disk.write_cache, disk.rotational, disk.fua, disk.scheduler) == (
            facts.write_cache, facts.rotational, facts.fua, facts.scheduler,
        )  # fmt: skip
        assert disk.driver


def test_memory_ends_with_its_file_system() -> None:
    assert [(layer.kind, layer.name) for layer in layers(Path("/dev/shm"))] == [("file system", "tmpfs")]


@pytest.mark.parametrize("filesystem", ["ext4", "btrfs"])  # btrfs's device numbers are of its own making
def test_a_loop_shows_what_its_image_lies_on(filesystem: str, tmp_path: Path, ledger: Ledger) -> None:
    base = tmp_path / "base"
    base.mkdir()
    spec = PlaceSpec(kind="loop", filesystem=filesystem, write_cache="write through", scheduler="none")
    place = make(spec, base, ledger, database_bytes=1)
    try:
        found = layers(place.path)
        assert [layer.kind for layer in found[:2]] == ["file system", "loop"]
        assert (found[0].name, found[1].write_cache, found[1].scheduler) == (filesystem, "write through", "none")
        assert found[1].about.startswith(str(base))
        assert found[2:] == layers(base)
        assert layers(Path(found[1].name)) == found[1:]
    finally:
        place.release()


def test_a_partition_stands_above_its_disk(tmp_path: Path) -> None:
    with loop_over(tmp_path / "drive", 64) as device:
        subprocess.run(["addpart", device, "1", "2048", "4096"], check=True)  # in sectors; nothing is written
        try:
            part = Path(f"{device}p1")
            assert [(layer.kind, layer.name) for layer in layers(part)[:2]] == [
                ("partition", str(part)),
                ("loop", str(device)),
            ]
        finally:
            subprocess.run(["delpart", device, "1"], check=True)
