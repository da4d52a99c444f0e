"""A recorded load: the disk as it was before, the log of what was written since, and what was acknowledged when.

It is one file, so that other machines can look at the same states, and so that a run that was ended goes on with the
load that it began with. Its SHA-256 is its name for everybody.
"""

from __future__ import annotations

import bisect
import gzip
import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from acidtest.analysis import disk_log
from acidtest.analysis.disk_log import FLUSH, RECORD, WRITE, Record
from acidtest.errors import CellFailed
from acidtest.families import role_of_file
from acidtest.files import fsync_path
from acidtest.journal.models import Recording
from acidtest.plan import Cell
from acidtest.powercut import blocks
from acidtest.powercut.acknowledgement_log import Acknowledgement
from acidtest.powercut.crash_states import Contents
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.load import Moment
from acidtest.powercut.trial import Trial

FORMAT = 2
COMMITS = 50  # of the load, where no count is given
LOOKS = 10  # at where the files lie, spread over the load
COMPRESSION = 1  # of zlib; most of an image is empty or repeats
DIGEST_BYTES = 16


@dataclass(frozen=True)
class FilesSeen:
    """The bytes of each file as the kernel had them at some time between two records of the log being written."""

    began: int  # records in the log before it was looked, and after
    ended: int
    sizes: dict[str, int]


@dataclass(frozen=True)
class RecordedLoad:
    """A load, as the disk's log and the acknowledgement log have it."""

    log: Path
    records: list[Record]
    start: int  # the records of the load are [start, end)
    end: int
    sector_bytes: int
    origin_ns: int  # CLOCK_MONOTONIC where the log's clock began
    acknowledged: list[Acknowledgement]
    kinds: Sequence[str] = ()  # what each of the records [start, end) has written (``blocks.kinds``); () is not known
    files: Sequence[FilesSeen] = ()  # in the order of time

    def kind_of(self, record: int) -> str:
        """What this record of the load has written; "" of a flush, and where it is not known."""
        return self.kinds[record - self.start] if self.kinds else ""

    def files_at(self, record: int) -> dict[str, int] | None:
        """Files that were there before this record came and after it, each with the smaller of its sizes; after the
        last time that anybody looked, those of then. None where nobody looked before."""
        before = [seen.sizes for seen in self.files if seen.ended <= record]
        after = next((seen.sizes for seen in self.files if seen.began >= record), None)
        if not before or after is None:
            return before[-1] if before else None
        return {name: min(size, after[name]) for name, size in before[-1].items() if name in after}

    def acknowledged_before(self, record: int) -> list[Acknowledgement]:
        """What had been acknowledged before this record came: the flush that made it safe is among those before."""
        if record >= len(self.records):
            return self.acknowledged
        limit_ns = self.origin_ns + min(later.time_ns for later in self.records[record:])
        return [line for line in self.acknowledged if line.acknowledged_ns < limit_ns]

    def demanded(self) -> list[int]:
        """For each record, and after the last, of how many commits ``acknowledged_before`` tells."""
        times = sorted(line.acknowledged_ns for line in self.acknowledged)
        counts, earliest_ns = [len(times)], None
        for record in reversed(self.records):
            earliest_ns = record.time_ns if earliest_ns is None else min(earliest_ns, record.time_ns)
            counts.append(bisect.bisect_left(times, self.origin_ns + earliest_ns))
        return counts[::-1]


@dataclass(frozen=True)
class LoadFile:
    """A load as it is read from a file, whose records before ``load.start`` are the disk as it was before."""

    load: RecordedLoad
    sha256: str
    recording: Recording  # of the cell, with no state looked at yet
    broken_without_cut: list[str] | None
    blind_to_loss: str | None  # of a program, as in CutEvidence
    size_bytes: int  # of the disk


