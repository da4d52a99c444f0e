"""Kits that change while they are read: between the listing of a folder and the reading of a file, and between two
readings of it, a file goes away, shrinks, grows, becomes a folder, a FIFO or a link. Nothing here waits or races: the
change is made at the moment when the file is opened."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from itertools import product
from pathlib import Path

import pytest

from acidtest.audit import findings_output, importers, judge
from acidtest.audit import unchecked as kit
from acidtest.audit.importers.file import File
from acidtest.audit.sarif import as_sarif

pytestmark = pytest.mark.slow

KITS = sorted(path for path in (Path(__file__).parents[1] / "kits").iterdir() if path.is_dir())
OPENINGS = (1, 2, 3)  # of each file; most are opened twice: for what they begin with, and to be read

Change = Callable[[Path], None]


def gone(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def shorter(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def longer(path: Path) -> None:
    with path.open("ab") as file:
        file.write(path.read_bytes() + b"\nand more\n\xff\x00")


def another(path: Path) -> None:
    """A file with other content under its name, and with the same byte order mark."""
    new, content = path.with_name("new"), path.read_bytes()
    new.write_bytes(content[:4] + content[:3:-1])
    new.replace(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "postgresql.conf").write_bytes(b"fsync = off\n")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def moved(path: Path) -> None:
    """The folder that it lies in has another name."""
    path.parent.rename(path.parent.with_name(f"{path.parent.name}-before"))


CHANGES = (gone, emptied, shorter, longer, another, folder, pipe, link, moved)


@contextmanager
def changed(root: Path, change: Change, at: int) -> Iterator[None]:
    """Makes a change to each file of a folder right before it is opened for the so manieth time."""
    opened = File.opened
    times: dict[Path, int] = {}

    @contextmanager
    def hooked(self: File) -> Iterator[FileIO]:
        times[self.path] = times.get(self.path, 0) + 1
        if times[self.path] == at and self.path.is_file() and self.path.parent != root:
            change(self.path)
        with opened(self) as file:
            yield file

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(File, "opened", hooked)
        yield


def told(root: Path) -> set[str]:
    """Audits a folder to the end. Of which files something is said."""
    bench = importers.read(root)
    found = judge.of_bench(bench)
    unchecked = kit.unchecked(bench)
    json.dumps(findings_output.as_json(bench, found, unchecked), allow_nan=False)
    as_sarif(bench, found, unchecked)
    return {
        *(name for name, _ in bench.read),
        *bench.unread,
        *(one.file for one in bench.broken),
        *(evidence.file for evidence in bench.passed),
    }


FIXTURES = KITS[0].with_name("fixtures")  # one file of each kind
PAIRS = [
    (change, at, of)
    for n, (change, at) in enumerate(product(CHANGES, OPENINGS))
    for of in {FIXTURES, KITS[n % len(KITS)]}
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_kit_may_change_while_it_is_read(change: Change, tmp_path: Path) -> None:
    for at, of in [row[1:] for row in PAIRS if row[0] is change]:
        root = tmp_path / f"{at}-{of.name}"
        shutil.copytree(of, root / "inner")
        names = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
        with changed(root, change, at):
            assert told(root) >= (names if change is not moved else set())


def test_a_file_that_grows_is_read_as_long_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"a line\n" * 10)
    file = File(path, "a.log")
    assert file.size == 70
    with path.open("ab") as more:
        more.write(b"another\n" * 1_000_000)
    assert list(file.stream()) == ["a line"] * 10


def test_a_file_that_shrinks_is_read_as_long_as_it_is_and_that_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"a line\n" * 10)
    file = File(path, "a.log")
    assert file.size == 70
    os.truncate(path, 21)
    assert list(file.stream()) == ["a line"] * 3
    assert "shorter" in file.notes[0].text


def test_a_text_may_lose_its_byte_order_mark_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes("a line\n".encode("utf-16"))
    file = File(path, "a.log")
    assert file.first_lines == ["a line"]
    path.write_bytes("a line\n".encode("utf-16-le"))
    assert isinstance(file.lines, list)
