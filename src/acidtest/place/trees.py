"""Files and whole directories: copied, measured."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from pathlib import Path

from acidtest.files import copy_content

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
        copy_file(source, target)
        shutil.copymode(source, target)


def copy_file(source: Path, target: Path) -> None:
    """Copy what is in a file, without its mode, by reflink where the file system has it."""
    with source.open("rb") as read, target.open("xb") as write:
        try:
            fcntl.ioctl(write, FICLONE, read.fileno())
            return
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS):
                raise
    copy_content(source, target)


def tree_bytes(path: Path) -> int:
    """Size of a file, or of all files below a directory."""
    if path.is_dir() and not path.is_symlink():
        return sum(tree_bytes(child) for child in path.iterdir())
    return path.lstat().st_size


def file_sizes(root: Path) -> dict[str, int] | None:
    """The bytes of each regular file below ``root``, by its path below it; None where a directory cannot be read."""
    sizes: dict[str, int] = {}
    directories = [root]
    try:
        while directories:
            with os.scandir(directories.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        directories.append(Path(entry.path))
                    elif entry.is_file(follow_symlinks=False):
                        sizes[str(Path(entry.path).relative_to(root))] = entry.stat(follow_symlinks=False).st_size
    except OSError:
        return None
    return sizes


def is_full(error: OSError) -> bool:
    """Whether ``error`` means that the disk, or the quota, is used up."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)
