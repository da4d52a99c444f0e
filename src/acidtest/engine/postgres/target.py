"""Where the rig opens its sessions; the twin of ``PostgresTarget`` of the rig's protocol."""

from __future__ import annotations

from typing import Literal

from acidtest.journal.protocol import Target, Tls


class PostgresTarget(Target):
    engine: Literal["postgres"] = "postgres"
    host: str
    port: int
    user: str
    password: str | None
    database: str
    setup: list[str]
    pipeline: bool
    tls: Tls | None
