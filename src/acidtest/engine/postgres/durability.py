"""What PostgreSQL's settings promise at a commit, and which of them contradict a level; pure.

With ``synchronous_commit`` off a commit is in the server's memory only, until the WAL writer comes to it, at most three
times ``wal_writer_delay`` later: that is ``none``, flushed then, or not if ``fsync`` is set to off beside it. See
https://www.postgresql.org/docs/current/wal-async-commit.html.
"""

from __future__ import annotations

from collections.abc import Mapping

from acidtest.engine.base import shown, without
from acidtest.engine.compare import promised
from acidtest.errors import BadInput
from acidtest.journal.models import Scalar

LEVELS = {"none": (True, "off"), "os": (False, "on"), "drive": (True, "on")}  # fsync, synchronous_commit


def settings_of(level: str) -> dict[str, Scalar]:
    """The settings that a level needs. At level none a server that flushes a moment later is none the worse."""
    flushed, commit = LEVELS[level]
    return {"synchronous_commit": commit} | ({} if level == "none" else {"fsync": flushed})


def refuse_contradictions(engine_id: str, level: str, settings: Mapping[str, Scalar]) -> None:
    """Raise BadInput for a setting under which the level could not be true."""
    for name, value in settings_of(level).items():
        if settings.get(name, value) != value:
            raise BadInput(
                f"{engine_id}: {name} = {shown(settings[name])} contradicts durability {level}",
                without(name, (meant for meant in LEVELS if settings_of(meant).get(name) == settings[name])),
            )


def meaning(level: str, settings: Mapping[str, Scalar]) -> str:
    """One line: the settings behind the level, and what a power cut or OS crash may lose."""
    flushed, commit = LEVELS[level]
    flushed = bool(settings.get("fsync", flushed))
    does = {
        ("none", False): "in the server's memory at commit, handed to the OS within 0.6 s, never flushed",
        ("none", True): "in the server's memory at commit, flushed within 0.6 s",
        ("os", False): "handed to the OS at commit, never flushed, and in no order kept",
        ("drive", True): "the log is flushed to the drive at each commit "
        f"(wal_sync_method={settings['wal_sync_method']})",
    }[level, flushed]
    named = f"synchronous_commit={commit}, fsync={'on' if flushed else 'off'}"
    if flushed and not settings["full_page_writes"]:
        named += ", full_page_writes=off"
    return f"{named}: {promised(does, 'postgresql', level, {**settings, 'fsync': flushed})}"
