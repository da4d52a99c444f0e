"""The simulated disk as the lab uses it: what survives a cut, what fails, what it counts, and that nothing hangs on it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from acidtest.analysis import disk_log
from acidtest.errors import BadInput, CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.files import sync_filesystem
from acidtest.journal.protocol import CutKeeps, DiskState, TornWrite
from acidtest.place import DirectoryPlace, Ledger, check, leftovers, loops, make, release_leftovers
from acidtest.place.cgroup import Cgroup
from acidtest.place.cuttable import CuttablePlace
from acidtest.place.disk import OVER_IO_URING, SimulatedDisk, faults, faults_in_force
from acidtest.place.facts import place_facts
from blocks import loops_over_files_in, mounts_below
from places import smallest_mb
from support import times

BLOCK = 4096
NEVER_IDLE = "destage_ms=600000"  # nothing leaves the cache unless it is flushed, however slow this machine
Made = Callable[..., SimulatedDisk]
Cuttable = Callable[..., tuple[CuttablePlace, Any]]


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "base"
    path.mkdir()
    yield path
    assert mounts_below(path) == [] == loops_over_files_in(path)
    assert list(path.iterdir()) == []


@contextlib.contextmanager
def over_io_uring() -> Iterator[bool]:
    """Disks made meanwhile are offered FUSE over io_uring; whether this kernel has it. It is the whole machine's setting."""
    if not OVER_IO_URING.exists():
        yield False
        return
    with OVER_IO_URING.open() as alone:  # other workers set it too
        fcntl.flock(alone, fcntl.LOCK_EX)
        before = OVER_IO_URING.read_text()
        OVER_IO_URING.write_text("Y")
        try:
            yield True
        finally:
            OVER_IO_URING.write_text(before)


both_ways = pytest.mark.parametrize("disk", ["through the device", "over io_uring"], indirect=True)


@pytest.fixture
def disk(base: Path, ledger: Ledger, request: pytest.FixtureRequest) -> Iterator[Made]:
    """Makes disks of 64 MiB and ends them."""
    with contextlib.ExitStack() as held:

        def one(*, size_mb: int = 64, log: Path | None = None, **keys: Any) -> SimulatedDisk:
            home = DirectoryPlace(base, ledger, needed_bytes=0)
            held.callback(home.release)
            spec = PlaceSpec(kind="disk", **keys)
            if getattr(request, "param", None) == "over io_uring":
                with over_io_uring() as offered:
                    made = SimulatedDisk(spec, home, size_mb, ledger, log=log)
                assert made.over_io_uring is offered
                assert ("over io_uring" in made.facts()["disk"]) is offered
            else:
                made = SimulatedDisk(spec, home, size_mb, ledger, log=log)
            held.callback(made.release)
            return made

        yield one


@pytest.fixture
def cuttable(base: Path, ledger: Ledger) -> Iterator[Cuttable]:
    """Makes places whose power can be cut, each on a disk of its own or on the one that is given, and ends both."""
    with contextlib.ExitStack() as held:

        def one(spec: PlaceSpec, *, drive: Any = None) -> tuple[CuttablePlace, Any]:
            home = DirectoryPlace(base, ledger, needed_bytes=0)
            held.callback(home.release)
            if drive is None:
                drive = SimulatedDisk(spec, home, smallest_mb(spec.filesystem), ledger)
                held.callback(drive.release)
            place = CuttablePlace(spec, home, drive, ledger, faults(spec))
            held.callback(place.release)
            return place, drive

        yield one


def spec_of(filesystem: str, **keys: Any) -> PlaceSpec:
    return PlaceSpec(**{"kind": "disk", "filesystem": filesystem, "size_mb": smallest_mb(filesystem), **keys})


