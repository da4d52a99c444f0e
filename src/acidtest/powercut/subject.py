"""What is tested under failures, an engine or a program of the user's: how it is loaded and inspected.

Its ``Instance`` starts and stops it. All else of a trial is the same for both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

from acidtest.conductor.rig import Start
from acidtest.engine import Engine, Instance
from acidtest.engine.program import ENDLESS, ProgramInstance
from acidtest.journal.protocol import Count
from acidtest.place import Ledger
from acidtest.place.guest.cuttable import CuttableGuest
from acidtest.plan import Cell
from acidtest.powercut import items, program
from acidtest.powercut.acknowledgement_log import Acknowledgement
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.inspector import Inspecting, Inspector
from acidtest.powercut.load import Load, loaded

CONTROL_ITEMS = 20  # at most, of a program's load that is not cut


class Subject(ABC):
    """One instance of it, over the data on the place that is cut."""

    is_program: ClassVar[bool]

    def __init__(self, cell: Cell, instance: Instance, inspector: Inspecting) -> None:
        self._cell, self.instance, self.inspector = cell, instance, inspector

    def link(self, place: Path) -> None:  # noqa: B027 - an engine's database is linked before
        """Have it keep its data in ``place``."""

    def set_up(self) -> None:  # noqa: B027 - an engine's database is loaded before
        """Once, before its first start. Raises CellFailed."""

    @abstractmethod
    def loaded(self, cell: Cell, directory: Path, count: int | None = None) -> AbstractContextManager[Load]:
        """The load of ``cell``, with the acknowledgement log in ``directory``, until it is killed; with ``count`` so
        much of it."""

    def control(self, directory: Path) -> list[Acknowledgement]:
        """What it has acknowledged and then keeps, where that can be tried without a cut: load and server end in
        order. Raises CellFailed."""
        return []

    def buffered(self, acknowledged: Sequence[Acknowledgement]) -> str | None:
        """As in ``CutEvidence``."""
        return None

    def evidence(self, **known: Any) -> CutEvidence:
        """That of a cut which has shown nothing yet."""
        workload = self._cell.workload
        return CutEvidence(
            is_program=self.is_program,
            is_numbered=workload.CAN_BE_SURVEYED,
            conditions=workload.conditions(),
            **known,
        )


class EngineSubject(Subject):
    """An engine: the rig drives load and asks, in ``machine`` where there is one, or by ``start_rig`` elsewhere."""

    is_program = False

    def __init__(
        self,
        cell: Cell,
        engine: Engine,
        instance: Instance,
        ledger: Ledger,
        machine: CuttableGuest | None = None,
        start_rig: Start | None = None,
    ) -> None:
        self._machine, self._start_rig = machine, start_rig
        fetch = machine.fetch if machine else None
        start_rig = machine.rig if machine else start_rig
        inspector = Inspector(cell, instance, ledger, embedded=engine.embedded, start_rig=start_rig, fetch=fetch)
        super().__init__(cell, instance, inspector)

    def loaded(self, cell: Cell, directory: Path, count: int | None = None) -> AbstractContextManager[Load]:
        extent = None if count is None else Count(transactions=count)
        return loaded(cell, self.instance, directory, self._machine, self._start_rig, extent)


class ProgramSubject(Subject):
    """A program of the user's: its own commands load and check."""

    is_program = True

    def __init__(self, cell: Cell, instance: ProgramInstance, ledger: Ledger) -> None:
        super().__init__(cell, instance, program.ProgramInspector(instance, ledger))
        self._program, self._ledger = instance, ledger

    def link(self, place: Path) -> None:
        for path in self._program.database_files():
            if not path.is_symlink():
                path.symlink_to(place / path.name)

    def set_up(self) -> None:
        self._program.set_up(self._ledger)

    def loaded(self, cell: Cell, directory: Path, count: int | None = None) -> AbstractContextManager[Load]:
        return program.loaded(self._program, directory, ENDLESS if count is None else count)

    def control(self, directory: Path) -> list[Acknowledgement]:
        count = min(CONTROL_ITEMS, self._cell.workload.count or CONTROL_ITEMS)
        self._program.start(self._ledger)
        with self.loaded(self._cell, directory, count) as load:
            load.finish(count)
            acknowledged = load.acknowledged.read()
        self._program.stop()
        return acknowledged

    def buffered(self, acknowledged: Sequence[Acknowledgement]) -> str | None:
        return items.buffered(acknowledged)


def subject_of(
    cell: Cell, engine: Engine, instance: Instance, ledger: Ledger, machine: CuttableGuest | None = None
) -> Subject:
    """The subject that ``instance`` is."""
    if isinstance(instance, ProgramInstance):
        return ProgramSubject(cell, instance, ledger)
    return EngineSubject(cell, engine, instance, ledger, machine)
