"""An experiment becomes ordered cells with ids and seeds. Pure: no clock, no engine, no disk."""

from acidtest.plan.cells import Cell, Plan, make
from acidtest.plan.estimate import cell_seconds, time_left

__all__ = ["Cell", "Plan", "cell_seconds", "make", "time_left"]
