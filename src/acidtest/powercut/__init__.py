"""Cuts the power of a simulated disk under a loaded database, and judges what became of what was acknowledged."""

from acidtest.powercut.conductor import cut_power
from acidtest.powercut.replay import replay
from acidtest.powercut.smaller import FILE as SMALLER
from acidtest.powercut.smaller import Found as FoundHistory
from acidtest.powercut.smaller import make_smaller

__all__ = ["SMALLER", "FoundHistory", "cut_power", "make_smaller", "replay"]
