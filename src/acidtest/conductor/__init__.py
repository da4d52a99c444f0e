"""Takes a plan to recordings: the package that knows places, engines and the plan together.

``base.py`` is the contract of conductors, ``conduct.py`` drives them; ``grid.py`` and ``growth/`` are two of them.
What is needed to plan is here; what runs cells (``run.py``, ``search.py``, ``admission.py``) is imported from its
module, for its imports take longer than ``acidtest plan``.
"""

from acidtest.conductor.engines import build_doubts, plan_of, same_builds
from acidtest.conductor.initial_estimate import assumed_seconds
from acidtest.conductor.verify import planned, verify
from acidtest.conductor.workload_description import described

__all__ = ["assumed_seconds", "build_doubts", "described", "plan_of", "planned", "same_builds", "verify"]
