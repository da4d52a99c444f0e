"""One record in a file of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from acidtest.errors import BadInput
from acidtest.files import fsync_path
from acidtest.journal.models import Record

Document = TypeVar("Document", bound=Record)


def write(path: Path, document: Record) -> Path:
    """Write it into an existing directory, in place of what was there; it is on the drive when this returns. Raises
    OSError."""
    new = path.with_suffix(".new")
    with new.open("w", encoding="utf-8") as file:
        file.write(document.model_dump_json(by_alias=True))
        file.flush()
        os.fsync(file.fileno())
    new.rename(path)
    fsync_path(path.parent)
    return path


def read(path: Path, of: type[Document], called: str) -> Document:
    """Read the file ``path``, which is to be what ``called`` says. Raises BadInput when it is missing, or is no such
    file that we can read."""
    try:
        return of.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{path}: not {called} that this acidtest can read ({where}: {first['msg']})") from None
