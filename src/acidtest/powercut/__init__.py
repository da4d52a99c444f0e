"""Cuts the power of a simulated disk under a loaded database, and judges what survived of what was acknowledged.

One combination of an experiment is a trial, which is prepared once and cut again and again from the same state:

1. The file system is made on the disk, a loaded database copied onto it, and the engine set up, started and killed.
2. Terminals commit; the acknowledgement log is read from a pipe outside everything that is cut.
3. Power fails: the disk forgets, engine and rig are killed, the file system is unmounted.
4. What survived is mounted, the engine is started on it and recovers.
5. The inspector looks for every commit and asks conditions and the engine's own check: the evidence.
6. Checkers judge the evidence, and the worst answer is the verdict. Each cut is a recording.

``failures.py`` has the ways to fail, ``crash_states.py`` and ``exploration.py`` states that a cut could have left,
``plug/`` the same with two machines and a real plug.
"""

from acidtest.powercut.conductor import cut_power
from acidtest.powercut.minimize import FILE as SMALLER
from acidtest.powercut.minimize import Found as FoundHistory
from acidtest.powercut.minimize import make_smaller
from acidtest.powercut.replay import replay

__all__ = ["SMALLER", "FoundHistory", "cut_power", "make_smaller", "replay"]
