"""Takes a plan to recordings: the package that knows places, engines and the plan together.

``base.py`` is the contract of conductors, ``conduct.py`` drives them; ``grid.py`` and ``growth/`` are two of them.
"""

from acidtest.conductor.admission import Devices
from acidtest.conductor.conduct import RunOutcome
from acidtest.conductor.engines import plan_of, same_builds
from acidtest.conductor.initial_estimate import assumed_seconds
from acidtest.conductor.rig import rig_version
from acidtest.conductor.run import run
from acidtest.conductor.search import Decider, Wanted, search
from acidtest.conductor.verify import planned, verify
from acidtest.conductor.watcher import Exploring, Loading, Watcher
from acidtest.conductor.workload_description import described
from acidtest.files import find_rig

__all__ = [
    "Decider",
    "Devices",
    "Exploring",
    "Loading",
    "RunOutcome",
    "Wanted",
    "Watcher",
    "assumed_seconds",
    "described",
    "find_rig",
    "plan_of",
    "planned",
    "rig_version",
    "run",
    "same_builds",
    "search",
    "verify",
]
