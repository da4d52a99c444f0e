"""The counters of block devices: the right device is found, and what was done on it is what they say."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from acidtest.experiment import PlaceSpec
from acidtest.journal.models import DeviceWork
from acidtest.place import Ledger, make
from acidtest.place.diskstats import Counters, between, counters, device_beneath, parse
from blocks import loop_over, mounted

BLOCKS, SIZE = 100, 4096


def work_of(path: Path, deed: Callable[[], None]) -> DeviceWork:
    block = device_beneath(path)
    assert block
    before = counters(block)
    deed()
    return between(block.name, before, counters(block))


def write_and_flush(path: Path) -> None:
    """Overwrite blocks, each made durable before the next. Their flushes are requests of their own."""
    file = os.open(path, os.O_WRONLY)
    try:
        for number in range(BLOCKS):
            os.pwrite(file, os.urandom(SIZE), number * SIZE)
            os.fdatasync(file)
    finally:
        os.close(file)


def write_durably(path: Path) -> None:
    """The same by O_DIRECT and O_DSYNC."""
    dd = ["dd", "if=/dev/zero", f"of={path}", f"bs={SIZE}", f"count={BLOCKS}", "oflag=direct,dsync", "conv=notrunc"]
    subprocess.run(dd, check=True, capture_output=True)


def test_writes_and_flushes_of_a_loop_are_those_that_were_asked_for(tmp_path: Path) -> None:
    with loop_over(tmp_path / "drive", 64) as device:
        work = work_of(device, lambda: write_and_flush(device))
        assert (work.device, work.write_bytes, work.flushes) == (device.name, BLOCKS * SIZE, BLOCKS)
        assert work.writes == 2 * BLOCKS  # each flush is a write of no bytes as well
        assert work.flush_s is not None
        assert work.flush_s <= work.write_s + 0.001
        work = work_of(device, lambda: write_durably(device))
        # A device without FUA gets a flush with the write, and the kernel sends one more after it.
        assert (work.writes, work.write_bytes, work.flushes) == (2 * BLOCKS, BLOCKS * SIZE, 2 * BLOCKS)

        def read() -> None:
            subprocess.run(
                ["dd", f"if={device}", "of=/dev/null", "bs=64k", "count=50", "iflag=direct"],
                check=True,
                capture_output=True,
            )

        work = work_of(device, read)
        assert (work.reads, work.read_bytes, work.writes, work.flushes) == (50, 50 << 16, 0, 0)


@pytest.mark.parametrize("kind", ["loop", "disk"])
@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_files_of_a_place_are_counted_on_its_device(kind: str, filesystem: str, tmp_path: Path, ledger: Ledger) -> None:
    (base := tmp_path / "base").mkdir()
    place = make(PlaceSpec.model_validate({"kind": kind, "filesystem": filesystem}), base, ledger, database_bytes=1)
    try:
        file = place.path / "file"
        file.write_bytes(bytes(BLOCKS * SIZE))
        place.settle()
        work = work_of(file, lambda: write_and_flush(file))
        assert f"/dev/{work.device}" == place.facts().device
        # The journal may add a few of its own.
        assert BLOCKS * SIZE <= work.write_bytes <= 1.5 * BLOCKS * SIZE
        assert work.flushes is not None
        assert BLOCKS <= work.flushes <= 1.2 * BLOCKS
    finally:
        place.release()


def test_a_database_on_a_raw_device_is_a_link_to_it(tmp_path: Path) -> None:
    with loop_over(tmp_path / "drive", 64) as device:
        (link := tmp_path / "database").symlink_to(device)
        assert device_beneath(link) == device_beneath(device) == Path(f"/sys/block/{device.name}").resolve()


def test_a_partition_is_counted_on_its_disk(tmp_path: Path) -> None:
    with loop_over(tmp_path / "drive", 64) as device:
        subprocess.run(["addpart", device, "1", "2048", "8192"], check=True)  # in sectors
        try:
            part = Path(f"{device}p1")
            work = work_of(part, lambda: write_and_flush(part))
            assert (work.device, work.write_bytes, work.flushes) == (device.name, BLOCKS * SIZE, BLOCKS)
        finally:
            subprocess.run(["delpart", device, "1"], check=True)


def test_a_btrfs_is_counted_while_it_is_on_one_device(tmp_path: Path) -> None:
    with loop_over(tmp_path / "one", 256) as one, loop_over(tmp_path / "two", 256) as two:
        subprocess.run(["mkfs.btrfs", "-q", "-f", one], check=True)
        with mounted(one, tmp_path / "mounted", "rw") as point:
            subprocess.run(["btrfs", "subvolume", "create", point / "sub"], check=True, stdout=subprocess.DEVNULL)
            assert device_beneath(point / "sub") == Path(f"/sys/block/{one.name}").resolve()
        with mounted(one, tmp_path / "mounted", "rw,subvol=sub") as point:
            assert device_beneath(point) == Path(f"/sys/block/{one.name}").resolve()
            subprocess.run(["btrfs", "device", "add", "-f", two, point], check=True, stdout=subprocess.DEVNULL)
            assert device_beneath(point) is None


def test_what_is_on_no_device_has_none(tmp_path: Path) -> None:
    assert device_beneath(Path("/dev/shm")) is None
    assert device_beneath(Path("/proc")) is None
    for name in ("lower", "upper", "work", "over"):
        (tmp_path / name).mkdir()
    options = ",".join(f"{name}dir={tmp_path / name}" for name in ("lower", "upper", "work"))
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, tmp_path / "over"], check=True)
    try:
        assert device_beneath(tmp_path / "over") is None
    finally:
        subprocess.run(["umount", tmp_path / "over"], check=True)


def test_a_device_that_does_not_count_is_none(tmp_path: Path) -> None:
    with loop_over(tmp_path / "drive", 64) as device:
        (iostats := Path(f"/sys/block/{device.name}/queue/iostats")).write_text("0")
        try:
            assert device_beneath(device) is None
        finally:
            iostats.write_text("1")


LINE = "7 1 56 9 2000 3 160000 40 5 60 100 1 2 3 4 12 70"


@pytest.mark.parametrize(
    ("text", "flushes", "flush"),
    [(LINE, True, (12, 70)), (LINE, False, None), (LINE.rsplit(" ", 2)[0], True, None), (" ".join(LINE.split()[:11]), True, None)],
    ids=["since 5.5", "takes no requests", "4.18", "older"],
)  # fmt: skip
def test_old_kernels_and_some_drivers_count_no_flushes(text: str, flushes: bool, flush: tuple[int, int] | None) -> None:
    found = parse(text, flushes=flushes)
    assert found == Counters(7, 56, 9, 2000, 160000, 40, 60, flush)
    work = between("sda", found, replace(found, reads=9, read_sectors=72, busy_ms=1_060))
    assert (work.reads, work.read_bytes, work.busy_s, work.writes) == (2, 8192, 1.0, 0)
    assert (work.flushes, work.flush_s) == ((0, 0.0) if flush else (None, None))


def test_times_go_round_and_are_told_nevertheless() -> None:
    before = Counters(1, 8, (1 << 32) - 500, 1, 8, 0, 0, (1, (1 << 32) - 1))
    work = between("sda", before, replace(before, read_ms=1_500, flush=(2, 9)))
    assert (work.read_s, work.flush_s) == (2.0, 0.01)
