"""When power fails."""

from __future__ import annotations

import random
from dataclasses import dataclass

from acidtest.analysis.recovery import NEEDED_S
from acidtest.plan import Cell


@dataclass(frozen=True)
class Moment:
    """After so many acknowledgements, or so long after the first, and then a little later."""

    acknowledged: int | None
    seconds: float | None
    later: float  # of the time that one commit takes

    @classmethod
    def drawn(cls, cell: Cell) -> Moment:
        """The moment that the cut's seed draws, from the extent of the workload."""
        lot = random.Random(f"{cell.seed}:cut")
        if cell.place.disk_recovery_s is not None:  # the rate before it is to be judged
            return cls(None, lot.uniform(NEEDED_S, cell.workload.duration_s or NEEDED_S), lot.random())
        if cell.workload.count is not None:
            return cls(lot.randint(1, cell.workload.count), None, lot.random())
        return cls(None, lot.uniform(0.05, 1.0) * (cell.workload.duration_s or 1.0), lot.random())
