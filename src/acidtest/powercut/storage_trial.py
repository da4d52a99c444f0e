"""One combination whose storage does something wrong while its power stays on: who notices, and what is served.

In order: load, the fault, the engine stopped in order (killed where the device is gone or full), the file system
unmounted and mounted again, the engine started, every acknowledged commit looked for, the engine's own check. So what
is read in the end comes from the medium: neither the engine nor the kernel holds it in a cache.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from acidtest.conductor.template import Template
from acidtest.errors import CellFailed, message_of
from acidtest.families import role_of_file
from acidtest.files import sync_filesystem
from acidtest.journal.models import Notice, StorageFailure
from acidtest.journal.protocol import DiskCut
from acidtest.place.cuttable import BLOCK
from acidtest.plan import Cell
from acidtest.powercut import blocks
from acidtest.powercut.checkers import Judgement
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.failures import Wrong
from acidtest.powercut.fault_detection import (
    SAID_MAX,
    meets_full,
    of_evidence,
    outcome,
    served,
    why_unstruck,
    worth_noticing,
)
from acidtest.powercut.inspector import Inspector
from acidtest.powercut.load import Load, Moment
from acidtest.powercut.trial import Trial
from acidtest.words import counted

FILLER = "acidtest-filler"
EXTENTS_MAX = 40  # of one fault, whose text may have 4,096 bytes
TRIES = 200  # for a block that holds something
LOOK_S = 0.02  # between looks at whether a fault has struck
WATCH = "(delay 1us (and reads {block}))"  # counts who reads the block, and does next to nothing


@dataclass(frozen=True)
class Block:
    """A block of a file, on the disk."""

    file: str
    at: int

    @property
    def words(self) -> str:
        return f"(range {self.at} {self.at + BLOCK})"


class StorageTrial(Trial):
    """A trial whose cycle cuts nothing."""

    _usual = ""  # what the engine had logged before storage did anything wrong

    def _prepare(self, template: Template, *, blank: bool) -> None:
        super()._prepare(template, blank=blank)
        self._usual, _ = self._logged(0)

    def _logged(self, since: int) -> tuple[str, int]:
        """What the engine has written to its log from byte ``since`` on, and where that ends."""
        log = self.instance.log_file()
        if log is None or not log.exists():
            return "", 0
        with log.open("rb") as file:
            file.seek(since)
            text = file.read()
        return text.decode(errors="replace"), since + len(text)

    def cycle(self, cell: Cell, evidence: CutEvidence) -> Judgement:
        wrong = self._failure.wrong
        assert wrong is not None
        found = evidence.storage = StorageFailure(
            fault=wrong.fault, aimed_at="", struck=0, read_back=None, after=None, acknowledged_after=None, notices=[],
            served="unknown", outcome="unknown", why="",
        )  # fmt: skip
        self.begin(evidence)
        before = self._stamps()
        _, logged = self._logged(0)
        self._run(cell, evidence, wrong, found, before)
        block = self._target(cell, before) if wrong.at in ("block", "reading") else None
        self.place.rest()
        if wrong.at == "write":
            found.struck = self._struck()
        self.place.mend()
        if block is not None:
            found.aimed_at, found.fault = block.file, wrong.fault.format(block=block.words)
            if wrong.at == "block":
                self.place.fault(found.fault)
                self.place.read_block(block.at)
                found.struck = self._struck()
                self.place.mend()
        elif wrong.at in ("block", "reading"):
            found.aimed_at = "no file of the database was written to"
        self._read_again(evidence, wrong, found, block)
        found.notices += worth_noticing(self._logged(logged)[0], self._usual)
        found.notices += of_evidence(evidence)
        if not wrong.fault:
            found.struck = int(meets_full(found.notices))
        found.served = served(evidence)
        if found.served != "wrong":  # what is not right has to be explained, whether the fault struck or not
            evidence.unstruck = why_unstruck(found)
        judgement = self.judged(evidence)
        found.outcome, found.why = outcome(found, evidence, judgement)
        return judgement

    def _run(
        self, cell: Cell, evidence: CutEvidence, wrong: Wrong, found: StorageFailure, before: dict[Path, int]
    ) -> None:
        """The load, what goes wrong under it, and the end of the engine."""
        with self.loaded(cell) as load:
            load.until(Moment(cell.workload.count, None if cell.workload.count else cell.workload.duration_s, 0.0))
            if wrong.at in ("load", "write"):
                self._misbehave(cell, wrong, found, load, before)
            evidence.at_s = load.elapsed_s()
            load.kill()
            load.acknowledged.drain()
            evidence.cut_ns = time.monotonic_ns()
            if wrong.gone or not wrong.fault:
                self.instance.lose_power()
            else:
                if wrong.at == "load":
                    self.place.mend()
                self._stop(found)
            evidence.cut = DiskCut(kept_bytes=0, lost_bytes=0, torn_writes=0)
            evidence.acknowledged = self.read_log(load, evidence)

    def _misbehave(self, cell: Cell, wrong: Wrong, found: StorageFailure, load: Load, before: dict[Path, int]) -> None:
        load.acknowledged.drain()
        so_far = len(load.acknowledged)
        if not wrong.fault:
            found.fault = _fill(self.place.path)
            found.aimed_at = "the file system"
        else:
            files = self._extents(cell, before) if "{files}" in wrong.fault else []
            if "{files}" in wrong.fault and not files:
                found.aimed_at = "no file of the database was written to"
                return
            ranges = [f"(range {file.start} {file.end})" for file in files]
            words = ranges[0] if len(ranges) == 1 else f"(or {' '.join(ranges)})"
            found.fault = wrong.fault.format(files=words, seed=cell.seed % (1 << 32))
            found.aimed_at = counted(len(files), "extent") + " of files that the load has written" if files else ""
            self.place.fault(found.fault)
        if wrong.at == "write":
            end = time.monotonic() + wrong.seconds
            while not self._struck() and (left := end - time.monotonic()) > 0:
                load.after(min(left, LOOK_S))
        else:
            found.after = load.after(wrong.seconds)
            found.struck = self._struck() if wrong.fault else 0
        load.acknowledged.drain()
        found.acknowledged_after = len(load.acknowledged) - so_far
        if error := load.error():
            found.after = found.after or "stopped"
            found.notices.append(Notice(by="session", said=error[:SAID_MAX]))
        if ended := self.instance.died():
            found.notices.append(Notice(by="ended", said=ended[:SAID_MAX]))

    def _stop(self, found: StorageFailure) -> None:
        try:
            self.instance.stop()
        except CellFailed as error:
            found.notices.append(Notice(by="stop", said=error.message[:SAID_MAX]))
        finally:
            self.instance.lose_power()

    def _read_again(self, evidence: CutEvidence, wrong: Wrong, found: StorageFailure, block: Block | None) -> None:
        """Mount, start, and look at everything, with what the medium holds."""
        watch = ""
        if block is not None:
            watch = found.fault if wrong.at == "reading" else WATCH.format(block=block.words)
            self.place.fault(watch)
        try:
            recovery = self.place.wake()
        except CellFailed as error:
            evidence.mount_error = error.message
            self.place.abandon()
            return
        evidence.mounted(recovery.seconds, repaired=recovery.repaired, said=recovery.said)
        (self.place.path / FILLER).unlink(missing_ok=True)
        self.inspector.inspect(evidence, evidence.acknowledged or [])
        if ended := self.instance.died():
            found.notices.append(Notice(by="ended", said=ended[:SAID_MAX]))
        if evidence.read_error is not None and evidence.integrity is None:
            self._check_apart(evidence)
        if watch:
            struck = self._struck()
            if wrong.at == "reading":
                found.struck = struck
            else:
                found.read_back = struck
        self.instance.lose_power()
        self.place.mend()
        evidence.filesystem_check, evidence.filesystem_message = self.place.end()

    def _check_apart(self, evidence: CutEvidence) -> None:
        """The engine's own check, where the survey has met an error before it."""
        inspector = self.inspector
        assert isinstance(inspector, Inspector)
        self.instance.lose_power()
        with contextlib.suppress(CellFailed):
            self.instance.start(self._ledger)
            evidence.integrity = self.instance.integrity(inspector.ask)

    def _struck(self) -> int:
        """How often the faults that the disk has now have struck."""
        return sum(fault.struck for fault in self.place.stats().faults)

    def _stamps(self) -> dict[Path, int]:
        """When each file was written last."""
        return {path: path.stat().st_mtime_ns for path in _files(self.place.path)}

    def _written(self, cell: Cell, before: dict[Path, int]) -> list[Path]:
        """Files of tables and indexes that the load has written, by name; none that the engine has for itself."""
        ours = [path.resolve() for path in self.instance.data_files()]
        role = partial(role_of_file, cell.engine)
        return sorted(
            path
            for path, stamp in self._stamps().items()
            if before.get(path) != stamp
            and role(str(path)) == "database"
            and any(path.resolve().is_relative_to(our) for our in ours)
        )

    def _extents(self, cell: Cell, before: dict[Path, int]) -> Sequence[blocks.Extent]:
        """Where on the disk they lie: the largest extents."""
        sync_filesystem(self.place.path)  # what is not allocated yet has no place
        found = [extent for path in self._written(cell, before) for extent in blocks.extents(path)]
        return sorted(sorted(found, key=lambda one: one.start - one.end)[:EXTENTS_MAX], key=lambda one: one.start)

    def _target(self, cell: Cell, before: dict[Path, int]) -> Block | None:
        """A block, drawn by the seed, of one of these files; one that holds something."""
        sync_filesystem(self.place.path)
        lot = random.Random(f"{cell.seed}:block")
        places = [(path, extent) for path in self._written(cell, before) for extent in blocks.extents(path)]
        sizes = [(one.end - one.start) // BLOCK for _, one in places]
        for _ in range(TRIES if sum(sizes) else 0):
            path, extent = lot.choices(places, weights=sizes)[0]
            within = lot.randrange((extent.end - extent.start) // BLOCK) * BLOCK
            with path.open("rb") as file:
                file.seek(extent.logical + within)
                if any(file.read(BLOCK)):
                    name = path.relative_to(self.place.path)
                    return Block(f"a block of {name}", extent.start + within)
        return None


def _files(root: Path) -> Iterator[Path]:
    for directory, _, names in os.walk(root):
        for name in names:
            path = Path(directory) / name
            if path.is_file() and not path.is_symlink():
                yield path


def _fill(root: Path) -> str:
    """Take all room that is left, also what is kept for root, and say how much that was. Raises CellFailed."""
    file = root / FILLER
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    taken, chunk = 0, 1 << 26
    try:
        while chunk >= BLOCK:
            try:
                os.posix_fallocate(handle, taken, chunk)
                taken += chunk
            except OSError as error:
                if error.errno != 28:  # ENOSPC
                    raise CellFailed(f"{file}: {message_of(error)}") from None
                chunk //= 2
    finally:
        os.close(handle)
    return f"the file system is full: {taken >> 20:,} MiB were left and are taken"
