"""Where acidtest keeps its own files, and what it takes for a file to be on the drive."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path


def state_directory() -> Path:
    """Engines and ledgers: ``$ACIDTEST_HOME``, else ``$XDG_DATA_HOME/acidtest``, else ``~/.local/share/acidtest``."""
    if home := os.environ.get("ACIDTEST_HOME"):
        return Path(home)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "acidtest"


def fsync_path(path: Path) -> None:
    """Flush a file, or the names in a directory, to the drive; see fsync(2)."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file_system(path: Path) -> None:
    """Write everything that the file system of ``path`` holds to the drive; see syncfs(2).

    A server's data directory has a thousand files: one call for all of them instead of one each.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syncfs(descriptor) != 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error), str(path))
    finally:
        os.close(descriptor)


def fsync_tree(path: Path) -> None:
    """Flush a file, or a directory with everything in it, to the drive."""
    if path.is_dir() and not path.is_symlink():
        for child in path.iterdir():
            fsync_tree(child)
    if path.is_dir() or path.is_file():
        fsync_path(path)
