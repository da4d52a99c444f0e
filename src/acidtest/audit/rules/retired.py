"""Series that their makers have given up."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.audit.bench import Bench
from acidtest.audit.finding import Found, rule


@rule(
    "series-retired",
    severity="note",
    over=Bench,
    says="A series is compared that its makers no longer mend.",
    remedy="Compare series that are maintained, or say why not.",
    source="The Firebird project, Discontinued versions",
    about="builds",
)
def series_retired(bench: Bench) -> Iterator[Found]:
    for side in bench.sides:
        if side.engine == "firebird" and side.version.startswith(("1.", "2.")):
            seen = tuple(binary.where.says(f"version {binary.version}") for binary in side.binaries)
            if seen:
                yield Found(f"{side.name} is Firebird {side.version}.", seen)
