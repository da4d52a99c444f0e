"""The engine at work on the database of a series outside of measurements: what is loaded, checked and asked there."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass

from acidtest.conductor.base import RunContext
from acidtest.conductor.growth.database import SeriesDatabase, growing
from acidtest.conductor.rig import SILENCE_S, Standing, Start, answered, converse, job_for
from acidtest.engine import Instance
from acidtest.engine.base import Launcher
from acidtest.journal.models import DatabaseStatistics
from acidtest.journal.protocol import AskPhase, Checked, CheckPhase, Event, Phase, Progress
from acidtest.place import filecache
from acidtest.plan import Cell, size_bytes

SLOW_BYTES_PER_S = 1e6  # no reading of a whole database is slower


@dataclass(frozen=True)
class EngineAtWork:
    """A started instance over ``database``, for ``cell``; ``launcher`` starts the rigs that talk to it."""

    cell: Cell
    context: RunContext
    database: SeriesDatabase
    instance: Instance
    launcher: Launcher

    def converse(self, phase: Phase, units: int, start: Start | None = None) -> Generator[Event]:
        """Run one rig over ``phase``, of a database with so many ``units`` of size. Raises CellFailed."""
        job = job_for(self.cell, self.instance, [phase], workload=growing(self.cell).with_units(units))
        environment = self.instance.environment()
        yield from converse(job, self.launcher, environment, start, silence_s=self._silence_s())

    def check(self) -> Checked | None:
        """Whether the conditions hold, and at least as many commits are there as were acknowledged in all."""
        checked = None
        phase = CheckPhase(at_least=self.database.acknowledged)
        with closing(self.converse(phase, self.database.units)) as events:
            for event in events:
                if isinstance(event, Checked):
                    checked = event
                elif isinstance(event, Progress):
                    self.context.watcher.progress(self.cell, event)
        return checked

    def statistics(self) -> DatabaseStatistics:
        """What the database looks like inside, by the engine's own means, with a full read timed cold and warm. May end
        the server.

        Raises CellFailed in one line where they cannot be taken, as of files that are damaged.
        """
        standing = Standing(self.launcher)

        def ask(question: str) -> list[list[str | None]]:
            return answered(self.converse(AskPhase(questions=[question]), self.database.units, standing))

        def forget() -> None:
            self.database.place().settle()
            filecache.drop(filecache.files_below(self.instance.database_files()))

        try:
            return self.instance.statistics(ask, forget)
        finally:
            standing.end()

    def _silence_s(self) -> float:
        """How long one call may take without news: to build an index, or to count, it reads all there is."""
        family = self.context.engine(self.cell).family
        return SILENCE_S + size_bytes(self.cell, family) / SLOW_BYTES_PER_S
