"""What the blocks of a load are: by the file system's own answer, held against the bytes, and by a journal's marks."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest

from acidtest.analysis.disk_log import MAGIC, RECORD, WRITE, read
from acidtest.powercut import blocks
from acidtest.powercut.blocks import FILE_SYSTEM, JOURNAL, Extent, Seen
from blocks import loop_over, mounted

BLOCK = 4096
MARK = blocks.MARKS[0]


def log_with(path: Path, writes: list[tuple[int, bytes]]) -> Path:
    content = (MAGIC + struct.pack("<QI", 1 << 20, 512)).ljust(64, b"\0")
    for number, (at, held) in enumerate(writes):
        content += RECORD.pack(WRITE, len(held), at, number, number) + held
    path.write_bytes(content)
    return path


def test_a_write_is_what_its_block_was_when_the_files_were_looked_at_next(tmp_path: Path) -> None:
    writes = [(at * BLOCK, (MARK if at in (10, 14) else b"").ljust(BLOCK, b"x")) for at in (1, 2, 10, 12, 14, 15, 1, 3)]
    log = log_with(tmp_path / "log", writes)
    seen = [
        Seen(2, [Extent(BLOCK, 2 * BLOCK, "log")]),
        Seen(7, [Extent(BLOCK, 2 * BLOCK, "database"), Extent(3 * BLOCK, 4 * BLOCK, "temp")]),
    ]
    _, records = read(log)
    assert blocks.kinds(log, records, seen) == [
        "log", FILE_SYSTEM, JOURNAL, JOURNAL, JOURNAL, FILE_SYSTEM, "database", "temp",
    ]  # fmt: skip
    assert blocks.kinds(log, records[6:], seen, 6) == ["database", "temp"]


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_the_places_of_files_are_where_their_bytes_lie(tmp_path: Path, filesystem: str) -> None:
    image = tmp_path / "image"
    with image.open("wb") as new:
        new.truncate(400 << 20)
    subprocess.run([f"mkfs.{filesystem}", "-q", image], check=True)
    with loop_over(image) as device, mounted(device, tmp_path / "there", "rw") as point:
        (point / "below").mkdir()
        for _ in range(3):  # taking turns, so that they come in several pieces
            for name in ("a.db", "below/a.db-wal"):
                with (point / name).open("ab") as target:
                    target.write(os.urandom(5 * BLOCK))
                    os.fsync(target.fileno())
        (point / "link").symlink_to("a.db")
        seen = blocks.look(point, filesystem, 7, lambda path: Path(path).suffix)
        held = {name: (point / name).read_bytes() for name in ("a.db", "below/a.db-wal")}
    assert seen.records == 7
    content = image.read_bytes()
    for name, whole in held.items():
        pieces = [content[extent.start : extent.end] for extent in seen.extents if extent.kind == Path(name).suffix]
        assert sum(map(len, pieces)) >= len(whole)
        for at in range(0, len(whole), BLOCK):
            assert any(whole[at : at + BLOCK] in piece for piece in pieces)
    assert {extent.kind for extent in seen.extents} == {".db", ".db-wal"}


def test_of_a_file_system_that_tells_no_places_nothing_is_believed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * BLOCK)
    assert blocks.look(tmp_path, "btrfs", 1, lambda path: "database").extents == []
