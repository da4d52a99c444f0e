"""Where the rig opens its sessions; the twin of ``MysqlTarget`` of the rig's protocol."""

from __future__ import annotations

from typing import Literal

from acidtest.journal.protocol import Target, Tls


class MysqlTarget(Target):
    engine: Literal["mysql"] = "mysql"
    host: str
    port: int
    user: str
    password: str | None
    database: str
    setup: list[str]
    tls: Tls | None
    socket: str | None = None  # beside ``host``: where the server takes the password itself, if it asks for that
