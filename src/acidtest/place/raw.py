"""The place ``raw``: the database is the block device itself; what else an engine writes lies in a directory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from acidtest.errors import CellFailed
from acidtest.files import fsync_path
from acidtest.journal.models import PlaceFacts, SettingInForce
from acidtest.place.base import Place
from acidtest.place.directory import DirectoryPlace
from acidtest.place.facts import device_bytes, raw_facts
from acidtest.place.storage import Storage

CHUNK = 4 << 20


class RawPlace(Place):
    """``storage`` without a file system. The one file of a database that is copied here becomes a link to the device,
    and its bytes the first of the device. Once made, it releases ``home`` and ``storage`` with it."""

    def __init__(self, home: DirectoryPlace, storage: Storage) -> None:
        self._home, self._storage = home, storage
        self.path = home.path
        self._bytes = 0
        storage.begin(None)

    def copy(self, paths: Sequence[Path], directory: Path) -> None:
        """Write the file onto the device and flush it there. Raises CellFailed."""
        if len(paths) != 1 or not paths[0].is_file():
            raise CellFailed("a database of several files cannot lie on one raw device")
        [source] = paths
        device = self._storage.device
        self._bytes = source.stat().st_size
        if self._bytes > device_bytes(device):
            raise CellFailed(
                f"{device}: {device_bytes(device) / 1e6:,.0f} MB are too few for a database of "
                f"{self._bytes / 1e6:,.0f} MB: raise place.size_mb"
            )
        with source.open("rb") as read, device.open("r+b", buffering=0) as write:
            while chunk := read.read(CHUNK):
                write.write(chunk)
            os.fsync(write.fileno())
        (directory / source.name).symlink_to(device)
        fsync_path(directory)

    def database_bytes(self, paths: Sequence[Path]) -> int:
        return self._bytes

    def disk_log(self) -> Path | None:
        return self._storage.disk_log()

    def settle(self) -> None:
        fsync_path(self._storage.device)
        super().settle()

    def facts(self) -> PlaceFacts:
        return raw_facts(self._storage.device).model_copy(update=self._storage.facts())

    def settings(self) -> list[SettingInForce]:
        return self._storage.settings()

    def release(self) -> None:
        self._storage.quit()
        self._storage.release()
        self._home.release()
