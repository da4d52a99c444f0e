"""The process that validates: see validation.py."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from acidtest.engine.firebird import validation


class Validator:
    """A process with the engine loaded, for one validation after another."""

    def __init__(self, library: Path, database: Path, user: str, environment: Mapping[str, str]) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", validation.__file__, str(library), str(database), user],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
        )

    def validate(self, limit_s: float) -> str:
        """What the engine refused or said in the end, "" when it found nothing."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return self._last_words()
        line, end = b"", time.monotonic() + limit_s
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(timeout=max(0.0, end - time.monotonic())):
                    return f"it did not end within {limit_s:.0f} s"
                if not (chunk := os.read(self._process.stdout.fileno(), 1 << 16)):
                    return self._last_words()
                line += chunk
        return line.decode(errors="replace").strip()

    def _last_words(self) -> str:
        code = self._process.wait()
        self._stderr.seek(0)
        lines = self._stderr.read()[-2000:].decode(errors="replace").strip().splitlines()[-1:]
        return lines[0] if lines else f"it ended with code {code}"

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._stderr.close()
