"""File systems mounted and unmounted, and which of the options asked for are in force; see mount(8)."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from acidtest.errors import CellFailed
from acidtest.journal.models import SettingInForce
from acidtest.place.facts import Mount, mounts_now

PATIENCE_S = 60.0
CONNECTIONS = Path("/sys/fs/fuse/connections")  # by the minor number of the mount
LIBRARY = ctypes.CDLL(None, use_errno=True)

# System calls and their words, the same on every architecture; see linux/mount.h.
MOVE_MOUNT, FSOPEN, FSCONFIG, FSMOUNT = 429, 430, 431, 432
SET_FLAG, SET_STRING, CREATE = 0, 1, 6
AT_FDCWD, MOVE_MOUNT_F_EMPTY_PATH = -100, 4
MNT_FORCE = 1
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
    raise CellFailed(f"{doing}: {message or os.strerror(error)}")


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
    """Every mount at ``path`` or below it, whoever made it."""
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


def end_fuse(point: Path, source: Path) -> bool:
    """End the FUSE connection of what ``source`` has mounted at ``point``, and unmount it; whether it was mounted.

    Whoever still waits for an answer gets an error. Raises OSError (EBUSY) when it is still used after ``PATIENCE_S``.
    """
    abort_fuse(point, source)
    return unmount(point, source)


def abort_fuse(point: Path, source: Path) -> None:
    """End the FUSE connection of what ``source`` has mounted at ``point``, which stays mounted and fails everybody."""
    for mount in mounted_at(point, source):
        try:
            (CONNECTIONS / mount.device_number.partition(":")[2] / "abort").write_text("1", encoding="utf-8")
        except OSError:  # fusectl is not mounted; a mount that is used stays, and is ended nevertheless
            LIBRARY.umount2(os.fsencode(point), MNT_FORCE)


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
