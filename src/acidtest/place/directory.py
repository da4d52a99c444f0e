"""The place ``directory``: a directory of our own on a file system that is already mounted."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

from acidtest.errors import BadInput, cannot_write
from acidtest.files import refuse_foreign_bytes
from acidtest.journal.models import PlaceFacts
from acidtest.place.base import Place
from acidtest.place.facts import place_facts
from acidtest.place.ledger import Ledger


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
