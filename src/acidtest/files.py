"""Where acidtest keeps its own files, where the rig is, and what it takes for a file to be on the drive."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

from acidtest.errors import BadInput, MachineLacks

RIG = "acidtest-rig"
PROC = Path("/proc")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")  # see random(4): a new one at every start of the kernel
CHUNK = 16 << 20  # bytes copied at once
MARK = ".made-by-acidtest"  # in a directory that a lab made: the directory's id in the ledger
TOKEN = "ACIDTEST_PROCESS_TOKEN"  # noqa: S105 - a name tag, not a secret


def state_directory() -> Path:
    """Engines and ledgers: ``$ACIDTEST_HOME``, else ``$XDG_DATA_HOME/acidtest``, else ``~/.local/share/acidtest``."""
    if home := os.environ.get("ACIDTEST_HOME"):
        return Path(home)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "acidtest"


def find_rig() -> Path:
    """The rig: ``$ACIDTEST_RIG``, else the binary that was installed beside this Python's scripts."""
    if given := os.environ.get("ACIDTEST_RIG"):
        if os.access(given, os.X_OK):
            return Path(given)
        raise MachineLacks(f"ACIDTEST_RIG={given}: no program there", "unset it, or name the acidtest-rig binary")
    beside = Path(sysconfig.get_path("scripts")) / RIG
    if os.access(beside, os.X_OK):
        return beside
    if program := shutil.which(RIG):
        return Path(program)
    raise MachineLacks(f"{beside}: the rig is missing", "install acidtest again: its wheel holds the rig")


def rig_version() -> str:
    """Its name and version: ``acidtest-rig 0.1.0 (SQLite 3.50.4)``. Raises MachineLacks when it does not start."""
    try:
        return subprocess.run(
            [find_rig(), "--version"], capture_output=True, encoding="utf-8", errors="replace", check=True, timeout=120
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise MachineLacks(f"does not start: {error}", "install acidtest again") from None


def tag(directory: Path) -> dict[str, str]:
    """Variables for a process that works for a moment in ``directory``, and that no ledger has a line for: by them
    whoever releases the directory of a lab that was killed finds the process, and ends it first.

    None where no lab made the directory, nor one that it lies in.
    """
    at = directory.resolve()
    for made in (at, *at.parents):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return {TOKEN: (made / MARK).read_text(encoding="utf-8")}
    return {}


def kernel_text(path: Path, otherwise: str | None = None) -> str:
    """A file of /proc or /sys, whatever is in it: the names of processes and files that it tells may be any bytes.

    Bytes that are no UTF-8 become lone surrogates, so that a path still names the same file; see PEP 383. Raises
    OSError, unless there is an answer ``otherwise``.
    """
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        if otherwise is None:
            raise
        return otherwise


def processes() -> Iterator[Path]:
    """The directory in /proc of each process of this machine; see proc(5)."""
    return (path for path in PROC.iterdir() if path.name.isdecimal())


def opened_by(process: Path) -> Iterator[os.stat_result]:
    """What the process with this directory in /proc has open; of one that has ended, or that we may not look into,
    nothing. It may end, and close a file, at any moment."""
    with contextlib.suppress(OSError):
        for link in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                yield link.stat()


def refuse_foreign_bytes(path: Path) -> None:
    """Raise BadInput for a name that is not UTF-8: neither a journal nor a job of the rig could hold it."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        raise BadInput(f"{path}: its name is not UTF-8", "rename it, or name another") from None


def copy_content(source: Path, target: Path) -> None:
    """Copy what is in a file, in large calls: a file system that is mounted ``sync`` flushes after each of them, and
    shutil.copyfile writes 64 KiB in one. Raises OSError."""
    with source.open("rb", buffering=0) as read, target.open("wb", buffering=0) as write:
        while chunk := read.read(CHUNK):
            while chunk:
                chunk = chunk[write.write(chunk) :]


def fsync_path(path: Path) -> None:
    """Flush a file, or the names in a directory, to the drive; see fsync(2)."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_filesystem(path: Path) -> None:
    """Flush all that the file system which holds ``path`` has not written yet; see syncfs(2).

    For many files: flushing a thousand one by one takes as many commits of the file system's journal.
    """
    library = ctypes.CDLL(None, use_errno=True)
    handle = os.open(path, os.O_RDONLY)
    try:
        if library.syncfs(handle) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))
    finally:
        os.close(handle)


def remove_once_idle(directory: Path, seconds: float = 60.0) -> bool:
    """Remove a kernel object that is a directory; whether there was one. What just ended holds it a moment longer."""
    end = time.monotonic() + seconds
    while True:
        try:
            directory.rmdir()
            return True
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise
            time.sleep(0.02)
