"""The place ``directory``: a directory of our own on a file system that is already mounted."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

from acidtest.errors import BadInput
from acidtest.files import sync_filesystem
from acidtest.place.ledger import Ledger


class DirectoryPlace:
    """A directory made under ``parent`` and removed with everything in it when released.

    Raises BadInput when ``parent`` is missing, cannot be written to, or has less than ``needed_bytes`` free.
    """

    def __init__(self, parent: Path, ledger: Ledger, *, needed_bytes: int) -> None:
        self._ledger = ledger
        if not parent.is_dir():
            raise BadInput(f"{parent}: no such directory", "make it, or name another place")
        free = shutil.disk_usage(parent).free
        if free < needed_bytes:
            raise BadInput(
                f"{parent}: needs about {needed_bytes / 1e6:,.0f} MB for the databases, has {free / 1e6:,.0f} MB free",
                "free some space, or name another place",
            )
        self.path = (parent / f"acidtest-{uuid.uuid4().hex[:8]}").absolute()
        try:
            self._id = ledger.make_directory(self.path)
        except OSError as error:
            raise BadInput(
                f"{parent}: cannot be written to: {error.strerror}", "name another place, or allow writing there"
            ) from None

    def subdirectory(self, name: str) -> Path:
        """A new, empty directory inside the place."""
        path = self.path / name
        path.mkdir()
        return path

    def copy(self, paths: Sequence[Path], directory: Path) -> None:
        """Copy files and whole directories into ``directory`` and flush them to the drive.

        Where the file system can share blocks between files (reflink), nothing is read or written but names.
        """
        for source in paths:
            copy_tree(source, directory / source.name)
        sync_filesystem(directory)

    def remove(self, directory: Path) -> None:
        """Remove a subdirectory and let the file system settle, so that its clean-up is not measured next."""
        shutil.rmtree(directory)
        self.settle()

    def settle(self) -> None:
        """Write back what the file systems still hold; see sync(2)."""
        os.sync()

    def release(self) -> None:
        self._ledger.remove_directory(self._id)


FICLONE = 0x40049409  # ioctl_ficlone(2)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a file, or a directory with everything in it; modes are kept. Nothing is flushed yet."""
    if source.is_symlink():
        target.symlink_to(source.readlink())
    elif source.is_dir():
        target.mkdir()
        for child in sorted(source.iterdir()):
            copy_tree(child, target / child.name)
        shutil.copymode(source, target)
    elif source.is_file():  # not a socket that a server left
        _clone_or_copy(source, target)
        shutil.copymode(source, target)


def _clone_or_copy(source: Path, target: Path) -> None:
    with source.open("rb") as read, target.open("xb") as write:
        try:
            fcntl.ioctl(write, FICLONE, read.fileno())
            return
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS):
                raise
    shutil.copyfile(source, target)


def tree_bytes(path: Path) -> int:
    """Size of a file, or of all files below a directory."""
    if path.is_dir() and not path.is_symlink():
        return sum(tree_bytes(child) for child in path.iterdir())
    return path.lstat().st_size


def is_full(error: OSError) -> bool:
    """Whether ``error`` means that the disk, or the quota, is used up."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)
