"""What the file systems' own programs say of a device that is not mounted, and what they mend."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Literal

from acidtest.filesystems import FILESYSTEMS, Check

Said = Literal["clean", "errors", "unknown"]
LIMIT_S = 300.0


def look(filesystem: str, device: Path) -> tuple[Said, str]:
    """What is found, and the program's words where that is not ``clean``."""
    program = _check(filesystem)
    if program is None or not shutil.which(program.look[0]):
        return "unknown", f"there is no program here that checks {filesystem}"
    code, words = _run(program.look, device, program.silent)
    if code in program.clean:
        return "clean", ""
    return ("errors" if code in program.errors else "unknown"), words


def mend(filesystem: str, device: Path) -> bool:
    """Whether the program says that all is well now."""
    program = _check(filesystem)
    if program is None or not program.mend or not shutil.which(program.mend[0]):
        return False
    return _run(program.mend, device, program.silent)[0] in program.mended


def checked_before_mount(filesystem: str) -> bool:
    """Whether a restart checks this file system before it mounts it."""
    program = _check(filesystem)
    return program is not None and program.before_mount


def _check(filesystem: str) -> Check | None:
    return FILESYSTEMS[filesystem].check if filesystem in FILESYSTEMS else None


def _run(command: tuple[str, ...], device: Path, silent: tuple[str, ...]) -> tuple[int, str]:
    try:
        ended = subprocess.run(
            [*command, str(device)],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return -1, str(error)
    lines = [line.strip() for line in (ended.stdout + ended.stderr).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(silent)]
    return ended.returncode, " / ".join((telling or lines)[:3])[:500]