class Opened:
    """The disk's file, or a device over it, read and written past the page cache."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_RDWR | os.O_DIRECT)
        self._page = mmap.mmap(-1, BLOCK)

    def write(self, block: int, byte: int) -> None:
        self._page[:] = bytes([byte]) * BLOCK
        os.pwrite(self._file, self._page, block * BLOCK)

    def read(self, block: int) -> bytes:
        os.preadv(self._file, [self._page], block * BLOCK)
        return bytes(self._page)

    def byte(self, block: int) -> int:
        content = self.read(block)
        assert content == content[:1] * BLOCK
        return content[0]

    def flush(self) -> None:
        os.fsync(self._file)

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


class FileSystem:
    """ext4 on a disk, made once, mounted as often as its power is cut."""

    def __init__(self, disk: SimulatedDisk, point: Path, ledger: Ledger) -> None:
        self._disk, self._point, self._ledger = disk, point, ledger
        point.mkdir()
        self._attach()
        subprocess.run(["mkfs.ext4", "-q", "-F", "-E", "nodiscard", self._device], check=True)

    def _attach(self) -> None:
        self._loop, self._device, direct = self._ledger.attach_loop(self._disk.file)
        assert direct

    def mount(self) -> None:
        self._mount = self._ledger.mount(self._device, self._point, "ext4", [])

    def unmount(self) -> None:
        self._ledger.undo(self._mount)

    def detach(self) -> None:
        self._ledger.undo(self._loop)

    def come_back(self) -> None:
        self.unmount()
        self.detach()
        self._disk.revive()
        self._attach()
        self.mount()


class Writer(threading.Thread):
    """Appends numbers to a file, each flushed, until that fails or it is told to end."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self._ends = threading.Event()
        self.acknowledged = 0
        self.error: OSError | None = None
        self.start()

    def run(self) -> None:
        try:
            while not self._ends.is_set():
                os.pwrite(self._file, b"%07d\n" % self.acknowledged, self.acknowledged * 8)
                os.fdatasync(self._file)
                self.acknowledged += 1
        except OSError as error:
            self.error = error

    def wait_for(self, count: int) -> None:
        end = time.monotonic() + 120
        while self.acknowledged < count and self.error is None:
            assert time.monotonic() < end, self.acknowledged
            time.sleep(0.005)

    def end(self) -> None:
        self._ends.set()
        self.join(120)
        assert not self.is_alive()
        os.close(self._file)


def present(path: Path) -> int:
    """How many numbers from 0 on are there."""
    found = path.read_bytes().splitlines() if path.exists() else []
    return next((n for n, line in enumerate(found) if line != b"%07d" % n), len(found))


@pytest.mark.parametrize(
    ("faults", "keep", "loses"),
    [("", "none", False), ("", "torn", False), ("", "reordered", False), ("tear, reorder", "none", False),
     ("lie-about-flush", "none", True), ("lie-about-flush", "all", False)],
)  # fmt: skip
def test_a_cut_under_a_writer(
    disk: Made, base: Path, ledger: Ledger, faults: str, keep: CutKeeps, loses: bool, tmp_path: Path
) -> None:
    simulated = disk()
    filesystem = FileSystem(simulated, tmp_path / "mounted", ledger)
    lost = 0
    filesystem.mount()
    try:
        for seed in range(times(2, 5)):
            for fault in filter(None, faults.split(", ")):
                simulated.fault(fault)
            writer = Writer(tmp_path / "mounted" / f"log-{seed}")
            writer.wait_for(20)
            acknowledged = writer.acknowledged
            simulated.cut(keep, seed)
            writer.end()
            assert writer.error is None  # a ghost's flushes succeed
            filesystem.come_back()
            lost += max(0, acknowledged - present(tmp_path / "mounted" / f"log-{seed}"))
    finally:
        simulated.mend()
        filesystem.unmount()
        filesystem.detach()
    assert (lost > 0) == loses


