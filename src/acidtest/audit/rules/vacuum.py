"""PostgreSQL's vacuum."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.audit import tied
from acidtest.audit.bench import Bench
from acidtest.finding import Found, rule
from acidtest.settings import alike


@rule(
    "autovacuum-off",
    severity="doubtful",
    says="Nobody clears away dead rows while it is measured: work that every server must do later is left out.",
    remedy="Leave autovacuum on, and measure for long enough that it runs.",
    disproved_by="a vacuum within the measured time, in a script or in the server's log",
    source="PostgreSQL's manual, Routine Vacuuming",
)
def autovacuum_off(bench: Bench) -> Iterator[Found]:
    for side in tied.in_use(bench, bench.sides):
        if side.engine != "postgresql":
            continue
        off = [one for one in side.settings("autovacuum") if alike(one.value) == "off"]
        if off:
            yield Found(f"autovacuum is off in {side.name}.", (off[0].says(),))
        tables = [one for of in side.configurations for one in of.settings if one.name == "autovacuum_enabled"]
        if not off and (idle := tuple(one.says() for one in tables if alike(one.value) == "off")):
            yield Found(f"autovacuum is off for tables in {side.name}.", idle, noted=True)
