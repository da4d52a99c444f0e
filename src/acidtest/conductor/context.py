"""What the cells of one run have in common: where they are, what they run with, and who is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from acidtest.conductor.generators import Generators
from acidtest.conductor.template import Templates
from acidtest.conductor.watcher import Watcher
from acidtest.engine import Engine
from acidtest.journal.models import Machine, PlaceFacts
from acidtest.place import DirectoryPlace, Guests, Ledger
from acidtest.plan import Cell


@dataclass(frozen=True)
class RunContext:
    """All that a conductor is given for one run. The driver makes it, and releases what is in it."""

    out: Path  # where the journal is, and what else is kept
    place: DirectoryPlace  # the run's own; templates and places without a path of their own lie in it
    place_facts: PlaceFacts  # of ``place``, as read when the run began
    ledger: Ledger
    machine: Machine
    engines: Mapping[str, Engine]  # by id, ready to run
    templates: Templates
    guests: Guests
    watcher: Watcher
    generators: Generators | None = None  # of a load that comes from several machines

    def engine(self, cell: Cell) -> Engine:
        """The engine that ``cell`` is for."""
        return self.engines[cell.engine]

    def holds(self, cell: Cell) -> bool:
        """Whether the cell's database lies in the run's own place, where the templates are."""
        spec = cell.place
        return spec.kind == "directory" and (spec.path is None or Path(spec.path).resolve() == self.place.path.parent)
