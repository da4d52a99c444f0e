"""A block device whose power can be cut, in one file of Python: FUSE with the one file ``disk``, and a loop on it.

What is written is in the drive's volatile cache until a flush. A flush makes it durable, or fails as often as asked. A
cut ends the drive: what is durable then is the image that is left. Written for the findings in this folder, apart from
acidtest's own simulated disk. Linux, root; losetup, mkfs and mount do the rest.

Sources: include/uapi/linux/fuse.h for the requests; ``losetup --direct-io`` keeps the host's page cache out.
"""

from __future__ import annotations

import ctypes
import mmap
import multiprocessing
import os
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
BLOCK = 4096
WRITE_MAX = 131072
ROOT, DISK = 1, 2
EIO, ENOENT, ENOSYS = 5, 2, 38
LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC = 1, 2, 3, 4, 14, 15, 16, 17, 18, 20
FLUSH, INIT, INTERRUPT, BATCH_FORGET = 25, 26, 36, 42
ASYNC_READ, BIG_WRITES, MAX_PAGES = 1, 1 << 5, 1 << 22
DIRECT_IO = 1
MNT_DETACH = 2
FAIL, CUT, FLUSHES = 0, 8, 16  # places of the two processes' shared words


class Disk:
    """``with Disk(folder, 64 << 20) as disk``: ``disk.device`` is a loop device of so many bytes."""

    def __init__(self, folder: Path, size: int, image: bytes = b"") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.size = Path(tempfile.mkdtemp(dir=folder)), size
        self._durable = mmap.mmap(-1, size)
        self._durable[: len(image)] = image
        self._words = mmap.mmap(-1, 4096)
        self._lock = multiprocessing.Lock()
        self.device = ""

    def __enter__(self) -> Disk:
        fuse = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,max_read={WRITE_MAX}".encode()
        if LIBC.mount(b"finding", str(self.folder).encode(), b"fuse", 0, options):
            raise OSError(ctypes.get_errno(), "mounting FUSE needs root")
        self._server = multiprocessing.get_context("fork").Process(target=self._serve, args=(fuse,), daemon=True)
        self._server.start()
        os.close(fuse)
        attach = ["losetup", "--find", "--show", "--direct-io=on", str(self.folder / "disk")]
        self.device = subprocess.run(attach, check=True, capture_output=True, text=True).stdout.strip()
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["losetup", "--detach", self.device], check=False)
        until = time.monotonic() + 30
        while (busy := LIBC.umount2(str(self.folder).encode(), 0)) and time.monotonic() < until:
            time.sleep(0.02)
        if busy:  # somebody else still holds the loop device: the folder goes now, the rest when that has ended
            LIBC.umount2(str(self.folder).encode(), MNT_DETACH)
        self._server.join(10)
        if self._server.is_alive():
            self._server.kill()
        self.folder.rmdir()

    def fail_flushes(self, many: int) -> None:
        """The next so many flushes fail with EIO; what they were to make durable stays in the cache."""
        self._put(FAIL, many)

    @property
    def flushes(self) -> int:
        """That have arrived."""
        return int(struct.unpack_from("<Q", self._words, FLUSHES)[0])

    def cut(self) -> bytes:
        """Cut the power: what is durable now. The drive goes on answering, and nothing that it does counts."""
        with self._lock:
            self._put(CUT, 1)
            return bytes(self._durable)

    def _put(self, word: int, value: int) -> None:
        struct.pack_into("<Q", self._words, word, value)

    def _word(self, word: int) -> int:
        return int(struct.unpack_from("<Q", self._words, word)[0])

    def _serve(self, fuse: int) -> None:
        cache: dict[int, bytearray] = {}
        while True:
            try:
                request = os.read(fuse, WRITE_MAX + 8192)
            except InterruptedError:
                continue
            except OSError:  # ENODEV: it was unmounted
                return
            _, code, unique, node = struct.unpack_from("<IIQQ", request)
            answer = self._answer(code, node, memoryview(request)[40:], cache)
            if answer is None:
                continue
            error, body = (answer, b"") if isinstance(answer, int) else (0, answer)
            try:
                os.write(fuse, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)
            except OSError:  # the kernel has given the request up
                continue

    def _answer(self, code: int, node: int, body: Any, cache: dict[int, bytearray]) -> bytes | int | None:
        """What is sent back; a number is an error, None is no answer at all."""
        if code == INIT:
            ahead, offered = struct.unpack_from("<II", body, 8)
            flags = offered & (ASYNC_READ | BIG_WRITES | MAX_PAGES)
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, ahead, flags, 16, 12, WRITE_MAX, 1, WRITE_MAX // 4096, 0, 0)
        if code in (FORGET, BATCH_FORGET, INTERRUPT):
            return None
        if code == LOOKUP:
            if bytes(body).rstrip(b"\0") != b"disk":
                return ENOENT
            return struct.pack("<QQQQII", DISK, 0, 3600, 3600, 0, 0) + self._attributes(DISK)
        if code in (GETATTR, SETATTR):
            return struct.pack("<QII", 3600, 0, 0) + self._attributes(node)
        if code == OPEN:
            return struct.pack("<QII", 1, DIRECT_IO, 0)
        if code == STATFS:
            return struct.pack("<QQQQQIIII24x", self.size // BLOCK, 0, 0, 1, 0, BLOCK, 255, BLOCK, 0)
        if code == READ:
            at, size = struct.unpack_from("<QI", body, 8)
            return self._read(at, min(size, self.size - at), cache)
        if code == WRITE:
            at, size = struct.unpack_from("<QI", body, 8)
            self._write(at, body[40 : 40 + size], cache)
            return struct.pack("<II", size, 0)
        if code == FSYNC:
            return self._flush(cache)
        return b"" if code in (RELEASE, FLUSH) else ENOSYS

    def _attributes(self, node: int) -> bytes:
        mode, size = (0o40755, 0) if node == ROOT else (0o100600, self.size)
        times = (0, 0, 0, 0, 0, 0)
        return struct.pack("<6Q10I", node, size, size // 512, *times[:3], *times[3:], mode, 1, 0, 0, 0, BLOCK, 0)

    def _read(self, at: int, size: int, cache: dict[int, bytearray]) -> bytes:
        found = bytearray(self._durable[at : at + size])
        for block in range(at // BLOCK, (at + size - 1) // BLOCK + 1):
            if block in cache:
                first, last = max(at, block * BLOCK), min(at + size, (block + 1) * BLOCK)
                found[first - at : last - at] = cache[block][first - block * BLOCK : last - block * BLOCK]
        return bytes(found)

    def _write(self, at: int, data: Any, cache: dict[int, bytearray]) -> None:
        done = 0
        while done < len(data):
            block, offset = divmod(at + done, BLOCK)
            size = min(BLOCK - offset, len(data) - done)
            kept = cache.setdefault(block, bytearray(self._durable[block * BLOCK : (block + 1) * BLOCK]))
            kept[offset : offset + size] = data[done : done + size]
            done += size

    def _flush(self, cache: dict[int, bytearray]) -> bytes | int:
        with self._lock:
            self._put(FLUSHES, self.flushes + 1)
            if self._word(CUT):
                return b""
            if failing := self._word(FAIL):
                self._put(FAIL, failing - 1)
                return EIO
            for block, data in cache.items():
                self._durable[block * BLOCK : (block + 1) * BLOCK] = data
            cache.clear()
            return b""
