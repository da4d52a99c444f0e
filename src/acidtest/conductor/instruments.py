"""What observes a cell: the contract of all instruments, and those that follow from the rig's events alone."""

from __future__ import annotations

from acidtest.conductor.recording import CellOutcome
from acidtest.engine import Instance
from acidtest.engine.instruments import Counters, Figures
from acidtest.journal.protocol import Counted, Event, Job, Progress, Sampled, Settings
from acidtest.place.cgroup import Launched


class Instrument:
    """One kind of observation during a cell."""

    def ask(self, job: Job) -> Job:
        """The rig's job, with what this instrument asks the rig for."""
        return job

    def hear(self, event: Event, outcome: CellOutcome) -> None:
        """Called with each event of the rig."""

    def record(self, outcome: CellOutcome) -> None:
        """Called when the engine has ended, whatever became of it."""


class EngineCounting(Instrument):
    """What the engine itself counts."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters

    def ask(self, job: Job) -> Job:
        return job.model_copy(update={"count": self._counters.asked()})

    def hear(self, event: Event, outcome: CellOutcome) -> None:
        if isinstance(event, Counted):
            outcome.engine_counts = self._counters.recorded(event)


class EngineSampling(Instrument):
    """Where the engine stands, once a second."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def ask(self, job: Job) -> Job:
        return job.model_copy(update={"sample": self._figures.asked()})

    def hear(self, event: Event, outcome: CellOutcome) -> None:
        if isinstance(event, Sampled):
            outcome.engine_samples = self._figures.recorded(event)


class Witness(Instrument):
    """What the engine cannot be asked for, looked at while its sessions are open."""

    def __init__(self, instance: Instance, launched: Launched) -> None:
        self._instance, self._launched, self._has_seen_all = instance, launched, True

    def hear(self, event: Event, outcome: CellOutcome) -> None:
        if isinstance(event, Settings) or (isinstance(event, Progress) and not self._has_seen_all):
            self._has_seen_all = self._instance.witness(self._launched.pids())
