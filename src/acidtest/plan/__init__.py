"""An experiment becomes ordered cells with ids and seeds. Pure: no clock, no engine, no disk."""

from acidtest.plan.cells import Cell, Plan, family_of, make
from acidtest.plan.estimate import GrowthPace, cell_seconds, database_bytes, size_bytes, time_left

__all__ = [
    "Cell",
    "GrowthPace",
    "Plan",
    "cell_seconds",
    "database_bytes",
    "family_of",
    "make",
    "size_bytes",
    "time_left",
]
