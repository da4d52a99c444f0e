"""Loop devices: a file as a block device; see loop(4).

Each is a device of its own number, added for one image and removed with it: no queue setting of ours outlives it, and
the loop devices that others use or have set up are never opened.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import time
from pathlib import Path

from acidtest.files import kernel_text

CONTROL = Path("/dev/loop-control")
LOOP_CLR_FD, LOOP_GET_STATUS64, LOOP_CONFIGURE = 0x4C01, 0x4C05, 0x4C0A
LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4C80, 0x4C81
LO_FLAGS_DIRECT_IO = 16
# struct loop_info64: device, inode, rdevice, offset, sizelimit; number, encryption (2), flags; names, key, init.
INFO = struct.Struct("<5Q4I64s64s32s2Q")
CONFIG = struct.Struct("<2I")  # struct loop_config before its loop_info64: fd, block_size; eight words are reserved
PATIENCE_S = 60.0


class Taken(Exception):
    """Somebody else was quicker with this number."""


def device_of(number: int) -> Path:
    """The device node of a loop's number."""
    return Path(f"/dev/loop{number}")


def unused_number() -> int:
    """A number above all that there are."""
    numbers = [entry.name[4:] for entry in Path("/sys/block").glob("loop*")]
    return max((int(n) for n in numbers if n.isdecimal()), default=-1) + 1


def images() -> dict[str, Path]:
    """The image of each loop device of this machine, no matter who attached it."""
    found = {}
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):  # detached meanwhile
            found[f"/dev/{backing.parts[3]}"] = Path(kernel_text(backing).strip().removesuffix(" (deleted)"))
    return found


def attach(number: int, image: Path) -> bool:
    """Add ``/dev/loopNUMBER`` over ``image``. Whether the image is read and written past the host's page cache.

    Raises Taken, or OSError; then there is no device of that number that is ours.
    """
    try:
        _control(LOOP_CTL_ADD, number)
    except OSError as error:
        if error.errno == errno.EEXIST:
            raise Taken from None
        raise
    return _over(number, image)


def attach_again(number: int, image: Path) -> bool:
    """As ``attach``, for a device of ours that ``let_go`` has left without an image."""
    return _over(number, image)


def _over(number: int, image: Path) -> bool:
    try:
        file = os.open(image, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        _remove(number)
        raise
    try:
        _configure(number, image, file)
    except OSError as error:
        # Attached by somebody who looked for a free one, or removed by one who thought that it was left over.
        if error.errno in (errno.EBUSY, errno.ENXIO, errno.ENOENT):
            raise Taken from None
        _remove(number)
        raise
    finally:
        # Nothing was written through it: that the image's own disk may have ended meanwhile is no failure of the loop.
        with contextlib.suppress(OSError):
            os.close(file)
    return kernel_text(_sysfs(number) / "dio").strip() == "1"


def _configure(number: int, image: Path, file: int) -> None:
    info = INFO.pack(0, 0, 0, 0, 0, 0, 0, 0, LO_FLAGS_DIRECT_IO, os.fsencode(image)[-63:], b"", b"", 0, 0)
    device = os.open(device_of(number), os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(device, LOOP_CONFIGURE, CONFIG.pack(file, 0) + info + bytes(64))
    finally:
        os.close(device)


def detach(number: int, image: Path, inode: int) -> bool:
    """Detach and remove the loop if it is surely the one over ``image``; whether there was one.

    Raises OSError (EBUSY) while it is in use: then it stays whole.
    """
    if not _sysfs(number).exists():
        if not _sysfs(number).parent.exists():
            return False
        _remove(number)  # added and not configured yet; another user's would be in use, and is not removed
        return False
    if not let_go(number, image, inode):
        return False
    _remove(number)
    return True


def let_go(number: int, image: Path, inode: int) -> bool:
    """Detach the loop if it is surely the one over ``image``, and keep its number, which costs less than a new one.

    Raises OSError (EBUSY) while it is in use: then it stays whole.
    """
    if not is_over(number, image, inode):
        return False
    # A detached device that is still mounted or open would live on until its last user goes.
    end = time.monotonic() + PATIENCE_S
    device = _alone(number, end)
    try:
        fcntl.ioctl(device, LOOP_CLR_FD, 0)
    finally:
        os.close(device)
    while _sysfs(number).exists():
        if time.monotonic() > end:
            raise OSError(errno.EBUSY, "is still in use", str(device_of(number)))
        time.sleep(0.002)
    return True


def _alone(number: int, until: float) -> int:
    """The device, opened by us alone. It is waited for until nobody else has it: who looks at it has it for a moment, a
    copy of the mount namespace for as long as it lives. Raises OSError (EBUSY) after ``until`` (monotonic)."""
    while True:
        try:
            return os.open(device_of(number), os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > until:
                raise
        time.sleep(0.01)


def is_over(number: int, image: Path, inode: int) -> bool:
    """Whether the loop's backing file is this image, by its path and by its inode."""
    try:
        backing = kernel_text(_sysfs(number) / "backing_file").strip()
        device = os.open(device_of(number), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        answer = INFO.unpack(fcntl.ioctl(device, LOOP_GET_STATUS64, bytes(INFO.size)))
    except OSError:
        return False
    finally:
        os.close(device)
    return backing.removesuffix(" (deleted)") == str(image) and answer[1] == inode


def _sysfs(number: int) -> Path:
    return Path(f"/sys/block/loop{number}/loop")  # there while it is attached


def _remove(number: int) -> None:
    # Others that have it open or attached keep it.
    for _ in range(100):
        try:
            _control(LOOP_CTL_REMOVE, number)
        except OSError as error:
            if error.errno == errno.EBUSY:
                time.sleep(0.01)
                continue
        return


def _control(request: int, number: int) -> None:
    control = os.open(CONTROL, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(control, request, number)
    finally:
        os.close(control)
