"""Runs an experiment cell by cell; the only package that knows places, engines and the plan together."""

from acidtest.runner.engines import engines_of
from acidtest.runner.rig import find_rig, rig_version
from acidtest.runner.run import Devices, Outcome, Watcher, run
from acidtest.runner.verify import verify

__all__ = ["Devices", "Outcome", "Watcher", "engines_of", "find_rig", "rig_version", "run", "verify"]
