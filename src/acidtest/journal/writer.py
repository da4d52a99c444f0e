"""Appends recordings to a journal so that none is lost and none is written twice."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

from acidtest.errors import BadInput
from acidtest.files import fsync_path
from acidtest.journal.models import Header, Journal, Recording
from acidtest.journal.reader import NAME, read, split_torn


class JournalWriter:
    """An open journal. One process at a time: the file is locked while it is open.

    Every line reaches the drive (fsync) before ``append`` returns. Opening an existing journal cuts off a torn
    last line. Raises BadInput when the journal belongs to another experiment or to a running lab.
    """

    def __init__(self, directory: Path, header: Header) -> None:
        self.path = directory / NAME
        self._file = self.path.open("ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise BadInput(
                f"{directory}: another acidtest is writing here", "wait for it, or give another --out"
            ) from None
        try:
            self.journal = self._open(header)
        except BaseException:
            self._file.close()
            raise

    def _open(self, header: Header) -> Journal:
        raw = self.path.read_bytes()
        whole, torn = split_torn(raw)
        if torn:
            os.ftruncate(self._file.fileno(), len(whole))
            os.fsync(self._file.fileno())
        if not whole:
            self._write(header.model_dump_json())
            fsync_path(self.path.parent)
        journal = read(self.path)
        if journal.header.digest != header.digest:
            raise BadInput(
                f"{self.path.parent}: holds the results of another experiment "
                f'("{journal.header.experiment.get("name")}", or an earlier text of this one, or its --quick size)',
                "give another --out, or run the experiment that it was made with",
            )
        return journal.model_copy(update={"torn_bytes": torn})

    def append(self, recording: Recording) -> None:
        """Write one recording; it is on the drive when this returns."""
        self._write(recording.model_dump_json(by_alias=True))
        kept = [r for r in self.journal.recordings if r.cell != recording.cell]
        self.journal = self.journal.model_copy(update={"recordings": [*kept, recording]})

    def _write(self, line: str) -> None:
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
