"""PostgreSQL's vacuum."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.audit import measured_sides
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
    for side in measured_sides.in_use(bench, bench.sides):
        # The second is of single tables.
        for setting in (*side.settings("autovacuum"), *side.settings("autovacuum_enabled")):
            if side.engine == "postgresql" and alike(setting.value) == "off":
                noted = setting.name != "autovacuum"
                yield Found(f"{setting.name} is off in {side.name}.", (setting.says(),), noted=noted)
