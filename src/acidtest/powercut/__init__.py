"""Cuts the power of a simulated disk under a loaded database, and judges what became of what was acknowledged."""

from acidtest.powercut.conductor import cut_power
from acidtest.powercut.minimize import FILE as SMALLER
from acidtest.powercut.minimize import Found as FoundHistory
from acidtest.powercut.minimize import make_smaller
from acidtest.powercut.replay import replay

__all__ = ["SMALLER", "FoundHistory", "cut_power", "make_smaller", "replay"]
