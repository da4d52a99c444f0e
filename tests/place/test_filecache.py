"""The file cache of single files, asked of the kernel itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from acidtest.place import filecache
from acidtest.place.hint import Hint

MIB = 1 << 20


@pytest.fixture
def tree(tmp_path: Path) -> list[Path]:
    """A directory with 8 MiB in two files, and one with nothing in it."""
    (tmp_path / "data" / "inside").mkdir(parents=True)
    (tmp_path / "data" / "one").write_bytes(os.urandom(6 * MIB))
    (tmp_path / "data" / "inside" / "two").write_bytes(os.urandom(2 * MIB))
    (tmp_path / "data" / "empty").touch()
    (tmp_path / "data" / "link").symlink_to("/dev/zero")
    return filecache.files_below([tmp_path / "data"])


def test_files_below_are_found_and_links_not_followed(tree: list[Path], tmp_path: Path) -> None:
    assert [path.name for path in tree] == ["two", "empty", "link", "one"]
    assert filecache.files_below([tmp_path / "data" / "one"]) == [tmp_path / "data" / "one"]


def test_a_cold_start_leaves_nothing_and_a_warm_one_everything(tree: list[Path]) -> None:
    written = filecache.residency(tree)
    assert written.file_bytes == 8 * MIB
    assert written.share == 1
    cold = filecache.drop(tree)  # dirty pages too: they are flushed first
    assert (cold.resident_bytes, cold.dirty_bytes) == (0, 0)
    filecache.read_through(tree)
    assert filecache.residency(tree).share == 1


def test_mincore_agrees_with_cachestat(tree: list[Path]) -> None:
    filecache.drop(tree)
    (one,) = (path for path in tree if path.name == "one")
    descriptor = os.open(one, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        os.pread(descriptor, 300_000, 0)
        stated = filecache.residency([one])
        assert stated.source == "cachestat"
        assert 300_000 <= filecache.mincore(descriptor, 6 * MIB) == stated.resident_bytes < 6 * MIB
    finally:
        os.close(descriptor)


def test_where_the_kernel_has_no_cachestat_mincore_is_asked(tree: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filecache, "SYS_CACHESTAT", 100_000)  # a number that no kernel knows
    found = filecache.residency(tree)
    assert (found.source, found.resident_bytes, found.dirty_bytes) == ("mincore", 8 * MIB, None)
    assert filecache.drop(tree).resident_bytes == 0


def test_a_file_that_has_gone_counts_nothing(tree: list[Path], tmp_path: Path) -> None:
    assert filecache.residency([tmp_path / "gone"]).file_bytes == 0
    filecache.read_through([tmp_path / "gone"])


# Reads 4 MiB in order, 8 KiB at a time, when it is told to, and says how many bytes storage had to give.
READER = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
print("open", flush=True)
sys.stdin.readline()
def fetched():
    return next(int(line.split()[1]) for line in open("/proc/self/io") if line.startswith("read_bytes"))
before = fetched()
for at in range(512):
    os.pread(fd, 8192, at * 8192)
print(fetched() - before, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def scanned(tmp_path: Path) -> Path:
    path = tmp_path / "scanned"
    path.write_bytes(os.urandom(32 * MIB))
    return path


def scan(path: Path, access: str | None) -> tuple[int, int]:
    """Bytes that storage gave, and bytes in the file cache, after 4 MiB were read by a process that knows no hint."""
    filecache.drop([path])
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reader.stdin and reader.stdout
    reader.stdout.readline()
    if access:
        hint = Hint(access)
        hint.give([reader.pid], [path])
        hint.give([reader.pid], [path])
        assert hint.descriptors == 1
    reader.stdin.write("\n")
    reader.stdin.flush()
    fetched = int(reader.stdout.readline())
    cached = filecache.residency([path]).resident_bytes
    reader.communicate("\n")
    return fetched, cached


def test_a_hint_from_outside_changes_what_the_kernel_reads_ahead(scanned: Path) -> None:
    ahead = scan(scanned, None)
    assert ahead[0] > 4 * MIB  # the kernel saw a scan and read ahead of it
    assert scan(scanned, "random") == (4 * MIB, 4 * MIB)  # exactly what was asked for
    assert scan(scanned, "normal")[0] > 4 * MIB
    assert scan(scanned, "sequential")[0] > 4 * MIB


def test_normal_takes_a_hint_back(scanned: Path) -> None:
    filecache.drop([scanned])
    descriptor = os.open(scanned, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        Hint("normal").give([os.getpid()], [scanned])
        for at in range(512):
            os.pread(descriptor, 8192, at * 8192)
        assert filecache.residency([scanned]).resident_bytes > 4 * MIB
    finally:
        os.close(descriptor)


def test_a_process_that_has_ended_or_has_no_such_file_is_passed_over(scanned: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    hint = Hint("random")
    hint.give([ended.pid, os.getpid()], [scanned])
    assert hint.descriptors == 0
