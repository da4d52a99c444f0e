"""Engines in folders of their own, below ``engines/`` of the state directory; an interrupted install leaves nothing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from acidtest.errors import BadInput, MachineLacks, message_of
from acidtest.files import fsync_path, state_directory, sync_filesystem

UNFINISHED = ".unfinished-"


def home(id: str) -> Path:  # noqa: A002
    """The folder of an engine of its own."""
    return state_directory() / "engines" / id


def install(
    id: str,  # noqa: A002
    fill: Callable[[Path], Path],
    say: Callable[[str], None],
    *,
    is_current: Callable[[Path], bool] = lambda _: True,
) -> None:
    """Make the engine's home, unless it is there and ``is_current`` says that it has what this acidtest needs of it.

    ``fill`` gets an empty work directory and returns the folder in it that becomes the home; what else it left there
    is removed. Raises MachineLacks where the home cannot be written, and what ``fill`` raises.
    """
    target = home(id)
    if target.is_dir() and is_current(target):
        say(f"{id} is installed in {target}")
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for old in target.parent.glob(f"{UNFINISHED}{id}-*"):
            shutil.rmtree(old)
        with tempfile.TemporaryDirectory(prefix=f"{UNFINISHED}{id}-", dir=target.parent) as work:
            unpacked = fill(Path(work))
            sync_filesystem(unpacked)
            if target.is_dir():
                target.rename(Path(work) / "before")
            unpacked.rename(target)
            fsync_path(target.parent)
    except OSError as error:
        raise MachineLacks(
            f"{id}: could not be installed in {target}: {error.strerror}",
            "set ACIDTEST_HOME to a directory with space that you may write to",
        ) from None
    say(f"installed {id} in {target}")


def remove(id: str, say: Callable[[str], None]) -> None:  # noqa: A002
    """Remove the engine's home. Raises BadInput when there is none."""
    target = home(id)
    if not target.is_dir():
        raise BadInput(f"{id} is not installed by acidtest")
    try:
        shutil.rmtree(target)
    except OSError as error:
        raise BadInput(
            f"{id}: could not be removed: {message_of(error)}", "allow writing there, then remove it again"
        ) from None
    say(f"removed {target}")
