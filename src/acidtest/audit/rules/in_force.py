"""Settings that are written where they do not reach the work that is measured."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.audit.bench import Bench
from acidtest.finding import Found, rule


@rule(
    "reload-needs-restart",
    severity="doubtful",
    says="A setting that PostgreSQL reads only when it starts is changed, and the server is only reloaded.",
    remedy="Restart the server, and show pg_settings with pending_restart after it.",
    disproved_by="the setting as the server reports it while it is measured",
    source="PostgreSQL's manual: pg_settings, context postmaster; ALTER SYSTEM",
)
def reload_needs_restart(bench: Bench) -> Iterator[Found]:
    for one in bench.said("reloaded"):
        yield Found(f"{one.text} holds from the next start on, and a reload follows.", (one.where.says(one.text),))
