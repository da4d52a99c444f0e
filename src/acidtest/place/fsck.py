"""What the file systems' own programs say of a device that is not mounted, and what they mend."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Said = Literal["clean", "errors", "unknown"]
LIMIT_S = 300.0


@dataclass(frozen=True)
class Program:
    """One file system's. Exit codes that are not named mean that the program itself failed."""

    look: tuple[str, ...]  # changes nothing
    clean: tuple[int, ...]
    errors: tuple[int, ...]
    mend: tuple[str, ...] = ()
    mended: tuple[int, ...] = ()
    before_mount: bool = False  # there is no journal: what a restart does to one that was not unmounted


def _ext(*, before_mount: bool = False) -> Program:
    return Program(
        look=("e2fsck", "-f", "-n"), clean=(0,), errors=(4,),
        mend=("e2fsck", "-f", "-y"), mended=(0, 1, 2), before_mount=before_mount,
    )  # fmt: skip


PROGRAMS: Mapping[str, Program] = {
    "ext2": _ext(before_mount=True),
    "ext3": _ext(),
    "ext4": _ext(),
    "xfs": Program(
        look=("xfs_repair", "-n"), clean=(0,), errors=(1, 2), mend=("xfs_repair", "-L"), mended=(0,)
    ),  # -L drops a log that cannot be replayed
    "btrfs": Program(look=("btrfs", "check", "--readonly"), clean=(0,), errors=(1,)),  # its --repair is for experts
}


def look(filesystem: str, device: Path) -> tuple[Said, str]:
    """What is found, and the program's words where that is not ``clean``."""
    program = PROGRAMS.get(filesystem)
    if program is None or not shutil.which(program.look[0]):
        return "unknown", f"there is no program here that checks {filesystem}"
    code, words = _run(program.look, device)
    if code in program.clean:
        return "clean", ""
    return ("errors" if code in program.errors else "unknown"), words


def mend(filesystem: str, device: Path) -> bool:
    """Whether the program says that all is well now."""
    program = PROGRAMS.get(filesystem)
    if program is None or not program.mend or not shutil.which(program.mend[0]):
        return False
    return _run(program.mend, device)[0] in program.mended


def checked_before_mount(filesystem: str) -> bool:
    """Whether a restart checks this file system before it mounts it."""
    return filesystem in PROGRAMS and PROGRAMS[filesystem].before_mount


def _run(command: tuple[str, ...], device: Path) -> tuple[int, str]:
    try:
        ended = subprocess.run(
            [*command, str(device)], capture_output=True, text=True, errors="replace", check=False, timeout=LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return -1, str(error)
    lines = [line.strip() for line in (ended.stdout + ended.stderr).splitlines() if line.strip()]
    # The first line of e2fsck and the phases of all of them say only that they are at work.
    telling = [line for line in lines if not line.startswith(("e2fsck ", "Pass ", "Phase ", "Opening ", "Checking "))]
    return ended.returncode, " / ".join((telling or lines)[:3])[:500]
