"""Cuts the power of a simulated disk under a loaded database, and judges what became of what was acknowledged."""

from acidtest.powercut.conductor import cut_power
from acidtest.powercut.replay import replay

__all__ = ["cut_power", "replay"]
