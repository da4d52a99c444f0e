"""What every place gives the conductor: directories for databases, copies into them, and the storage beneath; and the
place ``directory``, on a file system that is already mounted."""

from __future__ import annotations

import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from acidtest.errors import BadInput, cannot_write
from acidtest.files import refuse_foreign_bytes, sync_filesystem
from acidtest.journal.models import PlaceFacts, SettingInForce
from acidtest.place.facts import place_facts
from acidtest.place.ledger import Ledger
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


class DirectoryPlace(Place):
    """A directory made under ``parent`` and removed with everything in it when released.

    Raises BadInput when ``parent`` is missing, cannot be written to, or has less than ``needed_bytes`` free, which are
    for what it ``holds``.
    """

    def __init__(self, parent: Path, ledger: Ledger, *, needed_bytes: int, holds: str = "the databases") -> None:
        self._ledger = ledger
        if not parent.is_dir():
            raise BadInput(f"{parent}: no such directory", "make it, or name another place")
        free = shutil.disk_usage(parent).free
        if free < needed_bytes:
            raise BadInput(
                f"{parent}: needs about {needed_bytes / 1e6:,.0f} MB for {holds}, has {free / 1e6:,.0f} MB free",
                "free some space, or name another place",
            )
        # As the kernel names it in its table of mounts.
        self.path = parent.resolve() / f"acidtest-{uuid.uuid4().hex[:8]}"
        refuse_foreign_bytes(self.path.parent)
        try:
            self._id = ledger.make_directory(self.path)
        except OSError as error:
            raise cannot_write(parent, error, "name another place", into=True) from None

    def facts(self) -> PlaceFacts:
        return place_facts(self.path)

    def release(self) -> None:
        self._ledger.remove_directory(self._id)
