"""Journals, as commands open them: what is damaged in one is told on standard error and never passed over."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acidtest.journal.models import Journal


def opened(path: Path) -> Journal:
    """The journal ``path``, with a line on standard error for each line of it that is damaged. Raises BadInput."""
    from acidtest.journal import reader

    journal = reader.read(path)
    for line in journal.damaged:
        print(f"acidtest: {line.told}", file=sys.stderr)
    return journal
