"""The places ``loop``, ``device`` and ``disk``, a block device that is formatted and mounted for the cell, and ``raw``,
where the database is the device itself and what else an engine writes lies in a directory."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from acidtest.errors import CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.files import fsync_path, kernel_text
from acidtest.filesystems import FILESYSTEMS, FileSystem, listed
from acidtest.journal.models import PlaceFacts, SettingInForce
from acidtest.place import mkfs, mounts
from acidtest.place.base import DirectoryPlace, Place
from acidtest.place.facts import UNKNOWN, Mount, compared, device_bytes, place_facts, raw_facts
from acidtest.place.ledger import Ledger
from acidtest.place.storage import Storage, new_label


class MountedPlace(Place):
    """``storage`` with the file system that ``spec`` asks for, mounted in ``home``. Once made, it releases both.

    ``journal`` is the device of an external journal. Raises CellFailed when the file system cannot be made or mounted,
    or the queue does not take what is asked.
    """

    def __init__(
        self, spec: PlaceSpec, home: DirectoryPlace, storage: Storage, journal: Storage | None, ledger: Ledger
    ) -> None:
        self._spec, self._home, self.storage, self._journal, self._ledger = spec, home, storage, journal, ledger
        self._name = spec.filesystem or ""
        self.path = home.path / "mounted"
        device = storage.device
        filesystem = mkfs.find(self._name)
        label = new_label()
        apart = journal.device if journal else None
        commands = mkfs.commands(self._name, spec, device, label, apart)
        storage.begin(label)
        mkfs.run(ledger, commands, home.path / "said", filesystem.unsure)
        # Alike for every cell that is made alike.
        named = {str(device): "DEVICE", label: "LABEL"}
        self._mkfs = "; ".join(
            " ".join(named.get(word) or _without(apart, word) for word in command) for command in commands
        )
        self._asked = mounts.options_of(spec.mount)
        given = list(self._asked)
        if apart and filesystem.external_mounted:
            given.append(filesystem.external_mounted.format(device=apart))
        self.path.mkdir()
        self._mounted: str | None = ledger.mount(device, self.path, self._name, given)
        try:
            self._set_own_read_ahead()
        except OSError as error:
            ledger.undo(self._mounted)
            raise CellFailed(f"{device}: read_ahead_kb {spec.read_ahead_kb}: {error.strerror}") from None

    def _set_own_read_ahead(self) -> None:
        # Some read ahead for themselves, whatever the queue of their device says.
        for bdi in self._own_bdi():
            if self._spec.read_ahead_kb is not None:
                bdi.write_text(str(self._spec.read_ahead_kb), encoding="utf-8")

    def _own_bdi(self) -> list[Path]:
        entries = listed(self._name, self.storage.device.name)
        return [entry.parents[1] / "bdi" / "read_ahead_kb" for entry in entries if (entry.parents[1] / "bdi").exists()]

    def _mount(self) -> Mount:
        mounted = mounts.mounted_at(self.path, self.storage.device)
        if not mounted:
            raise CellFailed(f"{self.path}: is no longer mounted")
        return mounted[-1]

    def facts(self) -> PlaceFacts:
        facts = place_facts(self.path)
        own = [kernel_text(bdi).strip() for bdi in self._own_bdi()]
        update = {
            "kind": self._spec.kind,
            "mkfs": self._mkfs,
            "journal_device": str(self._journal.device) if self._journal else "",
            "read_ahead_kb": own[0] if own else facts.read_ahead_kb,
            **self.storage.facts(),
        }
        return facts.model_copy(update=update)

    def settings(self) -> list[SettingInForce]:
        mount, table = self._mount(), FILESYSTEMS[self._name]
        settings = [
            compared("filesystem", self._name, mount.filesystem, "mountinfo"),
            *mounts.in_force(self._asked, mount, table.shown_as, table.defaults),
            *mounts.in_force(mkfs.stripe_shown(self._name, self._spec), mount, {}, {}),
            *self.storage.settings(),
            *self._journal_settings(table),
        ]
        if self._spec.block_size is not None:
            settings.append(compared("block_size", self._spec.block_size, os.statvfs(self.path).f_bsize, "statvfs"))
        if self._spec.read_ahead_kb is not None:
            for bdi in self._own_bdi():
                settings.append(compared("read_ahead_kb", self._spec.read_ahead_kb, kernel_text(bdi).strip(), str(bdi)))
        return settings

    def _journal_settings(self, table: FileSystem) -> list[SettingInForce]:
        # mountinfo does not tell, and a superblock needs a program: only looked at where something is asked.
        asked: dict[str, object] = {} if self._spec.journal == "internal" else {"journal": self._spec.journal}
        if self._spec.journal_mb is not None:
            asked["journal_mb"] = self._spec.journal_mb
        if not asked or table.journal_read is None:
            return []
        read = table.journal_read(self.storage.device, self._journal.device if self._journal else None)
        return [compared(name, value, read.get(name, UNKNOWN), "superblock") for name, value in asked.items()]

    def disk_log(self) -> Path | None:
        return self.storage.disk_log()

    def settle(self) -> None:
        super().settle()
        self._home.settle()  # where the image is

    def release(self) -> None:
        if self._mounted is not None:
            self.storage.quit()
            self._ledger.undo(self._mounted)
            self._mounted = None
        self.storage.release()
        if self._journal:
            self._journal.release()
        self._home.release()


def _without(journal: Path | None, word: str) -> str:
    """A word of a command, as "device=/dev/loop1", with one name for the journal's device, the same for every cell."""
    return re.sub(rf"{re.escape(str(journal))}(?!\d)", "JOURNAL", word) if journal else word


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
