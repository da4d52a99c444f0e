"""File systems mounted and unmounted, and which of the options asked for are in force; see mount(8)."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import shlex
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acidtest.errors import LEAVE_OUT, CellFailed
from acidtest.journal.models import SettingInForce
from acidtest.place import loops
from acidtest.place.facts import Mount, mounts_now

PATIENCE_S = 60.0
DISK_SOURCE = Path("acidtest-disk")  # what the rig's disk names as the source of its mount
ANSWERS_S = 5.0  # for the servers of all FUSE mounts; one that does not answer is not known to be dead
CONNECTIONS = Path("/sys/fs/fuse/connections")  # by the minor number of the mount
LIBRARY = ctypes.CDLL(None, use_errno=True)

# System calls and their words, the same on every architecture; see linux/mount.h.
MOVE_MOUNT, FSOPEN, FSCONFIG, FSMOUNT = 429, 430, 431, 432
SET_FLAG, SET_STRING, CREATE = 0, 1, 6
AT_FDCWD, MOVE_MOUNT_F_EMPTY_PATH = -100, 4
MNT_FORCE = 1
# How kernels say that a file system does not take an option.
OPTION_REFUSED = re.compile("unknown parameter|bad value for|unrecognized mount option", re.IGNORECASE)
# Options of the mount, not of the file system.
ATTRIBUTES = {
    "nosuid": 2, "nodev": 4, "noexec": 8, "relatime": 0, "noatime": 0x10, "strictatime": 0x20, "nodiratime": 0x80,
}  # fmt: skip

# Options that mountinfo does not show where they hold, on any file system: what must not be shown instead.
DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "async": ("sync",),
    "atime": ("noatime",),
    "diratime": ("nodiratime",),
    "dev": ("nodev",),
    "exec": ("noexec",),
    "suid": ("nosuid",),
    "strictatime": ("relatime", "noatime"),
    "nolazytime": ("lazytime",),
}


def options_of(text: str) -> list[str]:
    """The options in ``place.mount``, without those that ask for nothing."""
    return [option for option in map(str.strip, text.split(",")) if option not in ("", "defaults")]


def mount(source: Path, point: Path, filesystem: str, options: Sequence[str]) -> None:
    """Mount the device ``source`` at the directory ``point``. Raises CellFailed with the kernel's own words.

    By fsopen(2), which, unlike mount(2), says which option it does not take and why.
    """
    flags = 0
    command = f"mount -t {filesystem} -o {','.join(options) or 'defaults'} {source}"
    context = _call(FSOPEN, filesystem.encode(), 1, doing=command, filesystem=filesystem)
    try:
        _say(context, command, SET_STRING, "source", str(source))
        for option in options:
            if option in ATTRIBUTES:
                flags |= ATTRIBUTES[option]
                continue
            name, equals, value = option.partition("=")
            if equals:
                _say(context, command, SET_STRING, name, value)
            elif option not in DEFAULTS or option in ("async", "nolazytime"):
                _say(context, command, SET_FLAG, name, None)
        _say(context, command, CREATE, None, None)
        tree = _call(FSMOUNT, context, 1, flags, doing=command, context=context)
        try:
            _call(MOVE_MOUNT, tree, b"", AT_FDCWD, os.fsencode(point), MOVE_MOUNT_F_EMPTY_PATH, doing=command)
        finally:
            os.close(tree)
    finally:
        os.close(context)


def unseen(filesystem: str) -> int:
    """A mount without a device that is at no directory: a descriptor of its root, gone when that is closed."""
    doing = f"mount -t {filesystem}"
    context = _call(FSOPEN, filesystem.encode(), 1, doing=doing, filesystem=filesystem)
    try:
        _say(context, doing, CREATE, None, None)
        return _call(FSMOUNT, context, 1, 0, doing=doing, context=context)
    finally:
        os.close(context)


def _say(context: int, doing: str, order: int, key: str | None, value: str | None) -> None:
    words = [None if word is None else word.encode() for word in (key, value)]
    _call(FSCONFIG, context, order, *words, 0, doing=doing, context=context, option=key)


def _call(number: int, *arguments: Any, doing: str, context: int | None = None, **about: str | None) -> int:
    """A system call. Raises CellFailed with what the kernel says about it."""
    result: int = LIBRARY.syscall(
        ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)
    )
    if result >= 0:
        return result
    error = ctypes.get_errno()
    message = _messages(context) if context is not None else ""
    if number == FSOPEN:
        why = {errno.ENODEV: f"this kernel has no {about['filesystem']}", errno.ENOSYS: "needs Linux 5.2 or newer"}
        message = why.get(error, "")
    elif about.get("option") and not message:
        message = f"{about['option']}: {os.strerror(error)}"
    raise CellFailed(advised(f"{doing}: {message or os.strerror(error)}"))


def advised(message: str) -> str:
    """What a mount failed with, and what to do where the file system refuses an option, as it always will."""
    return f"{message}: correct place.mount, or {LEAVE_OUT}" if OPTION_REFUSED.search(message) else message


def _messages(context: int) -> str:
    """What the kernel has written about this mount: "e xfs: Unknown parameter 'nobarrier'"; see fsopen(2)."""
    words = []
    with contextlib.suppress(OSError):
        while line := os.read(context, 4096):
            words.append(line.decode(errors="replace").strip().partition(" ")[2])
    return " / ".join(words)


def mounted_at(point: Path, source: Path) -> list[Mount]:
    """The mounts of this device at this very directory."""
    return [m for m in mounts_now(str(source)) if m.point == str(point) and m.source == str(source)]


def mounted_below(path: Path) -> list[Mount]:
    """Every mount at ``path`` or below it, no matter who made it."""
    return [m for m in mounts_now() if Path(m.point) == path or path in Path(m.point).parents]


def unmount(point: Path, source: Path) -> bool:
    """Unmount this device from this directory, as often as it is mounted there; whether it was.

    Raises OSError (EBUSY) when something in it is still used after ``PATIENCE_S``. Never lazily: the device would
    stay in use where nobody sees it.
    """
    end, was_mounted = time.monotonic() + PATIENCE_S, False
    while mounted_at(point, source):
        was_mounted = True
        if LIBRARY.umount2(os.fsencode(point), 0) == 0:
            continue
        number = ctypes.get_errno()
        if number != errno.EBUSY or time.monotonic() > end:
            raise OSError(number, os.strerror(number), str(point))
        time.sleep(0.02)
    return was_mounted


def abort_fuse(point: Path, source: Path) -> None:
    """End the FUSE connection of what ``source`` has mounted at ``point``, which stays mounted; those who wait for an
    answer get an error."""
    for mount in mounted_at(point, source):
        try:
            (CONNECTIONS / mount.device_number.partition(":")[2] / "abort").write_text("1", encoding="utf-8")
        except OSError:  # fusectl is not mounted; a mount that is used stays, and is ended nevertheless
            LIBRARY.umount2(os.fsencode(point), MNT_FORCE)


@dataclass(frozen=True)
class DeadMount:
    """A FUSE mount whose server has ended.

    Programs that look at it get ENOTCONN, also those that look at every mount of the machine, as mkfs.btrfs does where
    a loop device over a file of it is mounted.
    """

    point: str
    source: str
    over: tuple[tuple[str, tuple[str, ...]], ...]  # loop devices over its files, and where each is mounted

    @property
    def remedy(self) -> str:
        commands = []
        for device, points in self.over:
            commands += [f"umount {shlex.quote(point)}" for point in points]
            commands.append(f"losetup --detach {device}")
        by_hand = "; ".join([*commands, f"umount {shlex.quote(self.point)}"])
        if self.source == str(DISK_SOURCE):
            return f"acidtest clean, with the ACIDTEST_HOME of the run that made it; or: {by_hand}"
        return by_hand

    def __str__(self) -> str:
        return f"{self.point}: the server of this FUSE mount ({self.source}) has ended"


def dead_mounts() -> list[DeadMount]:
    """The FUSE mounts that this process can see whose servers have ended."""
    points: dict[str, Mount] = {}
    for mount in mounts_now("fuse"):
        if mount.filesystem.partition(".")[0] in ("fuse", "fuseblk"):
            points[mount.point] = mount
    dead: dict[str, bool] = {}

    def ask(point: str) -> None:
        try:
            os.statvfs(point)  # the kernel keeps no answer to it: the server is asked each time
        except OSError as error:
            dead[point] = error.errno == errno.ENOTCONN

    # A server may live and never answer: nothing here waits for it.
    asking = [threading.Thread(target=ask, args=(point,), daemon=True) for point in points]
    for thread in asking:
        thread.start()
    end = time.monotonic() + ANSWERS_S
    for thread in asking:
        thread.join(max(0.0, end - time.monotonic()))
    return [DeadMount(point, mount.source, _over(point)) for point, mount in points.items() if dead.get(point)]


def _over(point: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    devices = [device for device, image in loops.images().items() if Path(point) in image.parents]
    return tuple(
        (device, tuple(mount.point for mount in mounts_now(device) if mount.source == device)) for device in devices
    )


def failed(command: Sequence[str], output: str) -> CellFailed:
    """A command that has failed with this output, and the dead mount that may be the cause."""
    about, dead = f"{shlex.join(command)}: {output}", []
    if os.strerror(errno.ENOTCONN) in output:
        dead = dead_mounts()
    return CellFailed("; ".join([about, *map(str, dead)]), "; ".join(mount.remedy for mount in dead))


def in_force(
    asked: Sequence[str], mount: Mount, shown_as: Mapping[str, str], defaults: Mapping[str, tuple[str, ...]]
) -> list[SettingInForce]:
    """Each option asked for, and whether it holds. It does when mountinfo shows it, or shows what the file system's
    ``shown_as`` says it becomes, or when it is one of the ``defaults`` that are not shown and nothing that
    contradicts it is."""
    shown = mount.options.split(",")
    settings = []
    for option in asked:
        becomes = shown_as.get(option, option)
        unseen = {**DEFAULTS, **defaults}.get(option)
        holds = any(one == becomes or one.startswith(f"{becomes}:") for one in shown) or (
            unseen is not None and not any(one in unseen for one in shown)
        )
        settings.append(
            SettingInForce(
                name=f"place.mount {option}",
                asked=option,
                in_force=option if holds else mount.options,
                agrees=holds,
                source="mountinfo",
            )
        )
    return settings
