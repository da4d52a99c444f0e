"""What the statistics of engines that are asked in SQL share: full reads that are timed, and keys that are counted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from acidtest.engine.base import Ask, Forget
from acidtest.errors import CellFailed

COUNTED_MAX = 10_000_000  # keys; beyond, grouping them takes too long

Answer = TypeVar("Answer")


def clearly(name: str, ask: Ask, died: Callable[[], str | None] = lambda: None) -> Ask:
    """``ask`` that leaves the question out when it fails: of ``name``'s statistics, in the engine's own words, or how
    its server died."""

    def asked(question: str) -> list[list[str | None]]:
        try:
            return ask(question)
        except CellFailed as error:
            words = died() or error.message.removeprefix(f"{question}: ")
            raise CellFailed(f"{name}: could not take its statistics: {words}", error.remedy) from None

    return asked


@dataclass(frozen=True)
class Reads(Generic[Answer]):
    answer: Answer
    cold_s: float | None  # None where nothing was timed
    warm_s: float | None


def timed_reads(read: Callable[[], Answer], forget: Forget | None) -> Reads[Answer]:
    """Read once, or, where the file cache can be emptied, cold and then warm. The opening of a session counts too."""
    if forget is None:
        return Reads(read(), None, None)
    forget()
    times = [time.monotonic()]
    for _ in ("cold", "warm"):
        answer = read()
        times.append(time.monotonic())
    return Reads(answer, times[1] - times[0], times[2] - times[1])


@dataclass(frozen=True)
class Keys:
    """How often keys repeat; None where nobody counted."""

    unique: int | None
    duplicates: int | None
    duplicates_max: int | None


NOT_COUNTED = Keys(None, None, None)


def count_keys(ask: Ask, table: str, columns: str, keys: int, *, all_differ: bool) -> Keys:
    """The keys of an index over ``columns``, both as SQL takes them; nothing is asked where ``all_differ``."""
    if all_differ or keys == 0:
        return Keys(keys, 0, 0)
    if keys > COUNTED_MAX:
        return NOT_COUNTED
    grouped = f"select count(*) as n from {table} group by {columns}"  # noqa: S608 - names that the engine quoted
    ((unique, counted, most),) = ask(f"select count(*), sum(n), max(n) from ({grouped}) as g")  # noqa: S608
    distinct = int(unique or 0)
    return Keys(distinct, int(counted or 0) - distinct, max(0, int(most or 0) - 1))
