"""Runs an experiment cell by cell; the only package that knows places, engines and the plan together."""

from acidtest.files import find_rig
from acidtest.runner.cuts import cut_power, replay
from acidtest.runner.engines import engines_of
from acidtest.runner.growth import Loading
from acidtest.runner.rig import rig_version
from acidtest.runner.run import Devices, Outcome, Watcher, run
from acidtest.runner.verify import verify

__all__ = [
    "Devices",
    "Loading",
    "Outcome",
    "Watcher",
    "cut_power",
    "engines_of",
    "find_rig",
    "replay",
    "rig_version",
    "run",
    "verify",
]
