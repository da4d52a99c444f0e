"""File systems mounted and unmounted, and which of the options asked for are in force; see mount(8)."""

from __future__ import annotations

import ctypes
import errno
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from acidtest.journal.models import SettingInForce
from acidtest.place.facts import Mount, mounts_now

PATIENCE_S = 10.0

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
    "loud": ("silent",),
}


def command(source: Path, point: Path, filesystem: str, options: Sequence[str]) -> list[str]:
    """How ``source`` is mounted; -i: no helper program, which might mount otherwise than asked."""
    return ["mount", "-i", "-t", filesystem, "-o", ",".join(options) or "defaults", str(source), str(point)]


def mounted_at(point: Path, source: Path) -> list[Mount]:
    """The mounts of this device at this very directory."""
    return [m for m in mounts_now() if m.point == str(point) and m.source == str(source)]


def mounted_below(path: Path) -> list[Mount]:
    """Every mount at ``path`` or below it, whoever made it."""
    return [m for m in mounts_now() if Path(m.point) == path or path in Path(m.point).parents]


def unmount(point: Path, source: Path) -> bool:
    """Unmount this device from this directory, as often as it is mounted there; whether it was.

    Raises OSError (EBUSY) when something in it is still used after ``PATIENCE_S``. Never lazily: the device would
    stay in use where nobody sees it.
    """
    library = ctypes.CDLL(None, use_errno=True)
    end, found = time.monotonic() + PATIENCE_S, False
    while mounted_at(point, source):
        found = True
        if library.umount2(os.fsencode(point), 0) == 0:
            continue
        number = ctypes.get_errno()
        if number != errno.EBUSY or time.monotonic() > end:
            raise OSError(number, os.strerror(number), str(point))
        time.sleep(0.02)
    return found


def in_force(
    asked: Sequence[str], mount: Mount, shown_as: Mapping[str, str], defaults: Mapping[str, tuple[str, ...]]
) -> list[SettingInForce]:
    """Each option asked for, and whether it holds. It does when mountinfo shows it, or shows what the file system's
    ``shown_as`` says it becomes, or when it is one of the ``defaults`` that are not shown and nothing that
    contradicts it is."""
    shown = mount.options.split(",")
    found = []
    for option in asked:
        becomes = shown_as.get(option, option)
        unseen = {**DEFAULTS, **defaults}.get(option)
        holds = any(one == becomes or one.startswith(f"{becomes}:") for one in shown) or (
            unseen is not None and not any(one in unseen for one in shown)
        )
        found.append(
            SettingInForce(
                name=f"place.mount {option}",
                asked=option,
                in_force=option if holds else mount.options,
                agrees=holds,
                source="mountinfo",
            )
        )
    return found
