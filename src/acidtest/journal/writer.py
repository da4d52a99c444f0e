"""Appends recordings to a journal so that none is lost and none is written twice."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from acidtest.errors import AcidtestError, BadInput
from acidtest.files import fsync_path
from acidtest.journal.models import Explored, Forecast, Header, HostRecord, Journal, Recording
from acidtest.journal.reader import CUTS, NAME, NAMES, read, split_torn


def _alike(one: Header, other: Header) -> bool:
    """Whether a run and the power cuts of one experiment made these: how often and which workload may differ."""
    apart = ("title", "question", "repetitions", "factors", "workload", "search")

    def common(header: Header) -> dict[str, Any]:
        factors = {name: levels for name, levels in header.experiment.get("factors", {}).items() if name != "workload"}
        return {name: value for name, value in header.experiment.items() if name not in apart} | {"factors": factors}

    # Version 0.1 wrote the keys of all workloads into each: those that both have must be the same.
    mine, theirs = (header.experiment.get("workload", {}) for header in (one, other))
    return (
        common(one) == common(other)
        and mine.keys() == theirs.keys()
        and all(table[key] == theirs[name][key] for name, table in mine.items() for key in table.keys() & theirs[name])
    )


def _changed_files(one: Header, other: Header) -> list[str]:
    """The user's files in which alone two experiments differ; none where they differ in more."""
    changed: list[str] = []

    def without(header: Header) -> dict[str, Any]:
        tables = header.experiment.get("workload", {}).items()
        bare = {name: {key: value for key, value in of.items() if key != "files"} for name, of in tables}
        shaping = {key: value for key, value in header.experiment.items() if key not in ("title", "question", "waive")}
        return {**shaping, "workload": bare}

    if without(one) != without(other):
        return []
    for name, table in one.experiment.get("workload", {}).items():
        before, now = table.get("files", {}), other.experiment["workload"][name].get("files", {})
        changed += [f"{name}: {file}" for file in {**before, **now} if before.get(file) != now.get(file)]
    return changed


Counts = Callable[[Recording], bool]


def _is_replaced(journal: Journal, header: Header, directory: Path, counts: Counts) -> bool:
    """Whether it is of the user's files as they were before, and holds nothing that counts. Raises BadInput where it is
    of another experiment."""
    if journal.header.digest != header.digest:
        if changed := _changed_files(journal.header, header):
            if journal.recordings and not journal.damaged and not any(map(counts, journal.recordings)):
                return True
            failed = bool(journal.recordings) and all(recording.status == "failed" for recording in journal.recordings)
            is_retried = failed and Path(journal.path).name != CUTS
            raise BadInput(
                f"{directory}: holds the results of this experiment with other files: {', '.join(changed)}",
                ("add --retry-failed, for no cell could run with the old ones" if is_retried else "give another --out")
                + ", or put the files back as they were",
            )
        raise BadInput(
            f"{directory}: holds the results of another experiment "
            f'("{journal.header.experiment.get("name")}", or an earlier text of this one, or its --quick size)',
            "give another --out, or run the experiment that it was made with",
        )
    return False


def held(directory: Path, header: Header, name: str = NAME, counts: Counts = lambda recording: True) -> Journal | None:
    """The journal in ``directory``, only looked at; None where there is none yet, or one that is to be replaced: of
    other files of the user's, and without a recording that ``counts``.

    Raises BadInput when it belongs to another experiment, or cannot be read.
    """
    path = directory / name
    try:
        is_begun = bool(split_torn(path.read_bytes())[0])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}", "allow reading it, or give another --out") from None
    if not is_begun:
        return None
    journal = read(path)
    return None if _is_replaced(journal, header, directory, counts) else journal


class JournalWriter:
    """An open journal. One process at a time: the file is locked while it is open.

    Every line reaches the drive (fsync) before ``append`` returns. Opening an existing journal cuts off a torn
    last line; damaged lines before it stay as they are. One that ``held`` would not answer is kept under another name,
    and begun anew. Raises BadInput when the journal belongs to another experiment or to a running lab.
    """

    def __init__(
        self, directory: Path, header: Header, name: str = NAME, counts: Counts = lambda recording: True
    ) -> None:
        self.path = directory / name
        self._counts = counts
        self._file = self.path.open("ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise BadInput(
                f"{directory}: another acidtest is writing here", "wait for it, or give another --out"
            ) from None
        try:
            self._torn_bytes = self._open(header)
        except BaseException:
            self._file.close()
            raise

    def _open(self, header: Header) -> int:
        raw = self.path.read_bytes()
        whole, torn = split_torn(raw)
        if torn:
            os.ftruncate(self._file.fileno(), len(whole))
            os.fsync(self._file.fileno())
        if not whole:
            self._write(header.model_dump_json())
            fsync_path(self.path.parent)
        journal = read(self.path)
        if _is_replaced(journal, header, self.path.parent, self._counts):
            shutil.copy(self.path, self.path.with_name(f"acidtest-before-{self.path.name}"))
            os.ftruncate(self._file.fileno(), 0)
            self._write(header.model_dump_json())
        for other in sorted({*NAMES} - {self.path.name}):
            beside = self.path.with_name(other)
            if beside.exists() and not _alike(read(beside).header, header):
                raise BadInput(f"{beside}: is of another experiment, or another size of it", "give another --out")
        return torn

    @property
    def journal(self) -> Journal:
        """What the file holds, of each cell its last recording. Read anew each time: a run of many cells keeps none."""
        return read(self.path).model_copy(update={"torn_bytes": self._torn_bytes})

    def append(self, record: Recording | HostRecord | Explored | Forecast) -> None:
        """Write one line; it is on the drive when this returns.

        Raises AcidtestError when the file is not there any more: what is written into it then is lost.
        """
        if not self._is_there():
            raise AcidtestError(
                f"{self.path}: was removed while the run went on", "run the same command again, which begins anew"
            )
        self._write(record.model_dump_json(by_alias=True))

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._file.fileno()))
        except OSError:
            return False

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
