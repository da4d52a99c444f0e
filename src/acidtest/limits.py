"""Limits of latency, as a user writes them: ``p99 < 10 ms``, ``new_order p90 < 5 s and mean < 20 ms``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache

from acidtest.errors import BadInput
from acidtest.words import counted

FORM = 'write it as "p99 < 10 ms", "mean < 2 ms", "max < 1 s" or "new_order p90 < 5 s", several joined by "and"'
UNITS_MS = {"us": 0.001, "µs": 0.001, "ms": 1.0, "s": 1_000.0, "min": 60_000.0}
TEXT_MAX, CLAUSES_MAX = 500, 20
LEAST_MS, MOST_MS = 0.001, 86_400_000.0
AND = re.compile(r"\s+and\s+|\s*,\s*", re.IGNORECASE)
CLAUSE = re.compile(
    r"(?:(?P<kind>[A-Za-z_][A-Za-z0-9_-]{0,63})\s+)?(?P<statistic>[A-Za-z]+[0-9.]{0,10})\s*"
    r"(?P<sign>[<>=≤≥]{1,2})\s*(?P<amount>[0-9][0-9_]{0,12}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})\s*(?P<unit>[A-Za-zµμ]{0,10})"
)
PERCENTILE = re.compile(r"p([0-9]{1,2}(?:\.[0-9]{1,4})?)")


@dataclass(frozen=True)
class Clause:
    """One limit: a statistic of the latencies of one kind of transaction, or of all, must stay below it."""

    kind: str  # of transaction: "new_order"; "" for all
    statistic: str  # "p99", "mean", "max"
    limit_ms: float

    @property
    def share(self) -> float | None:
        """0.99 of p99, 1 of the maximum; None of the mean."""
        if self.statistic == "mean":
            return None
        return 1.0 if self.statistic == "max" else round(float(self.statistic[1:]) / 100, 9)

    @property
    def figure(self) -> str:
        """What is limited: ``p99``, ``new_order p90``."""
        return f"{self.kind} {self.statistic}".strip()

    def __str__(self) -> str:
        return f"{self.figure} < {milliseconds(self.limit_ms, 12)}"


@dataclass(frozen=True)
class Limit:
    """All clauses must hold."""

    clauses: tuple[Clause, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of transactions that it names."""
        return tuple(dict.fromkeys(clause.kind for clause in self.clauses if clause.kind))

    def __str__(self) -> str:
        return " and ".join(map(str, self.clauses))


@cache
def limit_of(text: str) -> Limit:
    """The limit that ``text`` says. Raises BadInput with what is wrong in it and how it is written.

    >>> str(limit_of("p99<10ms and new_order p90 < 5000 ms"))
    'p99 < 10 ms and new_order p90 < 5 s'
    """
    if not text.strip():
        raise BadInput("the limit is empty", FORM)
    if len(text) > TEXT_MAX:
        raise BadInput(f"the limit has {counted(len(text), 'character')}, at most {TEXT_MAX:,} are read", FORM)
    clauses = [_clause(part) for part in AND.split(text.strip())]
    if len(clauses) > CLAUSES_MAX:
        raise BadInput(f"the limit joins more than {CLAUSES_MAX} limits", "leave some out")
    seen: set[str] = set()
    for clause in clauses:
        if clause.figure in seen:
            raise BadInput(f"{clause.figure} stands twice", "leave the weaker one out")
        seen.add(clause.figure)
    return Limit(tuple(clauses))


def _clause(text: str) -> Clause:
    shown = f'"{_shown(text)}"'
    if not text:
        raise BadInput('a part is missing beside "and"', FORM)
    match = CLAUSE.fullmatch(text)
    if match is None:
        raise BadInput(f"{shown} is not a limit", FORM)
    if match["sign"] != "<":
        raise BadInput(f'{shown}: found "{match["sign"]}", a latency is limited with "<"', FORM)
    if not match["unit"]:
        raise BadInput(f"{shown}: the time has no unit", "write us, ms, s or min behind the number")
    unit = match["unit"].replace("μ", "µ")  # the Greek letter for the sign
    if unit not in UNITS_MS:
        raise BadInput(f'{shown}: "{unit}" is not a unit of time', "write us, ms, s or min")
    limit_ms = float(match["amount"].replace("_", "")) * UNITS_MS[unit]
    if not LEAST_MS <= limit_ms <= MOST_MS:
        raise BadInput(f"{shown}: the time is not between 1 us and a day", FORM)
    return Clause(match["kind"] or "", _statistic(match["statistic"].lower(), shown), limit_ms)


def _statistic(name: str, shown: str) -> str:
    if name in ("mean", "max"):
        return name
    if name == "median":
        return "p50"
    match = PERCENTILE.fullmatch(name)
    if match is None or not 0 < float(match[1]) < 100:
        raise BadInput(
            f'{shown}: "{name}" is no statistic of latencies',
            "known are mean, max and percentiles such as p50, p99 and p99.9",
        )
    return f"p{float(match[1]):g}"


def _shown(text: str) -> str:
    cut = text if len(text) <= 60 else f"{text[:60]}…"
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in cut)


def milliseconds(value: float, digits: int = 4) -> str:
    """A time in the unit in which it has few digits: ``10 ms``, ``1.5 s``, ``200 us``."""
    if not math.isfinite(value):
        return "no end"
    for unit, of in (("us", 0.001), ("ms", 1.0)):
        if value < of * 1000:
            return f"{value / of:.{digits}g} {unit}"
    return f"{value / 1000:.{digits}g} s"
