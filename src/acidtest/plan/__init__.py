"""An experiment becomes ordered cells with ids and seeds. Pure: no clock, no engine, no disk."""

from acidtest.plan.cells import CELLS_MAX, Cell, Plan, Tell, make, reached
from acidtest.plan.effect import check as check_effect
from acidtest.plan.estimate import GrowthPace, cell_seconds, database_bytes, size_bytes, time_left
from acidtest.plan.reach import Path, family_of
from acidtest.plan.search import rate_level, run_at, searches, typical_runs, typical_seconds

__all__ = [
    "CELLS_MAX",
    "Cell",
    "GrowthPace",
    "Path",
    "Plan",
    "Tell",
    "cell_seconds",
    "check_effect",
    "database_bytes",
    "family_of",
    "make",
    "rate_level",
    "reached",
    "run_at",
    "searches",
    "size_bytes",
    "time_left",
    "typical_runs",
    "typical_seconds",
]
