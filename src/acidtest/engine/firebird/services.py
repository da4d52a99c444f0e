"""What a process of its own does through firebird-driver, with the engine embedded or on a server: see admin.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acidtest.engine.base import Launcher
from acidtest.errors import CellFailed
from acidtest.formats import gstat

ADMIN = [sys.executable, "-P", str(Path(__file__).with_name("admin.py"))]
TAKE_STATISTICS = "take its statistics"


def check(code: int, stderr: bytes) -> None:
    """Raise CellFailed with the last words of such a process unless it ended in order."""
    if code != 0:
        words = stderr.decode(errors="replace").strip().splitlines()[-1:] or [f"ended with code {code}"]
        raise CellFailed(words[0])


def take_statistics(
    launcher: Launcher, environment: Mapping[str, str], request: Mapping[str, Any], limit_s: float | None = None
) -> tuple[float, gstat.Output]:
    """The seconds that gstat took, and what it printed of the tables of users. Raises CellFailed with the words of who
    did not do it."""
    with tempfile.TemporaryFile() as stderr:
        id_, process = launcher.start_process(ADMIN, environment={**os.environ, **environment}, stderr=stderr)
        try:
            asked = json.dumps({**request, "do": TAKE_STATISTICS}).encode()
            stdout, _ = process.communicate(asked, timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise CellFailed(f"nothing was answered within {limit_s:,.0f} s") from None
        finally:
            launcher.end_process(id_, process)
        stderr.seek(0)
        check(process.returncode, stderr.read())
    seconds, *lines = stdout.decode(errors="replace").splitlines()
    return float(seconds), gstat.parse(lines)
