"""The witness's file of what was acknowledged: a line counts when it is on the witness's own drive."""

from __future__ import annotations

import os
from pathlib import Path

from acidtest.files import fsync_path
from acidtest.powercut.plug.wire import is_acknowledgement


class Kept:
    """A new file in place of any that is there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("wb")
        fsync_path(path.parent)
        self.count = 0

    def add(self, lines: list[bytes]) -> None:
        """They are on the drive when this returns. Raises OSError."""
        self._file.write(b"".join(line + b"\n" for line in lines))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.count += len(lines)

    def lines(self) -> list[bytes]:
        """All of them, as they stand in the file."""
        found = self.path.read_bytes().split(b"\n")[:-1]
        return [line for line in found if is_acknowledgement(line)]

    def close(self) -> None:
        self._file.close()
