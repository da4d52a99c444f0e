"""Figures out of files that may hold anything."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from acidtest.audit.importers.file import Broken, File
from acidtest.audit.importers.trees import load_json
from acidtest.words import counted

SERIES_MAX = 1_000_000  # intervals
STEPS = 40  # of a histogram, for each power of two: a value is told to 1.75 %


def load(file: File, begin: int = 0) -> Any:
    """The JSON that begins there in its text. What follows it is not looked at. Raises Broken."""
    return load_json(file.text, begin)


def table(value: Any) -> dict[str, Any]:
    """``value`` if it is an object; an empty one if not."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


class Latencies:
    """Percentiles in constant memory, to 1.75 %."""

    def __init__(self) -> None:
        self._steps: Counter[int] = Counter()
        self._sum = self._max = 0.0
        self._count = 0

    def add(self, ms: float) -> None:
        self._steps[math.ceil(math.log2(ms) * STEPS) if ms > 1e-6 else -800] += 1
        self._sum += ms
        self._max = max(self._max, ms)
        self._count += 1

    def as_ms(self) -> dict[str, float]:
        """ "mean", "p50", "p95", "p99" and "max"; empty without any."""
        if not self._count:
            return {}
        by_name = {"mean": self._sum / self._count, "max": self._max}
        wanted = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)]
        counted = 0
        for step in sorted(self._steps):
            counted += self._steps[step]
            while wanted and counted >= wanted[0][1] * self._count:
                by_name[wanted.pop(0)[0]] = min(2 ** (step / STEPS), self._max)
        return by_name


class PerSecond:
    """How many a second, whichever order they come in."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, second: int, count: int = 1) -> None:
        self._counts[second] += count

    @property
    def seconds(self) -> int:
        return max(self._counts) - min(self._counts) + 1 if self._counts else 0

    def series(self) -> tuple[float, ...]:
        """One figure a second, without the first and the last, which are not whole. Raises Broken if they lie years
        apart."""
        if not self._counts:
            return ()
        if self.seconds > SERIES_MAX:
            raise Broken(f"holds times that lie {counted(self.seconds, 'second')} apart")
        return tuple(float(self._counts[second]) for second in range(min(self._counts) + 1, max(self._counts)))
