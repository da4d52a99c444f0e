"""When a measurement may begin: as soon as a warm-up's rate is steady, or after a bound. Pure: commits in, seconds out.

Steady is what ``steady`` calls so, by the same tests and sizes with which it doubts a measurement afterwards, of the
last seconds of the warm-up: as many as will be measured, but at least 8 and at most 30. In so few seconds a test misses
a step near either end and every other slow drift, so half as many windows in a row, one a second, must be steady: by
then a step has come to the middle of one. What the windows cannot show, or what comes in the last moments of the
warm-up, the measurement still may show: its own doubt stays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from acidtest.analysis.steady import Steadiness, steadiness_of

AHEAD = 1  # the measurement begins with the next second of the load, which the rig has to hear of before


@dataclass
class Gate:
    """Told of commits about once a second, it says when to measure."""

    earliest_s: float
    window: int  # seconds, 8 at least
    per_s: list[float] = field(default_factory=list)  # the rate between two news, in commits a second
    judged: Steadiness | None = None  # the last window
    in_a_row: int = 0  # steady windows, up to the last one
    _at_s: float = 0.0
    _committed: int = 0

    @property
    def needed(self) -> int:
        """So many windows in a row have to be steady."""
        return self.window // 2

    @property
    def is_open(self) -> bool:
        """Whether the rate was steady within the bound."""
        return self.in_a_row >= self.needed

    def hear(self, at_s: float, committed: int) -> int | None:
        """So many commits since the load began, ``at_s`` ago. Answers the second of the load from which to measure."""
        if self.is_open:
            return None
        length_s = at_s - self._at_s
        if length_s < 0.5:  # news between two others make no second
            return None
        self.per_s.append((committed - self._committed) / length_s)
        self._at_s, self._committed = at_s, committed
        if len(self.per_s) < self.window:
            return None
        self.judged = steadiness_of(self.per_s[-self.window :])
        self.in_a_row = self.in_a_row + 1 if self.judged.state == "steady" else 0
        if at_s < self.earliest_s:
            self.in_a_row = min(self.in_a_row, self.needed - 1)
        return math.floor(at_s) + AHEAD if self.is_open else None
