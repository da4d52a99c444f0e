"""The kernel's file cache of single files: how much of them is in it, taking them out, reading them in.

Only these files are touched; what the rest of the machine has cached stays.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from acidtest.errors import CellFailed, MachineLacks

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
DROP_CACHES = Path("/proc/sys/vm/drop_caches")
SYS_CACHESTAT = 451  # the same on every architecture but alpha
WINDOW_BYTES = 1 << 30
READ_BYTES = 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]


class _Range(ctypes.Structure):
    _fields_ = [("off", ctypes.c_uint64), ("len", ctypes.c_uint64)]


class _Cachestat(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("cache", "dirty", "writeback", "evicted", "recently_evicted")]


@dataclass(frozen=True)
class Residency:
    """How much of some files is in the file cache."""

    file_bytes: int
    resident_bytes: int
    dirty_bytes: int | None  # of those, not yet written; mincore cannot tell
    source: str  # "cachestat" or "mincore"

    @property
    def share(self) -> float:
        return min(1.0, self.resident_bytes / self.file_bytes) if self.file_bytes else 0.0


def files_below(paths: Iterable[Path]) -> list[Path]:
    """The files among ``paths`` and in the directories among them; links are not followed."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            with os.scandir(path) as entries:
                inside = [(Path(entry.path), entry.is_dir(follow_symlinks=False)) for entry in entries]
            files += files_below(child for child, is_directory in sorted(inside) if is_directory)
            files += [child for child, is_directory in sorted(inside) if not is_directory]
        else:
            files.append(path)
    return files


def residency(files: Iterable[Path]) -> Residency:
    """Ask the kernel: cachestat(2) where it has it (Linux 6.5), else mincore(2). Files that are gone count nothing."""
    total = resident = dirty = 0
    source = "cachestat"
    for path in files:
        try:
            descriptor, size = _open(path)
        except OSError:
            continue
        try:
            if descriptor is None:
                continue
            total += size
            if (stated := _cachestat(descriptor)) is not None:
                resident += stated[0]
                dirty += stated[1]
            else:
                source = "mincore"
                resident += mincore(descriptor, size)
        finally:
            if descriptor is not None:
                os.close(descriptor)
    return Residency(total, resident, dirty if source == "cachestat" else None, source)


def _open(path: Path) -> tuple[int | None, int]:
    """A descriptor and the size; none of what is no file or block device, or is empty."""
    mode = path.lstat()
    if not stat.S_ISBLK(mode.st_mode) and not (stat.S_ISREG(mode.st_mode) and mode.st_size):
        return None, 0
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return descriptor, mode.st_size if stat.S_ISREG(mode.st_mode) else os.lseek(descriptor, 0, os.SEEK_END)


def _cachestat(descriptor: int) -> tuple[int, int] | None:
    """Bytes cached, and of those dirty; None where the kernel does not have the call."""
    whole, counts = _Range(0, 0), _Cachestat()
    if _libc.syscall(SYS_CACHESTAT, descriptor, ctypes.byref(whole), ctypes.byref(counts), 0) == 0:
        return counts.cache * PAGE_BYTES, (counts.dirty + counts.writeback) * PAGE_BYTES
    return None


def mincore(descriptor: int, size: int) -> int:
    """Bytes cached of the first ``size``; a page of ours is never touched. Raises OSError."""
    resident = 0
    for offset in range(0, size, WINDOW_BYTES):
        length = min(WINDOW_BYTES, size - offset)
        address = _libc.mmap(None, length, 1, 1, descriptor, offset)  # PROT_READ, MAP_SHARED
        if address in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        try:
            pages = ctypes.create_string_buffer((length + PAGE_BYTES - 1) // PAGE_BYTES)
            if _libc.mincore(address, length, pages) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            resident += pages.raw.count(b"\x01")
        finally:
            _libc.munmap(address, length)
    return resident * PAGE_BYTES


def drop(files: Iterable[Path]) -> Residency:
    """Write the files back and take their pages out of the cache; what is left is told, not guessed.

    POSIX_FADV_DONTNEED passes over dirty pages, so they are flushed first, and over pages that a process has mapped.
    """
    files = list(files)
    for path in files:
        descriptor, _ = _open(path)
        if descriptor is not None:
            try:
                os.fdatasync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)
    return residency(files)


def drop_machine() -> None:
    """Take everything clean out of every cache of this machine; see drop_caches in proc_sys_vm(5)."""
    may_drop_machine()
    os.sync()
    DROP_CACHES.write_text("3", encoding="utf-8")


def may_drop_machine() -> None:
    """Raise MachineLacks unless the caches of the whole machine may be dropped."""
    if not os.access(DROP_CACHES, os.W_OK):
        raise MachineLacks(
            f'place.start = "cold-machine": {DROP_CACHES}: may not be written to',
            'run as root: sudo acidtest run ...; or ask for start = "cold", which drops the database\'s pages only',
        )


def read_through(files: Iterable[Path]) -> None:
    """Read every byte of the files, and with it into the cache. Raises CellFailed."""
    buffer = bytearray(READ_BYTES)
    for path in files:
        try:
            descriptor, _ = _open(path)
            if descriptor is None:
                continue
            try:
                while os.readv(descriptor, [buffer]):
                    pass
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise CellFailed(f'place.start = "warm": {path}: could not be read: {error.strerror}') from None
