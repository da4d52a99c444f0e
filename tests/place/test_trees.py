"""Copies of files and directories."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest import files
from acidtest.place import trees


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 10_000])
def test_a_copy_is_the_same_bytes_whatever_their_number(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "CHUNK", 4096)
    source, target = tmp_path / "from", tmp_path / "to"
    source.write_bytes(bytes(n % 251 for n in range(size)))
    trees.copy_file(source, target)
    assert target.read_bytes() == source.read_bytes()


def test_the_size_of_each_file_is_read_and_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "below" / "deep").mkdir(parents=True)
    (tmp_path / "one").write_bytes(b"1")
    (tmp_path / "below" / "deep" / "three").write_bytes(b"123")
    (tmp_path / "link").symlink_to(tmp_path / "below")
    assert trees.file_sizes(tmp_path) == {"one": 1, "below/deep/three": 3}
    assert trees.file_sizes(tmp_path / "missing") is None


def test_a_copy_never_replaces_a_file(tmp_path: Path) -> None:
    for name in ("from", "to"):
        (tmp_path / name).write_text(name)
    with pytest.raises(FileExistsError):
        trees.copy_file(tmp_path / "from", tmp_path / "to")
    assert (tmp_path / "to").read_text() == "to"
