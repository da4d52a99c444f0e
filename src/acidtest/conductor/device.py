"""The work of the block device beneath a cell's database, from the beginning of the measurement to its end."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

from acidtest.journal.models import DeviceWork
from acidtest.journal.protocol import Progress
from acidtest.place import diskstats
from acidtest.place.diskstats import Counters


class CellDevice:
    """Given the rig's events, it reads the device's counters when the measurement begins and when it ends.

    ``database`` is a file, a directory or a device. With ``timed`` the run ends by its duration, which the rig
    reports on time; otherwise it has ended when its result is there, and what closing the sessions wrote counts too.
    """

    def __init__(self, database: Path, *, timed: bool, warmup_s: float | None = 0.0) -> None:
        """Without ``warmup_s`` the measurement begins with the second of the load in which the rig reports it."""
        self._block = diskstats.device_beneath(database)
        self._timed, self._warmup_s = timed, warmup_s
        self._read: list[Counters] = []
        self._samples: list[tuple[float, Counters]] = []  # by seconds from the beginning of the measurement

    def progress(self, progress: Progress) -> None:
        if progress.phase != "run":
            return
        if self._warmup_s is None:
            self._warmup_s = float(math.floor(progress.elapsed_s))
        if not self._read or (len(self._read) == 1 and self._timed and progress.fraction == 1):
            self._now()
            if self._read:
                self._samples.append((progress.elapsed_s - self._warmup_s, self._read[-1]))
        elif len(self._read) == 1 and self._block:
            with contextlib.suppress(OSError):
                self._samples.append((progress.elapsed_s - self._warmup_s, diskstats.counters(self._block)))

    def measured(self) -> None:
        """The result is there."""
        if len(self._read) == 1:
            self._now()

    def _now(self) -> None:
        with contextlib.suppress(OSError):  # a device that is gone: the cell fails by itself
            if self._block:
                self._read.append(diskstats.counters(self._block))

    def record(self) -> DeviceWork | None:
        """None where the kernel counts nothing for such a place, and where the measurement did not end."""
        if self._block is None or len(self._read) < 2:
            return None
        work = diskstats.between(self._block.name, *self._read)
        return work.model_copy(update={"samples": diskstats.samples(self._block.name, self._samples)})
