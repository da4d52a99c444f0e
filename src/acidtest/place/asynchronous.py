"""One write to a block device that must be durable before it is answered, and that no flush follows.

A write of this kind with ``write(2)`` is followed by a flush of the whole device, which the kernel adds although the
write was already sent with FUA; one of the kernel's asynchronous I/O is not. See io_submit(2) and blkdev_write_iter in
block/fops.c.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import struct
from pathlib import Path

from acidtest.errors import MachineLacks

# io_setup, io_destroy, io_getevents, io_submit: the C library has no names for them.
NUMBERS = {"x86_64": (206, 207, 208, 209), "aarch64": (0, 1, 4, 2)}
PWRITE = 1
# struct iocb of linux/aio_abi.h: data, key, rw_flags; opcode, priority, file; buffer, length, offset; the rest is 0.
REQUEST = struct.Struct("<QIiHhIQQqQII")
EVENT_BYTES, RESULT_AT = 32, 16


def write_through(device: Path, data: bytes) -> None:
    """Write ``data``, whole pages, at the beginning of ``device`` with FUA. Raises OSError and MachineLacks."""
    numbers = NUMBERS.get(platform.machine())
    if numbers is None:
        raise MachineLacks("asynchronous writes", f"their system calls are known on {', '.join(NUMBERS)} only")
    setup, destroy, collect, submit = numbers
    context = ctypes.c_ulong(0)
    _call(setup, 1, ctypes.byref(context))
    try:
        with mmap.mmap(-1, len(data)) as pages:
            pages[:] = data
            file = os.open(device, os.O_WRONLY | os.O_DIRECT | os.O_DSYNC)
            try:
                held = (ctypes.c_char * len(data)).from_buffer(pages)
                at = ctypes.addressof(held)
                request = ctypes.create_string_buffer(
                    REQUEST.pack(0, 0, 0, PWRITE, 0, file, at, len(data), 0, 0, 0, 0), REQUEST.size
                )
                event = ctypes.create_string_buffer(EVENT_BYTES)
                _call(submit, context, 1, ctypes.byref(ctypes.c_void_p(ctypes.addressof(request))))
                _call(collect, context, 1, 1, event, None)
                (written,) = struct.unpack_from("<q", event, RESULT_AT)
                del held  # the pages cannot be closed before
            finally:
                os.close(file)
    finally:
        _call(destroy, context)
    if written != len(data):
        raise OSError(-written if written < 0 else 5, os.strerror(-written if written < 0 else 5), str(device))


def _call(number: int, *arguments: object) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    if library.syscall(ctypes.c_long(number), *arguments) < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "asynchronous I/O")
