"""The contract of conductors: how the cells of a plan become recordings.

``conduct.py`` drives every conductor the same way: it calls ``admit`` and ``needed_bytes`` before anything is made,
takes what ``run`` yields into the journal, and asks for ``left_s`` meanwhile. A conductor knows nothing of journals, of
runs that go on where others ended, or of what a full disk means.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acidtest.conductor.generators import Generators
from acidtest.conductor.template import Templates
from acidtest.conductor.watcher import Watcher
from acidtest.engine import Engine
from acidtest.journal.models import Explored, Machine, PlaceFacts, Recording
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


@dataclass(frozen=True)
class Begun:
    """A cell is at work from now on."""

    cell: Cell


@dataclass(frozen=True)
class Ended:
    """A cell has ended, whatever became of it."""

    cell: Cell
    recordings: Sequence[Recording]  # its own comes last, after those of earlier cells that it has revised; none of
    # a cell whose runs have all been yielded as ``Probed``


@dataclass(frozen=True)
class Probed:
    """One run for a cell that goes on: of a search, whose runs no plan can foresee."""

    cell: Cell  # of the run, with an id of its own
    recording: Recording


@dataclass(frozen=True)
class Looked:
    """What a cell that goes on has looked at by now: without this on the drive it would be looked at again."""

    cell: Cell
    explored: Explored


Steps = Generator[Begun | Probed | Looked | Ended]


class Conductor(ABC):
    """Takes cells to recordings; one object conducts one run."""

    def admit(  # noqa: B027 - most refuse nothing more
        self, cells: Sequence[Cell], engines: Mapping[str, Engine], where: Path
    ) -> None:
        """Refuse what this conductor cannot run, beside what ``admission.py`` refuses for all of them.

        Nothing is made yet, and engines may be missing. ``where`` is the experiment's file, named in errors. Raises
        BadInput and MachineLacks.
        """

    @abstractmethod
    def needed_bytes(self, cells: Sequence[Cell], engines: Mapping[str, Engine], parent: Path) -> int:
        """Bytes that ``cells``, at least one, take at most in the run's own place, which will lie in ``parent``.

        Raises BadInput where a place apart from it is too small.
        """

    @abstractmethod
    def run(self, cells: Sequence[Cell], context: RunContext) -> Steps:
        """Run ``cells``: for each a ``Begun`` and later its ``Ended``, in whatever order the cells end.

        A conductor that decides as it goes yields a ``Begun`` and a ``Probed`` for each of its runs, then an ``Ended``.

        What has been yielded as ended is on the drive when the generator is resumed. Closing it ends the run: all that
        the conductor has made is released then, also in mid-run. A cell that cannot run is a recording with status
        ``failed``; DiskFull, OSError and what ``fatal_errors.py`` raises end a run in which no further cell could run.
        """

    @abstractmethod
    def left_s(self, cells: Sequence[Cell]) -> float:
        """Seconds that ``cells``, those of the run that have not ended, will take; 0 for none."""
