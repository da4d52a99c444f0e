"""Runs an experiment cell by cell: the package that knows places, engines and the plan together."""

from acidtest.conductor.engines import engines_of, plan_of
from acidtest.conductor.growth import Loading
from acidtest.conductor.rig import rig_version
from acidtest.conductor.run import Devices, Outcome, Watcher, run
from acidtest.conductor.verify import verify
from acidtest.files import find_rig

__all__ = [
    "Devices",
    "Loading",
    "Outcome",
    "Watcher",
    "engines_of",
    "find_rig",
    "plan_of",
    "rig_version",
    "run",
    "verify",
]
