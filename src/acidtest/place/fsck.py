"""What the file systems' own programs say of a device that is not mounted, and what they repair."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from acidtest.filesystems import FILESYSTEMS, Check

Said = Literal["clean", "errors", "unknown"]
LIMIT_S = 300.0
REPAIRED_LINES = 12  # of what a program says while it repairs


# Runs a program, here or in a guest: its exit code, below zero where it could not be run, and what it printed.
Run = Callable[[Sequence[str]], tuple[int, str]]


def run_here(command: Sequence[str]) -> tuple[int, str]:
    try:
        ended = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", check=False, timeout=LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return -1, str(error)
    return ended.returncode, ended.stdout + ended.stderr


def look(filesystem: str, device: Path, run: Run = run_here) -> tuple[Said, str]:
    """What is found, and the program's words where that is not ``clean``."""
    program = _check(filesystem)
    if program is None or not shutil.which(program.look[0]):
        return "unknown", f"there is no program here that checks {filesystem}"
    code, output = run([*program.look, str(device)])
    if code in program.clean:
        return "clean", ""
    return ("errors" if code in program.errors else "unknown"), _telling(output, program.silent)


def repair(filesystem: str, device: Path, run: Run = run_here) -> tuple[bool, str]:
    """Whether the program says that all is well now, and its words; "" where it was not run."""
    program = _check(filesystem)
    if program is None or not program.repair or not shutil.which(program.repair[0]):
        return False, ""
    code, output = run([*program.repair, str(device)])
    return code in program.repaired, _telling(output, program.silent, REPAIRED_LINES)


def checked_before_mount(filesystem: str) -> bool:
    """Whether a restart checks this file system before it mounts it."""
    program = _check(filesystem)
    return program is not None and program.before_mount


def _check(filesystem: str) -> Check | None:
    return FILESYSTEMS[filesystem].check if filesystem in FILESYSTEMS else None


def _telling(output: str, silent: tuple[str, ...], many: int = 3) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(silent)]
    return " / ".join((telling or lines)[:many])[:500]
