"""The reading end of the ledger of acknowledged commits: a pipe of the lab's, outside everything that is cut."""

from __future__ import annotations

import os
import select
from pathlib import Path

from acidtest.analysis import survival
from acidtest.errors import CellFailed

PIPE_BYTES = 1 << 20  # terminals never wait for the lab


class Acknowledgements:
    """A named pipe in ``directory``. What was read counts; what is still in the pipe when power fails does not."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "acknowledgements"
        os.mkfifo(self.path, 0o600)
        self._handle = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._lines: list[bytes] = []
        self._pending = b""
        self._poll = select.poll()
        self._poll.register(self._handle, select.POLLIN)

    def __len__(self) -> int:
        return len(self._lines)

    def wait(self, seconds: float) -> bool:
        """Read what has come, after waiting for it at most so long; False once every writer has gone."""
        events = self._poll.poll(max(seconds, 0) * 1e3)
        self.drain()
        return not any(event & select.POLLHUP and not event & select.POLLIN for _, event in events)

    def drain(self) -> None:
        """Read everything that has been written."""
        while True:
            try:
                chunk = os.read(self._handle, PIPE_BYTES)
            except BlockingIOError:
                return
            if not chunk:
                return
            *lines, self._pending = (self._pending + chunk).split(b"\n")
            self._lines += lines

    def read(self) -> list[survival.Acknowledgement]:
        """All that was drained. Raises CellFailed for what is no acknowledgement."""
        try:
            return survival.read(self._lines)
        except (ValueError, TypeError):
            raise CellFailed("the ledger of acknowledgements holds what is no acknowledgement") from None

    def close(self) -> None:
        os.close(self._handle)
        self.path.unlink()
