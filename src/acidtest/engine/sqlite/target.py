"""Where the rig opens its sessions; the twin of ``SqliteTarget`` of the rig's protocol."""

from __future__ import annotations

from typing import Literal

from acidtest.journal.protocol import Target


class SqliteTarget(Target):
    engine: Literal["sqlite"] = "sqlite"
    library: str | None = None  # to load; None: the one that is linked into the rig
    path: str
    setup: list[str]
    busy_timeout_ms: int
