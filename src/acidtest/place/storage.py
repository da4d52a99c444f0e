"""The block device beneath a place: a loop over an image of ours, or a real device that the user has named."""

from __future__ import annotations

import errno
import os
import uuid
from abc import ABC, abstractmethod
from pathlib import Path

from acidtest.errors import AcidtestError, CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.journal.models import SettingInForce
from acidtest.place import device_safety, drive_cache, queue
from acidtest.place.base import DirectoryPlace
from acidtest.place.facts import compared, place_facts
from acidtest.place.ledger import Ledger

JOURNAL_MB = 128  # of an external journal, where no size is asked


class Storage(ABC):
    """A block device with its queue set as asked, until ``release``."""

    device: Path

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._made: list[str] = []
        self._asked: dict[str, str] = {}
        self._drive_cache: drive_cache.State | None = None

    def set_drive_cache(self, spec: PlaceSpec) -> None:
        """Switch the drive's own write cache as ``spec`` asks. Raises CellFailed."""
        self._drive_cache = spec.drive_cache
        if spec.drive_cache is not None:
            self._made.append(self._ledger.switch_drive_cache(self.device, spec.drive_cache))

    def set_queue(self, spec: PlaceSpec) -> None:
        """Set what ``spec`` asks of the block queue. Raises CellFailed."""
        self._asked = queue.wanted(spec)
        if self._asked:
            self._made.append(self._ledger.set_queue(self.device, self._asked))

    def settings(self) -> list[SettingInForce]:
        at = queue.queue_of(self.device)
        settings = queue.in_force(at, self._asked)
        if self._drive_cache is not None:
            settings.append(compared("drive_cache", self._drive_cache, drive_cache.state(at.parent), "drive"))
        return settings

    @abstractmethod
    def begin(self, label: str | None) -> None:
        """Called before the device is written to, with the label of the file system that it will get."""

    def disk_log(self) -> Path | None:
        return None

    @abstractmethod
    def facts(self) -> dict[str, str]:
        """What a place's facts say of it beside the queue."""

    def quit(self) -> None:  # noqa: B027 - most have nothing to do
        """Called before a file system that nobody wants any more is unmounted, to be released."""

    def release(self) -> None:
        """Restore the queue and let go of the device."""
        while self._made:
            self._ledger.undo(self._made[-1])
            self._made.pop()


class LoopStorage(Storage):
    """A loop device over a new image file in ``home``, which it takes over, also when it raises CellFailed."""

    def __init__(self, ledger: Ledger, home: DirectoryPlace, size_mb: int, *, sparse: bool) -> None:
        super().__init__(ledger)
        self._home = home
        self.image = home.path / "image"
        self._size_mb, self._sparse = size_mb, sparse
        try:
            self._allocate()
            id, self.device, self._direct = ledger.attach_loop(self.image)  # noqa: A001
        except OSError as error:
            home.release()
            raise CellFailed(f"{self.image}: could not be made a loop device: {error.strerror}") from None
        except BaseException:
            home.release()
            raise
        self._made.append(id)

    def _allocate(self) -> None:
        with self.image.open("xb") as file:
            os.ftruncate(file.fileno(), self._size_mb << 20)
            if self._sparse:
                return
            try:
                os.posix_fallocate(file.fileno(), 0, self._size_mb << 20)
            except OSError as error:
                if error.errno != errno.EOPNOTSUPP:
                    raise
                self._sparse = True
            os.fsync(file.fileno())

    def begin(self, label: str | None) -> None:
        pass  # its image is ours, and goes with its directory

    def release(self) -> None:
        super().release()
        self._home.release()

    def facts(self) -> dict[str, str]:
        return {
            "image": f"{self.image.name}, {self._size_mb} MiB, {'sparse' if self._sparse else 'preallocated'}",
            "image_on": place_facts(self.image.parent).beneath,
            "direct_io": "yes" if self._direct else "no",
        }


class DeviceStorage(Storage):
    """A real block device, which must be empty and used by nobody, and is left empty. Raises CellFailed.

    That the user has named it as to be used is for the caller to know.
    """

    def __init__(self, ledger: Ledger, name: str) -> None:
        super().__init__(ledger)
        try:
            state = device_safety.look(name)
            device_safety.refuse(state)
        except AcidtestError as error:
            raise CellFailed(error.message) from None
        self.device = state.device

    def begin(self, label: str | None) -> None:
        self._made.append(self._ledger.begin_filesystem(self.device, label))

    def facts(self) -> dict[str, str]:
        return {}


def new_label() -> str:
    """Tells a file system of ours from any other; the shortest labels are xfs's, of 12 characters."""
    return f"at-{uuid.uuid4().hex[:8]}"
