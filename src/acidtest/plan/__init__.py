"""An experiment becomes ordered cells with ids and seeds. Pure: no clock, no engine, no disk."""

from acidtest.plan.cells import Cell, Plan, make
from acidtest.plan.effect import check as check_effect
from acidtest.plan.estimate import GrowthPace, cell_seconds, database_bytes, size_bytes, time_left
from acidtest.plan.reach import family_of

__all__ = [
    "Cell",
    "GrowthPace",
    "Plan",
    "cell_seconds",
    "check_effect",
    "database_bytes",
    "family_of",
    "make",
    "size_bytes",
    "time_left",
]
