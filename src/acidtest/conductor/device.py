"""The work of the block device beneath a cell's database and the sizes of its files, while it is measured."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from acidtest.conductor.instruments import Instrument
from acidtest.conductor.recording import CellOutcome
from acidtest.engine import Instance
from acidtest.journal.models import DeviceWork, SettingInForce, Sizes, SizeSample
from acidtest.journal.protocol import Event, Progress, Result
from acidtest.place import diskstats, filecache
from acidtest.place.diskstats import Counters


class CellDevice(Instrument):
    """Given the rig's events, it reads the device's counters when the measurement begins and when it ends, and in
    between, with an ``instance``, how large its files are.

    ``database`` is a file, a directory or a device. With ``timed`` the run ends by its duration, which the rig
    reports on time; otherwise it has ended when its result is there, and what closing the sessions wrote counts too.
    """

    def __init__(
        self, database: Path, *, timed: bool, warmup_s: float | None = 0.0, instance: Instance | None = None
    ) -> None:
        """Without ``warmup_s`` the measurement begins with the second of the load in which the rig reports it."""
        self._block = diskstats.device_beneath(database)
        self._timed, self._warmup_s = timed, warmup_s
        self._read: list[Counters] = []
        self._samples: list[tuple[float, Counters]] = []  # by seconds from the beginning of the measurement
        self._instance = None if database.is_symlink() else instance  # a link to a raw device, which has no size
        self._sizes: list[SizeSample] = []
        self._log = ""

    def hear(self, event: Event, outcome: CellOutcome) -> None:
        if isinstance(event, Progress):
            self.progress(event)
        elif isinstance(event, Result) and len(self._read) == 1:
            self._now()

    def record(self, outcome: CellOutcome) -> None:
        outcome.device, outcome.sizes = self.work(), self.sizes(outcome.settings)

    def progress(self, progress: Progress) -> None:
        if progress.phase != "run":
            return
        if self._warmup_s is None:
            self._warmup_s = float(math.floor(progress.elapsed_s))
        if self._instance and progress.fraction != 1:  # at the end sessions may have closed, and taken the log along
            with contextlib.suppress(OSError):  # a directory that is gone meanwhile
                self._look(self._instance, progress.elapsed_s - self._warmup_s)
        if not self._read or (len(self._read) == 1 and self._timed and progress.fraction == 1):
            self._now()
            if self._read:
                self._samples.append((progress.elapsed_s - self._warmup_s, self._read[-1]))
        elif len(self._read) == 1 and self._block:
            with contextlib.suppress(OSError):
                self._samples.append((progress.elapsed_s - self._warmup_s, diskstats.counters(self._block)))

    def _look(self, instance: Instance, at_s: float) -> None:
        log = instance.log_files()
        self._log = self._log or (log[0].name if log else "")
        self._sizes.append(
            SizeSample(
                at_s=round(at_s, 3),
                database_bytes=_bytes(instance.data_files()),
                log_bytes=_bytes(log) if self._log else None,
            )
        )

    def _now(self) -> None:
        with contextlib.suppress(OSError):  # a device that is gone: the cell fails by itself
            if self._block:
                self._read.append(diskstats.counters(self._block))

    def sizes(self, settings: Sequence[SettingInForce]) -> Sizes | None:
        """None where the files cannot be seen from here."""
        if self._instance is None or not self._sizes:
            return None
        limit = self._instance.log_limit_bytes(settings)
        return Sizes(log=self._log, log_limit_bytes=limit, samples=self._sizes)

    def work(self) -> DeviceWork | None:
        """None where the kernel counts nothing for such a place, and where the measurement did not end."""
        if self._block is None or len(self._read) < 2:
            return None
        work = diskstats.between(self._block.name, *self._read)
        return work.model_copy(update={"samples": diskstats.samples(self._block.name, self._samples)})


def _bytes(paths: Iterable[Path]) -> int:
    """Size of the files; one that is gone has none."""
    size = 0
    for file in filecache.files_below(paths):
        with contextlib.suppress(OSError):
            size += file.lstat().st_size
    return size
