"""Of somebody's benchmark: what rules had nothing to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from acidtest.audit.bench import Bench
from acidtest.finding import Unchecked


@dataclass(frozen=True)
class Need:
    """What some rules look at. Where there is none of it they are silent, which must not be taken for praise."""

    about: str  # what they look for, in the words of a reader
    nothing: str  # why they found none: "no configuration"
    there: Callable[[Bench], bool]
    given: Callable[[Bench], bool] = lambda bench: True  # without this it is told as a part of something larger


def unchecked(bench: Bench) -> list[Unchecked]:
    """What could not be looked for in this benchmark."""
    needs = [Unchecked(need.about, need.nothing) for need in NEEDS if need.given(bench) and not need.there(bench)]
    return [*needs, *_missing(bench)]


def _missing(bench: Bench) -> Iterator[Unchecked]:
    """Of which sides the defaults are not known, for a part of the configuration lies elsewhere."""
    for side in bench.sides:
        includes = [include for configuration in side.configurations for include in configuration.includes]
        if includes and not side.tells_all:
            first = includes[0]
            more = f" and {len(includes) - 1:,} more" if len(includes) > 1 else ""
            why = f"{first.where.file}:{first.where.line} reads {first.path}{more}, which is not in the kit"
            yield Unchecked(f"what is at its default in {side.name}", why)


def _sides(*fields: str) -> Callable[[Bench], bool]:
    return lambda bench: any(getattr(side, field) for side in bench.sides for field in fields)


def _results(field: str) -> Callable[[Bench], bool]:
    return lambda bench: any(getattr(one, field) for one in bench.published)


def _measured(bench: Bench) -> bool:
    """Whether there is a result, and not only a script that would make one."""
    return any(not one.planned for one in bench.published)


NEEDS = (
    Need("word sizes, processors and debug builds", "no program or library", _sides("binaries")),
    Need("how old the builds are", "no version of an engine", _sides("version")),
    Need("settings and defaults", "no configuration", _sides("configurations")),
    Need(
        "whether commits wait for the drive",
        "no configuration, database or list of mounts",
        _sides("configurations", "databases", "mounts"),
    ),
    Need("page sizes and page buffers", "no header or statistics of a database", _sides("databases")),
    Need("deadlocks, restarts, crashes and checkpoints", "no log of an engine", _sides("log")),
    Need("work that is repeated or waits in procedures", "no procedure or trigger", lambda bench: bool(bench.routines)),
    Need(
        "what the study claims",
        "prose is not read: [[claim]] in benchmark.toml declares it",
        lambda bench: bool(bench.declared and bench.declared.claims),
    ),
    Need("rates, latencies and repetitions", "no result of a tool", _measured),
    Need("latencies", "no result has any", _results("latency_ms"), given=_measured),
    Need("warm-up and steady state", "no result has its rate over time", _results("series"), given=_measured),
    Need("what differs between sides", "fewer than two sides", lambda bench: len(bench.sides) > 1),
)
