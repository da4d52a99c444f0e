"""Processes of their own that load a Firebird: see library_client.py and, for what takes firebird-driver, admin.py."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from acidtest.engine.base import Launcher
from acidtest.errors import CellFailed
from acidtest.formats import gstat

LIBRARY_CLIENT = [sys.executable, "-I", "-S", str(Path(__file__).with_name("library_client.py"))]
ADMIN = [sys.executable, "-P", str(Path(__file__).with_name("admin.py"))]
TAKE_STATISTICS = "take its statistics"


def check(code: int, stderr: bytes) -> None:
    """Raise CellFailed with the last words of such a process unless it ended in order."""
    if code != 0:
        raise CellFailed(last_line(stderr) or f"ended with code {code}")


def last_line(words: bytes) -> str:
    return next(iter(words.decode(errors="replace").strip().splitlines()[-1:]), "")


def read_line(pipe: IO[bytes], limit_s: float) -> bytes:
    """The next line of a process, or, where its output ends before, what there is of it. Raises TimeoutError."""
    line, end = b"", time.monotonic() + limit_s
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(timeout=max(0.0, end - time.monotonic())):
                raise TimeoutError
            if not (chunk := os.read(pipe.fileno(), 1 << 16)):
                break
            line += chunk
    return line


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


class Validator:
    """A process with the engine loaded, for one validation after another."""

    def __init__(self, library: Path, database: Path, user: str, environment: Mapping[str, str]) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end
        self._process = subprocess.Popen(
            [*LIBRARY_CLIENT, "validate", str(library), str(database), user],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
        )

    def validate(self, limit_s: float) -> str:
        """What the engine refused or said in the end, "" when it found nothing."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
            line = read_line(self._process.stdout, limit_s)
        except BrokenPipeError:
            line = b""
        except TimeoutError:
            return f"it did not end within {limit_s:.0f} s"
        if line.endswith(b"\n"):
            return line.decode(errors="replace").strip()
        code = self._process.wait()
        self._stderr.seek(0)
        return last_line(self._stderr.read()[-2000:]) or f"it ended with code {code}"

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._stderr.close()
