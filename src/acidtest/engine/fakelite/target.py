"""Where the rig opens its sessions."""

from __future__ import annotations

from typing import Literal

from acidtest.journal.protocol import Target


class FakeliteTarget(Target):
    engine: Literal["fakelite"] = "fakelite"
    path: str
    setup: list[str]
    busy_timeout_ms: int
