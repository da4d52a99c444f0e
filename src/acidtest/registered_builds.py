"""Builds that ``acidtest engines add`` keeps for every experiment: a small file each, below ``builds/`` of the state
directory. Only where a build lies is kept, and what its main file was then; the build itself stays where it is.

Below every layer: the reader of experiments takes a kept build as if its table stood in the file, and a shell completes
the names.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from acidtest.errors import BadInput, cannot_write, message_of
from acidtest.files import fsync_path, state_directory

SUFFIX = ".json"
BYTES_MAX = 1 << 16  # of one file
NAMES_MAX = 1_000


@dataclass(frozen=True)
class Kept:
    """One build, as it was when it was added."""

    name: str
    family: str  # a product of families.PRODUCTS
    path: str  # absolute
    sha256: str  # of its main file
    version: str
    added: str  # ISO 8601, UTC
    mode: str = ""  # "embedded" or "server", of a Firebird; "" where nobody said it


def directory() -> Path:
    """Where they are kept."""
    return state_directory() / "builds"


def names() -> list[str]:
    """Of all kept builds, in order. It looks at no build: a shell waits for it."""
    try:
        found = sorted(path.name.removesuffix(SUFFIX) for path in directory().glob(f"*{SUFFIX}"))
    except OSError:
        return []
    return found[:NAMES_MAX]


def find(name: str) -> Kept | None:
    """The build of this name, None when none is kept. Raises BadInput where its file is broken."""
    file = _file(name)
    try:
        with file.open("rb") as read:
            content = json.loads(read.read(BYTES_MAX))
        if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
            raise ValueError("it holds no texts")
        return Kept(**{"name": name, **_known(content)})
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadInput(f"the build {name} cannot be looked up: {message_of(error)}", "allow reading it") from None
    except (ValueError, TypeError) as error:
        raise BadInput(f"{file}: is broken: {error}", f"acidtest engines remove {name}, then add it again") from None


def keep(build: Kept) -> None:
    """Write it, in place of what was kept under its name. Raises BadInput where it cannot be written."""
    file = _file(build.name)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as write:
            json.dump(asdict(build), write, indent=1)
            write.write("\n")
            write.flush()
            os.fsync(write.fileno())
        Path(unfinished).replace(file)
        fsync_path(file.parent)
    except OSError as error:
        raise cannot_write(file, error, "set ACIDTEST_HOME to a directory that you may write to") from None


def drop(name: str) -> bool:
    """Keep it no longer; whether it was kept. Raises BadInput where its file cannot be removed."""
    try:
        _file(name).unlink()
        return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise BadInput(
            f"{name}: could not be removed: {message_of(error)}", "allow writing there, then remove it again"
        ) from None


def _file(name: str) -> Path:
    return directory() / f"{Path(name).name or 'unnamed'}{SUFFIX}"


def _known(content: Mapping[str, str]) -> dict[str, str]:
    """Without what a later version may have written beside it."""
    return {field.name: content[field.name] for field in fields(Kept) if field.name in content}
