"""What journal_mode and synchronous promise at a commit, and which of them contradict a level; pure.

See https://sqlite.org/pragma.html#pragma_synchronous.
"""

from __future__ import annotations

from collections.abc import Mapping

from acidtest.engine.base import without
from acidtest.engine.compare import promised
from acidtest.engine.sqlite.settings import SPECS
from acidtest.errors import BadInput
from acidtest.journal.models import Scalar

LEVELS = ("none", "os", "drive")
UNSAFE = ("memory", "off")  # journal modes under which a crash in a commit breaks the database


def synchronous_of(level: str, journal_mode: str) -> str:
    """The ``synchronous`` that a level means.

    EXTRA with journal_mode=delete: the commit is the journal's removal from its directory, which FULL does not flush.
    """
    if level == "none":
        return "off"
    if level == "os":
        return "normal"
    return "extra" if journal_mode == "delete" else "full"


def refuse_contradictions(level: str, settings: Mapping[str, Scalar]) -> None:
    """Raise BadInput for settings under which the level could not be true."""
    mode = _journal_mode(settings)
    if level == "os" and mode != "wal":
        raise BadInput(
            f'sqlite: has no durability level os with journal_mode = "{mode}"',
            "with a rollback journal every setting but off flushes at each commit: use wal, or none or drive",
        )
    if level == "drive" and mode in UNSAFE:
        raise BadInput(
            f'sqlite: has no durability level drive with journal_mode = "{mode}"',
            "a power cut in a commit breaks such a database: use wal, delete, truncate or persist",
        )
    synchronous = synchronous_of(level, mode)
    asked = settings.get("synchronous")
    if asked is not None and asked != synchronous:
        raise BadInput(
            f'sqlite: synchronous = "{asked}" contradicts durability {level}, which means "{synchronous}" '
            f'with journal_mode = "{mode}"',
            without("synchronous", _levels_of(str(asked), mode)),
        )


def _levels_of(synchronous: str, mode: str) -> list[str]:
    """Those that mean this ``synchronous`` and that there are under this ``journal_mode``."""
    there = [level for level in LEVELS if level == "none" or mode == "wal" or (level == "drive" and mode not in UNSAFE)]
    return [level for level in there if synchronous_of(level, mode) == synchronous]


def meaning(level: str, settings: Mapping[str, Scalar]) -> str:
    """One line: the settings behind the level, and what a power cut or OS crash may lose."""
    mode = _journal_mode(settings)
    does = {
        "none": "never flushed",
        "os": "handed to the OS at commit, flushed at checkpoints only",
        "drive": "flushed to the drive at each commit",
    }[level]
    named = f"journal_mode={mode}, synchronous={synchronous_of(level, mode)}"
    return f"{named}: {promised(does, 'sqlite', level, {'journal_mode': mode})}"


def _journal_mode(settings: Mapping[str, Scalar]) -> str:
    return str(settings.get("journal_mode", SPECS["journal_mode"].default))
