"""Where the rig opens its sessions; the twin of ``FirebirdTarget`` of the rig's protocol."""

from __future__ import annotations

from typing import Literal

from acidtest.journal.protocol import Message, Target


class FirebirdRemote(Message):
    host: str
    port: int
    password: str


class FirebirdTarget(Target):
    engine: Literal["firebird"] = "firebird"
    library: str
    database: str
    user: str
    remote: FirebirdRemote | None
    isolation: Literal["read_committed", "snapshot"]
    lock_resolution: Literal["wait", "no_wait"]
    lock_timeout_s: int | None
    setup: list[str]
