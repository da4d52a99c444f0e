"""Does it get slow as the database grows?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

from acidtest.keys import Scalar
from acidtest.plan import Plan
from acidtest.question import parts
from acidtest.question.answers import Answers
from acidtest.question.base import Question, Rung, Sketch
from acidtest.question.parts import ENOUGH
from acidtest.question.text import Draft, Line, Table
from acidtest.words import counted

BEND = 6  # sizes, that a bend at memory size takes to show, two of them below it and two above
# Multiples of the memory limit.
SIZES = (
    (0.25, 0.5, 1, 2, 4, 8),
    (0.25, 0.5, 1, 1.5, 2, 4),
    (0.25, 0.5, 0.75, 1.5, 2, 3),
    (0.25, 0.5, 2, 3),
    (0.5, 2),
)
EACH = "Each size is measured so often, one time after the other."
TPCC_SAID = "TPC-C-like; never to be compared with published TPC results."
LONG_S = 10.0  # a measurement, before more memory is worth its time
TERMINALS = 8
LEAST_MB = 96  # of memory: what engines need for themselves and for each session does not shrink
LEAST_OF_FAMILY_MB: Mapping[str, int] = {"sqlite": 48, "mysql": 256}
PERCENT_MB = 24  # of memory for each percent of a warehouse: the smallest database has several warehouses
CACHE_SHARE = 12  # of the memory is the engine's own page cache
SPACE = 1.5  # beside the largest database: its logs, and what is sorted for its indexes


class Growth(Question):
    """At a reduced scale: memory is limited, so that databases of several times its size are loaded in the time."""

    name: ClassVar[str] = "growth"
    asks: ClassVar[str] = "Does it get slow as the database grows?"
    no_servers: ClassVar[str] = "databases grow in files that acidtest makes on this machine"
    rungs: ClassVar[tuple[Rung, ...]] = (Rung(ENOUGH, 5.0),)
    scarce: ClassVar[tuple[Rung, ...]] = (Rung(ENOUGH, 3.0), Rung(3, 3.0), Rung(2, 3.0), Rung(1, 3.0))

    def title(self, answers: Answers) -> str:
        return f"The speed of {answers.engine_names} as its database grows"

    def commands(self, answers: Answers) -> list[str]:
        return [*super().commands(answers), f"acidtest growth {answers.out}"]

    def shortcomings(self, plan: Plan) -> list[str]:
        sizes = len(plan.experiment.growth.sizes) if plan.experiment.growth else 0
        few = f"There is time for {counted(sizes, 'size')}: a bend at memory size takes {BEND} to show."
        return super().shortcomings(plan) + ([few] if sizes < BEND else [])

    def sketches(self, answers: Answers) -> Sequence[Sketch]:
        least = max(LEAST_OF_FAMILY_MB.get(family, LEAST_MB) for family in answers.families)
        memories = [least]
        while _fits(memories[-1] * 2, answers):
            memories.append(memories[-1] * 2)
        larger = [Sketch(partial(self._draft, answers, mb, SIZES[0]), least_s=LONG_S) for mb in reversed(memories)]
        return [*larger, *(Sketch(partial(self._draft, answers, least, sizes)) for sizes in SIZES)]

    def _draft(
        self, answers: Answers, memory_mb: int, sizes: Sequence[float], repetitions: int, seconds: float
    ) -> Draft:
        limit = Line("memory_mb", memory_mb, "Memory of the engine and of all that is cached for it, MiB. Needs root.")
        growth = (Line("sizes", [f"{size:g}x memory" for size in sizes], _sizes_said(sizes)),)
        return self.draft(
            answers,
            (parts.repetitions(repetitions, EACH), parts.at_drive()),
            (),
            Table("growth", growth, "One database is loaded from size to size, and measured at each."),
            Table("workload.tpcc", _tpcc(memory_mb, seconds), TPCC_SAID),
            *_settings(answers, memory_mb),
            *parts.place(answers.storage, parts.filesystem(answers), (limit,)),
            said="Databases of each engine grow one after the other.",
        )


def _fits(memory_mb: int, answers: Answers) -> bool:
    """Whether this machine has so much memory to limit, and room for the largest databases."""
    largest = SPACE * max(SIZES[0]) * (memory_mb << 20)
    if answers.storage.kind == "disk":
        return largest <= answers.memory_bytes / 4  # the simulated disk's content lies there
    return largest <= answers.free_bytes / 2 and (memory_mb << 20) <= answers.memory_bytes / 2


def _sizes_said(sizes: Sequence[float]) -> str:
    bytes_too = 'Sizes may also be in bytes, "10 GB", with place.memory_mb left out.'
    if len(sizes) >= BEND:
        return bytes_too
    return f"The time that was asked for allows no more: a bend at memory size takes {BEND} to show. {bytes_too}"


def _tpcc(memory_mb: int, seconds: float) -> tuple[Line, ...]:
    percent = max(1, min(100, memory_mb // PERCENT_MB))
    return (
        Line("terminals", TERMINALS, "Clients at once."),
        Line("warehouse_percent", percent, "Smaller warehouses, so that a small database has several of them."),
        *parts.measured(seconds),
    )


def _settings(answers: Answers, memory_mb: int) -> tuple[Table, ...]:
    """Page caches of a share of the memory, and what else would not fit into little of it."""
    cache_mb = max(8, memory_mb // CACHE_SHARE)
    little: Mapping[str, Mapping[str, Scalar]] = {
        "firebird": {"temp_cache_limit_mb": max(4, cache_mb // 2)},
        "postgresql": {"maintenance_work_mem_mb": cache_mb, "max_connections": 30},
    }
    tables = parts.caches(answers, cache_mb, TERMINALS)
    return tuple(
        Table(
            table.name,
            (*table.lines, *(Line(key, value) for key, value in little.get(table.name.partition(".")[2], {}).items())),
            table.comment,
        )
        for table in tables
    )
