"""What every place gives the conductor: directories for databases, copies into them, and the storage beneath."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from acidtest.files import sync_filesystem
from acidtest.journal.models import PlaceFacts, SettingInForce
from acidtest.place.trees import copy_tree, tree_bytes


class Place(ABC):
    """Where databases live. ``path`` is an existing directory until ``release``, which must always be called."""

    path: Path

    def subdirectory(self, name: str) -> Path:
        """A new, empty directory inside the place."""
        path = self.path / name
        path.mkdir()
        return path

    def copy(self, paths: Sequence[Path], directory: Path) -> None:
        """Copy files and whole directories into ``directory`` and flush them to the drive.

        Where the file system can share blocks between files (reflink), nothing is read or written but names.
        """
        for source in paths:
            copy_tree(source, directory / source.name)
        sync_filesystem(directory)

    def database_bytes(self, paths: Sequence[Path]) -> int:
        """Size of a database that was copied here."""
        return sum(map(tree_bytes, paths))

    def remove(self, directory: Path) -> None:
        """Remove a subdirectory and let the file system settle, so that its clean-up is not measured next.

        One that somebody else has removed already is none to remove.
        """
        if directory.exists():
            shutil.rmtree(directory)
            self.settle()

    def settle(self) -> None:
        """Write back what the place still holds. Other file systems are not waited for: one may have stopped."""
        sync_filesystem(self.path)

    @abstractmethod
    def facts(self) -> PlaceFacts:
        """The storage as it is now, read back."""

    def disk_log(self) -> Path | None:
        """What the simulated disk beneath has done so far, where it was asked to log it."""
        return None

    def settings(self) -> list[SettingInForce]:
        """What was asked of the storage, beside what mountinfo and sysfs show."""
        return []

    @abstractmethod
    def release(self) -> None:
        """Undo all that was made, and remove every file in it."""