def record(trial: Trial, cell: Cell, evidence: CutEvidence) -> RecordedLoad:
    """Drive the load to its count of commits and read what the disk has written down. Raises CellFailed."""
    start, log = trial.drive.stats().log_records, trial.log
    trial.begin(evidence)
    role = partial(role_of_file, cell.engine)
    seen: list[blocks.Seen] = []
    files: list[FilesSeen] = []
    with trial.loaded(cell) as load:
        commits = cell.workload.count or COMMITS
        for share in range(1, LOOKS + 1):
            load.until(Moment(max(1, commits * share // LOOKS), None, 0.0))
            so_far = trial.drive.stats().log_records
            look = partial(blocks.look, trial.place.path, cell.place.filesystem or "", so_far, role)
            seen.append(load.meanwhile(look))
            if (sizes := load.meanwhile(trial.place.file_sizes)) is not None:
                files.append(FilesSeen(so_far, trial.drive.stats().log_records, sizes))
        evidence.at_s = load.elapsed_s()
        load.acknowledged.drain()
        end = trial.drive.stats().log_records
        evidence.cut = trial.place.cut("none", cell.seed)
        acknowledged = trial.killed(load, evidence)
    trial.place.abandon()
    sector_bytes, records = disk_log.read(log)
    if len(records) < end:
        raise CellFailed("the disk's log lacks records of the load that it was to hold")
    kinds = blocks.kinds(log, records[start:], seen, start)
    began_ns = disk_log.began_ns(log)
    return RecordedLoad(log, records, start, len(records), sector_bytes, began_ns, acknowledged, kinds, files)


def write(file: Path, trial: Trial, load: RecordedLoad, recording: Recording) -> None:
    """Write ``load`` into ``file``, with the disk that ``trial`` keeps. Raises CellFailed and OSError."""
    image = load.log.with_suffix(".image")
    image.unlink(missing_ok=True)
    try:
        trial.place.save(None, image)
        _, before = disk_log.read(image)
        described = {
            "format": FORMAT,
            "kept": len(before),
            "origin_ns": load.origin_ns,
            "acknowledged": [line.as_list() for line in load.acknowledged],
            "kinds": load.kinds,
            "files": [(file.began - load.start, file.ended - load.start, file.sizes) for file in load.files],
            "broken_without_cut": trial.broken_without_cut,
            "blind_to_loss": trial.blind_to_loss,
            "size_bytes": disk_log.size_bytes(image),
            "recording": recording.model_dump(mode="json", by_alias=True),
        }
        written = file.with_suffix(".writing")
        with written.open("wb") as raw, gzip.GzipFile("", "wb", COMPRESSION, raw, mtime=0) as target:
            target.write(json.dumps(described).encode() + b"\n")
            with image.open("rb") as source:
                shutil.copyfileobj(source, target)
            with load.log.open("rb") as source:
                for number, one in enumerate(load.records[load.start :], start=len(before)):
                    # A flush covers records by their number, which is another one in this file.
                    at = len(before) + max(0, one.at - load.start) if one.is_flush else one.at
                    kind = FLUSH if one.is_flush else WRITE
                    source.seek(one.ends - one.length)
                    target.write(RECORD.pack(kind, one.length, at, one.time_ns, number) + source.read(one.length))
        fsync_path(written)
        written.replace(file)
        fsync_path(file.parent)
    finally:
        image.unlink(missing_ok=True)


def read(file: Path, log: Path) -> LoadFile:
    """The load in ``file``; its log is written into ``log``. Raises CellFailed for what is no such file."""
    try:
        with gzip.open(file, "rb") as source:
            described: dict[str, Any] = json.loads(source.readline())
            if described["format"] != FORMAT:
                raise ValueError(f"format {described['format']}")
            with log.open("wb") as target:
                shutil.copyfileobj(source, target)
        sector_bytes, records = disk_log.read(log)
        acknowledged = [Acknowledgement(*line) for line in described["acknowledged"]]
        kept = described["kept"]
        kinds = described["kinds"]
        origin_ns = described["origin_ns"]
        if len(records) != kept + len(kinds):
            raise ValueError("its log is not whole")
        files = [FilesSeen(kept + began, kept + ended, sizes) for began, ended, sizes in described.get("files", [])]
        load = RecordedLoad(log, records, kept, len(records), sector_bytes, origin_ns, acknowledged, kinds, files)
        return LoadFile(
            load,
            digest(file),
            Recording.model_validate(described["recording"]),
            described["broken_without_cut"],
            described.get("blind_to_loss"),
            described["size_bytes"],
        )
    except (EOFError, KeyError, TypeError, ValueError, gzip.BadGzipFile) as error:
        raise CellFailed(f"{file}: is no load that acidtest recorded: {error}", "remove it") from None


def digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def contents(load: RecordedLoad) -> Contents:
    """Tells images apart by the bytes of their sectors: 128 bits of BLAKE2b over what differs from the disk before."""
    marks = _marks(load)

    def mark(sector: int, write: int | None) -> int:
        return 0 if write is None else marks[sector, write]

    return Contents(load.records, load.start, load.end, load.sector_bytes, mark)


def _marks(load: RecordedLoad) -> dict[tuple[int, int], int]:
    """By sector and write; 0 where the sector then holds what it held before the load."""
    size = load.sector_bytes
    writes = [(number, record) for number, record in enumerate(load.records) if not record.is_flush]
    loaded = [(number, one) for number, one in writes if number >= load.start]
    touched = {sector for _, one in loaded for sector in range(one.at // size, -(-(one.at + one.length) // size))}
    before = dict.fromkeys(touched, bytes(size))
    marks: dict[tuple[int, int], int] = {}
    with load.log.open("rb") as log:
        for number, one in writes:
            log.seek(one.ends - one.length)
            content = log.read(one.length)
            first = one.at // size * size
            for at in range(first, one.at + one.length, size):
                sector = at // size
                if sector not in touched:
                    continue
                held = content[max(at - one.at, 0) : at - one.at + size]
                if number < load.start:
                    before[sector] = held
                elif held == before[sector]:
                    marks[sector, number] = 0
                else:  # of a part of a sector the rest may be anything: such writes are distinguished by their number
                    told = held if len(held) == size else number.to_bytes(8, "little")
                    digest = hashlib.blake2b(sector.to_bytes(8, "little") + told, digest_size=DIGEST_BYTES)
                    marks[sector, number] = int.from_bytes(digest.digest(), "little")
    return marks
