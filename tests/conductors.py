"""The conductors that the contract suite runs over: a new one joins with one line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from acidtest.conductor.base import Conductor
from acidtest.conductor.grid import Grid
from acidtest.conductor.growth import Growth
from acidtest.plan import Plan
from acidtest.powercut.conductor import Cuts


@dataclass(frozen=True)
class Member:
    """A conductor and an experiment for it.

    The experiment has two cells with one terminal and two with two terminals, on SQLite, of about a second each.
    """

    name: str
    conductor: Callable[[Plan], Conductor]
    parameters: str  # TOML, after name, engine, durability and the factor ``terminals``

    def experiment(self, path: str) -> str:
        """Its text, with databases in ``path``."""
        head = f'name = "{self.name}"\nengine = "sqlite"\ndurability = "os"\n'
        return f"{head}place.path = {path!r}\nfactors.terminals = [1, 2]\n{self.parameters}"


GRID = "repetitions = 2\n[workload.commits]\ncount = 300\n"
GROWTH = (
    'repetitions = 1\n[growth]\nsizes = ["4 MB", "6 MB"]\nstatistics = false\n'
    "[workload.tpcc]\nduration_s = 0.5\nthink_ms = 5\nwarehouse_percent = 1\n"  # so few deliveries that orders never run out
)

CUTS = (
    'place.kind = "disk"\nplace.filesystem = "ext4"\nplace.size_mb = 64\n'
    "repetitions = 2\n[workload.numbered]\ncount = 20\n"
)

MEMBERS = [
    Member("grid", lambda plan: Grid(), GRID),
    Member("growth", Growth, GROWTH),
    Member("cuts", lambda plan: Cuts(plan.experiment), CUTS),
]