class Overwriting:
    """A file of two blocks on a file system, written past the page cache and through it, durably or not."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(b"0" * 2 * BLOCK)
        self.fsync()

    def fsync(self) -> None:
        file = os.open(self.path, os.O_RDONLY)
        os.fsync(file)
        os.close(file)

    def overwrite(self, byte: bytes, flags: int) -> None:
        """The first block."""
        with mmap.mmap(-1, BLOCK) as page:
            page[:] = byte * BLOCK
            file = os.open(self.path, os.O_RDWR | flags)
            try:
                os.pwrite(file, page, 0)
            finally:
                os.close(file)


@pytest.mark.covering
@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
@pytest.mark.parametrize(
    ("fault", "way", "survives"),
    [
        ("ignore-write-through", "direct O_DSYNC", False),  # FUA on a device that has it
        ("ignore-write-through", "direct O_DSYNC, then fdatasync", True),
        ("ignore-write-through", "buffered O_DSYNC", True),  # Linux flushes
        ("ignore-write-through", "fdatasync", True),
        ("", "direct O_DSYNC", True),
        ("", "fdatasync", True),
        ("lie-about-flush", "fdatasync", False),
    ],
)
def test_write_through_and_flush_are_told_apart(
    cuttable: Cuttable, filesystem: str, fault: str, way: str, survives: bool
) -> None:
    spec = PlaceSpec(kind="disk", filesystem=filesystem, disk_faults=fault, disk_parameters=NEVER_IDLE)
    place, drive = cuttable(spec)
    place.prepare([])
    file = Overwriting(place.path / "file")
    place.keep()
    place.begin()
    before = drive.stats().ignored_write_throughs  # mounting writes some through
    file.overwrite(b"1", (os.O_DSYNC if "O_DSYNC" in way else 0) | (os.O_DIRECT if "direct" in way else 0))
    if "fdatasync" in way:
        file.fsync()
    ignored = drive.stats().ignored_write_throughs - before
    place.cut("none", 1)
    place.recover()
    found = file.path.read_bytes()
    place.end()
    assert (found[:1] == b"1") == survives
    if fault != "ignore-write-through":
        assert before == ignored == 0
    elif "direct" in way:
        assert ignored >= 1


def test_what_a_journal_writes_through_is_lost_with_what_it_makes_durable(cuttable: Cuttable) -> None:
    """ext4 writes the block that ends a transaction of its journal with FUA, and sends no flush afterwards: what a file
    grew by in the last one is gone, although its flush has ended."""
    spec = PlaceSpec(
        kind="disk",
        filesystem="ext4",
        mount="commit=600",
        disk_faults="ignore-write-through",
        disk_parameters=NEVER_IDLE,
    )
    place, _ = cuttable(spec)
    place.prepare([])
    place.keep()
    place.begin()
    writer = Writer(place.path / "log")  # each number makes the file longer
    writer.wait_for(20)
    writer.end()
    place.cut("none", 1)
    place.recover()
    found = present(place.path / "log")
    place.end()
    assert found == writer.acknowledged - 1


@pytest.mark.parametrize("place_is", ["set aside", "written"])
def test_so_is_the_first_write_to_a_place_that_a_file_has_only_set_aside(cuttable: Cuttable, place_is: str) -> None:
    """A log that is made by fallocate: ext4 notes in its journal that such a block has been written, and without that
    block of the journal it reads as zeros. Where the block was written before, a flush is all that it takes."""
    spec = PlaceSpec(kind="disk", filesystem="ext4", disk_faults="ignore-write-through", disk_parameters=NEVER_IDLE)
    place, _ = cuttable(spec)
    place.prepare([])
    path = place.path / "file"
    if place_is == "written":
        path.write_bytes(b"0" * 8 * BLOCK)
    else:
        with path.open("wb") as made:
            os.posix_fallocate(made.fileno(), 0, 8 * BLOCK)
    sync_filesystem(place.path)
    place.keep()
    place.begin()
    with mmap.mmap(-1, BLOCK) as page:
        page[:] = b"1" * BLOCK
        file = os.open(path, os.O_RDWR | os.O_DIRECT)
        os.pwrite(file, page, 0)
        os.fdatasync(file)
        os.close(file)
    place.cut("none", 1)
    place.recover()
    found = path.read_bytes()
    place.end()
    assert (found[:BLOCK] == b"1" * BLOCK) == (place_is == "written")


def test_a_positive_control_shows_that_write_through_is_ignored(cuttable: Cuttable) -> None:
    """Of a drive that was told to, and of none that honours it although it was to be one that does not."""
    spec = PlaceSpec(kind="disk", filesystem="raw", disk_faults="ignore-write-through")
    place, drive = cuttable(spec)
    assert place.loses("none", seeds=(1, 2))
    other, _ = cuttable(spec, drive=Honouring(drive))
    assert not other.loses("none", seeds=(1, 2))


class Honouring:
    """A drive that takes no fault."""

    def __init__(self, drive: SimulatedDisk) -> None:
        self._drive = drive

    def fault(self, fault: str) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._drive, name)


@pytest.mark.parametrize(("battery", "survives"), [("good", True), ("dead", False), ("none", True)])
def test_a_battery_decides_what_a_controller_s_cache_keeps(
    disk: Made, ledger: Ledger, tmp_path: Path, battery: str, survives: bool
) -> None:
    simulated = disk(disk_battery=battery, disk="rotating", disk_parameters=NEVER_IDLE)
    with Opened(simulated.file) as file:
        for block in range(8):
            file.write(block, 1)
            file.flush()
        stats = simulated.stats()
        simulated.cut("none", 1)
    simulated.revive()
    with Opened(simulated.file) as file:
        assert {file.byte(block) for block in range(8)} == {1 if survives else 0}
    assert stats.lied_flushes == (8 if battery == "dead" else 0)
    assert (stats.dirty_bytes > 0) == (battery != "none")  # whose flush waits for the medium
    assert ("battery" in simulated.facts()["disk"]) == (battery != "none")


@both_ways
def test_flushes_after_a_cut_may_fail(disk: Made, ledger: Ledger, tmp_path: Path) -> None:
    simulated = disk()
    filesystem = FileSystem(simulated, tmp_path / "mounted", ledger)
    filesystem.mount()
    writer = Writer(tmp_path / "mounted" / "log")
    writer.wait_for(5)
    simulated.cut("none", 1, "fail")
    writer.join(120)
    writer.end()
    assert writer.error is not None
    assert writer.error.errno in (errno.EIO, errno.EROFS)
    filesystem.come_back()
    assert present(tmp_path / "mounted" / "log") >= writer.acknowledged
    filesystem.unmount()
    filesystem.detach()


@both_ways
def test_a_failed_flush_reaches_the_one_who_asked_for_it_and_only_him(disk: Made) -> None:
    simulated = disk()
    with Opened(simulated.file) as file:
        file.write(0, 1)
        simulated.fault("eio on flush 1")
        with pytest.raises(OSError, match="Input/output"):
            file.flush()
        file.flush()
        simulated.fault("eio on write at 4096 once")
        with pytest.raises(OSError, match="Input/output"):
            file.write(1, 1)
        file.write(1, 1)
        simulated.fault("eio on read")
        with pytest.raises(OSError, match="Input/output"):
            file.read(0)
    stats = simulated.stats()
    assert [(fault.fault, fault.struck) for fault in stats.faults] == [
        ("eio on flush 1", 1), ("eio on write at 4096 once", 1), ("eio on read", 1),
    ]  # fmt: skip
    assert (stats.failed, stats.writes.count, stats.flushes.count) == (3, 2, 1)


def test_what_is_no_fault_is_refused_and_changes_nothing(disk: Made) -> None:
    simulated = disk()
    with pytest.raises(CellFailed, match=r'"eio on seek" is no fault; write a rule as '):
        simulated.fault("eio on seek")
    assert simulated.stats().faults == []
    with pytest.raises(CellFailed, match="the disk has power: nothing to revive"):
        simulated.revive()
    with pytest.raises(CellFailed, match="this disk has no rpm; it has queue_depth, destage_ms"):
        disk(disk_parameters="rpm=5400")
    with pytest.raises(CellFailed, match="does not fit into the"):
        disk(size_mb=1 << 23)


def test_faults_that_a_disk_does_not_have_are_not_in_force() -> None:
    has_none = Mock(faults=[])
    assert faults_in_force([], has_none) == []
    (told,) = faults_in_force(["(lose :of write)"], has_none)
    assert (told.asked, told.in_force, told.agrees) == ("(lose :of write)", "", False)


@both_ways
def test_a_disk_that_stops_answers_again_when_it_is_mended(disk: Made) -> None:
    simulated = disk(disk_faults="stop after 2 writes fail after 30 s")
    with Opened(simulated.file) as file:
        try:
            file.write(0, 1)
            file.write(1, 1)
            waits = threading.Thread(target=file.write, args=(2, 1), daemon=True)
            waits.start()
            while simulated.stats().power == "on":
                time.sleep(0.01)
            assert simulated.stats().writes.count == 2
        finally:
            simulated.mend()
        waits.join(120)
        assert not waits.is_alive()
        assert file.byte(2) == 1


@both_ways
def test_a_disk_that_stops_is_given_up_and_fails_whoever_waits(disk: Made) -> None:
    simulated = disk()
    with Opened(simulated.file) as file:
        file.write(0, 1)
        simulated.fault("stop after 0 requests fail after 1 s")
        try:
            with pytest.raises(OSError, match="Input/output"):
                file.write(0, 2)
            assert simulated.stats().power == "given_up"
            with pytest.raises(OSError, match="Input/output"):
                file.flush()
            with pytest.raises(OSError, match="Input/output"):
                file.read(0)
        finally:
            simulated.mend()
        assert file.byte(0) == 1
        file.flush()


def test_a_disk_that_stops_hangs_nobody_at_the_end(base: Path, ledger: Ledger) -> None:
    place = make(spec_of("ext4"), base, ledger, database_bytes=1)
    try:
        (place.path / "unwritten").write_bytes(b"x" * 1_000_000)
        place.storage.disk.fault("stop after 0 requests fail after 5 s")  # type: ignore[attr-defined]
    finally:
        place.release()


def test_a_file_system_on_a_disk_that_stops_fails_when_the_disk_is_given_up(base: Path, ledger: Ledger) -> None:
    place = make(spec_of("ext4", disk_faults="stop after 400 requests fail after 1 s"), base, ledger, database_bytes=1)
    try:
        with (
            (place.path / "file").open("wb", buffering=0) as file,
            pytest.raises(OSError, match=r"Input/output|Read-only"),
        ):
            while True:
                file.write(b"x" * 10_000)
                os.fsync(file.fileno())
        place.storage.disk.mend()  # type: ignore[attr-defined]
    finally:
        place.release()


@both_ways
def test_requests_are_counted_and_what_is_in_the_cache(disk: Made) -> None:
    simulated = disk()
    with Opened(simulated.file) as file:
        for block in range(10):
            file.write(block, 7)
        assert simulated.stats().dirty_bytes == 10 * BLOCK
        assert file.byte(3) == 7
        file.flush()
    stats = simulated.stats()
    assert (stats.writes.count, stats.writes.bytes) == (10, 10 * BLOCK)
    assert (stats.reads.count, stats.reads.bytes, stats.flushes.count) == (1, BLOCK, 1)
    assert stats.writes.took.count == 10
    assert (stats.dirty_bytes, stats.dirty_bytes_max) == (0, 10 * BLOCK)


@both_ways
def test_all_that_a_disk_needs_is_locked_in_memory(disk: Made) -> None:
    simulated = disk(size_mb=64, disk_cache_mb=32)
    assert simulated.unlocked is None
    status = dict(line.split(":", 1) for line in Path(f"/proc/{simulated.pid}/status").read_text().splitlines())
    locked_kb, resident_kb = (int(status[name].split()[0]) for name in ("VmLck", "VmRSS"))
    assert locked_kb >= (64 + 32) << 10  # the medium, and what it held before
    assert resident_kb >= (64 + 32) << 10
    assert "VmSwap" not in status or int(status["VmSwap"].split()[0]) == 0


def test_a_timed_disk_and_one_with_a_queue_are_served_through_the_device(disk: Made) -> None:
    with over_io_uring():
        assert [
            disk(**keys).over_io_uring for keys in ({"disk": "sata-ssd"}, {"disk_parameters": "queue_depth=4"})
        ] == [
            False,
            False,
        ]


def test_a_disk_is_made_though_the_kernel_takes_back_what_it_offered(disk: Made) -> None:
    with over_io_uring() as offered, contextlib.ExitStack() as ended:
        if offered:
            flip = f"while :; do sleep 0.001; echo N; sleep 0.001; echo Y; done > {OVER_IO_URING}"
            flipping = subprocess.Popen(["sh", "-c", flip])
            ended.callback(flipping.wait)
            ended.callback(flipping.kill)
        for number in range(40):
            with Opened(disk(size_mb=1).file) as file:
                file.write(0, number)


@both_ways
@pytest.mark.parametrize("from_processor", sorted(os.sched_getaffinity(0))[:2])
def test_what_is_written_on_one_processor_is_read_on_any(disk: Made, from_processor: int) -> None:
    simulated = disk()
    mine = os.sched_getaffinity(0)
    chunk = 3 << 18  # larger than a page, and no power of two
    content = random.Random(1).randbytes(8 * chunk)
    with mmap.mmap(-1, len(content)) as room:
        room[:] = content
        file = os.open(simulated.file, os.O_RDWR | os.O_DIRECT)
        try:
            os.sched_setaffinity(0, {from_processor})
            for at in range(0, len(content), chunk):
                assert os.pwrite(file, memoryview(room)[at : at + chunk], at) == chunk
            os.fsync(file)
            for processor in sorted(mine):
                os.sched_setaffinity(0, {processor})
                room[:] = bytes(len(content))
                assert os.preadv(file, [room], 0) == len(content)
                assert room[:] == content
        finally:
            os.sched_setaffinity(0, mine)
            os.close(file)


def test_a_platter_with_its_write_cache_off_takes_120_durable_writes_a_second(disk: Made, ledger: Ledger) -> None:
    simulated = disk(disk="rotating", disk_cache_mb=0)
    loop, device, _ = ledger.attach_loop(simulated.file)
    with Opened(device) as opened:
        began = time.monotonic()
        for n in range(40):
            opened.write(0, n)
            opened.flush()
        per_s = 40 / (time.monotonic() - began)
    ledger.undo(loop)
    assert per_s <= 123  # the first waits for less than a turn


def test_the_times_of_a_log_are_those_of_the_clock_that_acknowledgements_are_noted_by(
    disk: Made, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    logged = disk(log=log)
    around = []
    with Opened(logged.file) as file:
        for number in range(50):
            file.write(0, number)
            before_ns = time.monotonic_ns()
            file.flush()
            around.append((before_ns, time.monotonic_ns()))
    assert logged.stats().log_records == 100
    _, records = disk_log.read(log)
    flushed_ns = [disk_log.began_ns(log) + record.time_ns for record in records if record.is_flush]
    assert [before < at < after for (before, after), at in zip(around, flushed_ns, strict=True)] == [True] * 50


@both_ways
def test_every_state_of_a_log_can_be_built(disk: Made, tmp_path: Path) -> None:
    log = tmp_path / "log"
    logged = disk(log=log, disk_sector=512)
    with Opened(logged.file) as file:
        for number in (1, 2, 3):
            file.write(0, number)
            file.write(number, number)
            file.flush()
    assert logged.stats().log_records == 9

    def records(to: int, **more: Any) -> DiskState:
        return DiskState.model_validate({"log": str(log), "from": 0, "to": to, **more})

    built = disk(disk_sector=512)
    with Opened(built.file) as file:
        with pytest.raises(CellFailed, match="no snapshot"):
            built.load()
        built.snapshot()
        for to, content in {0: [0, 0, 0], 1: [1, 0, 0], 3: [1, 1, 0], 9: [3, 1, 2], 4: [2, 1, 0]}.items():
            built.load(records(to))
            assert [file.byte(block) for block in range(3)] == content
        built.load(records(9, without=[6, 4]))
        assert [file.byte(block) for block in range(4)] == [2, 1, 0, 3]
        built.load(records(4, torn=[TornWrite(record=3, sectors=[1, 7])]))
        assert [file.read(0)[sector * 512] for sector in range(8)] == [1, 2, 1, 1, 1, 1, 1, 2]
        built.load(records(6))
        built.snapshot()  # the next states stand on this one
        built.load(DiskState.model_validate({"log": str(log), "from": 6, "to": 8}))
        assert [file.byte(block) for block in range(4)] == [3, 1, 2, 3]
        built.load()
        assert [file.byte(block) for block in range(4)] == [2, 1, 2, 0]
        with pytest.raises(CellFailed, match="it has 9 records"):
            built.load(records(10))
        log.rename(tmp_path / "first")
        other = disk(log=log, disk_sector=512)  # as each cut writes what it has left where the one before wrote it
        with Opened(other.file) as stranger:
            stranger.write(2, 7)
            assert other.stats().log_records == 1
            built.load(records(1))
            assert [file.byte(block) for block in range(4)] == [2, 1, 7, 0]


def test_a_medium_in_a_file_keeps_what_survived(disk: Made, base: Path) -> None:
    simulated = disk(disk_medium="file")
    with Opened(simulated.file) as file:
        file.write(5, 1)
        file.flush()
        file.write(5, 2)
    simulated.cut("none", 1)
    simulated.revive()
    assert simulated.facts()["image"] == "file, 64 MiB"
    assert simulated.facts()["image_on"] == place_facts(base).beneath
    medium = next(base.glob("*/medium"))
    assert medium.stat().st_size == 64 << 20
    with medium.open("rb") as raw:
        raw.seek(5 * BLOCK)
        assert raw.read(BLOCK) == bytes([1]) * BLOCK


@both_ways
def test_writing_back_under_a_memory_limit_does_not_hang(disk: Made, ledger: Ledger, tmp_path: Path) -> None:
    simulated = disk(size_mb=256)
    filesystem = FileSystem(simulated, tmp_path / "mounted", ledger)
    filesystem.mount()
    group = Cgroup(ledger, 24 << 20)
    try:
        target = tmp_path / "mounted" / "large"
        with (tmp_path / "said").open("wb") as said:
            command = ["dd", "if=/dev/zero", f"of={target}", "bs=1M", "count=150", "conv=fsync"]
            id, process = ledger.start_process(  # noqa: A001
                command, environment=os.environ, stderr=said, stdout=said, cgroup=group.path
            )
            try:
                assert process.wait(timeout=300) == 0, (tmp_path / "said").read_text()
            finally:
                ledger.end_process(id, process)
        simulated.cut("torn", 1)
        filesystem.come_back()
        assert target.stat().st_size == 150 << 20
    finally:
        group.release()
        filesystem.unmount()
        filesystem.detach()


@pytest.mark.parametrize("name", ["ext4", "xfs"])
def test_a_rig_that_is_killed_fails_its_users_and_leaves_nothing(base: Path, name: str) -> None:
    ledger = Ledger()
    place = make(spec_of(name), base, ledger, database_bytes=1)
    with (place.path / "file").open("wb") as file:
        file.write(b"x" * 10_000_000)
        os.kill(place.storage.disk.pid, signal.SIGKILL)  # type: ignore[attr-defined]
        with pytest.raises(OSError, match=r"Input/output|Transport|Read-only"):
            os.fsync(file.fileno())
    place.release()
    ledger.close()
    assert leftovers() == []
    assert release_leftovers() == []


class ShowsTheDisk(Ledger):
    """A ledger that hands over the process of each disk when it has been started."""

    started: Callable[[subprocess.Popen[bytes]], object]

    def start_process(self, command: Sequence[str], **more: Any) -> tuple[str, subprocess.Popen[bytes]]:
        id, process = super().start_process(command, **more)  # noqa: A001
        if command[-1] == "disk":
            self.started(process)
        return id, process


def test_a_rig_that_is_killed_at_any_moment_leaves_nothing(base: Path) -> None:
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    for _ in range(times(3, 8)):
        ledger, delay_s = ShowsTheDisk(), moments.uniform(0, 0.8)
        ledger.started = lambda disk, delay_s=delay_s: threading.Timer(delay_s, disk.kill).start()
        about = f"seed {seed}, killed after {delay_s:.4f} s"
        with contextlib.suppress(CellFailed, OSError):
            place = make(spec_of("ext4", size_mb=128), base, ledger, database_bytes=1)
            try:
                for number in range(1_000):
                    (place.path / f"{number}").write_bytes(b"x" * 100_000)
                    sync_filesystem(place.path)
            finally:
                place.release()
        ledger.close()
        assert mounts_below(base) == [] == loops_over_files_in(base), about
        assert list(base.iterdir()) == [], about
        assert leftovers() == [], about


def test_a_rig_that_is_killed_when_its_disk_has_just_become_a_device_leaves_nothing(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disks: list[subprocess.Popen[bytes]] = []
    ledger, configure = ShowsTheDisk(), loops._configure
    ledger.started = disks.append

    def configure_and_kill(*asked: Any) -> None:
        configure(*asked)
        for disk in disks:
            disk.kill()
            disk.wait()

    monkeypatch.setattr(loops, "_configure", configure_and_kill)
    with pytest.raises((CellFailed, OSError)):
        make(spec_of("ext4"), base, ledger, database_bytes=1)
    ledger.close()
    assert leftovers() == []


def test_an_external_journal_and_parameters_without_a_number_are_refused() -> None:
    with pytest.raises(BadInput, match="would not lie on the simulated disk"):
        check(PlaceSpec(kind="disk", filesystem="ext4", journal="external"))
    with pytest.raises(BadInput, match='found "rpm", must be NAME=NUMBER'):
        check(PlaceSpec(kind="disk", filesystem="ext4", disk_parameters="rpm"))
