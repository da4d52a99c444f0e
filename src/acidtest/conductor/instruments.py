"""What observes a cell: the contract of all instruments, and those that follow from the rig's events alone."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from acidtest.analysis.gate import Gate
from acidtest.conductor.recording import CellOutcome
from acidtest.conductor.rig import Warming
from acidtest.engine import Instance
from acidtest.engine.base import ProcessStarter
from acidtest.engine.counters import Counters
from acidtest.engine.sampling import Figures
from acidtest.journal.models import SteadyWait
from acidtest.journal.protocol import Counted, Event, Job, Progress, Result, RunResult, Sampled, Settings
from acidtest.place.cgroup import Launched
from acidtest.workload import WorkloadSpec


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


class SteadyStart(Instrument):
    """Starts the rig, and has it measure when the rate is steady, or at a bound."""

    def __init__(self, workload: WorkloadSpec, launcher: ProcessStarter) -> None:
        assert workload.warmup_limit_s is not None
        self._limit_s, self._launcher = float(workload.warmup_limit_s), launcher
        self._gate = Gate(workload.warmup_s, workload.steady_window_s())
        self._rig: Warming | None = None
        self.warmup_s = self._limit_s  # in force, once the measurement has begun

    def start(self, job: bytes, environment: Mapping[str, str]) -> Warming:
        """The start of ``converse``."""
        self._rig = Warming(self._launcher, job, environment)
        return self._rig

    def hear(self, event: Event, outcome: CellOutcome) -> None:
        if isinstance(event, Progress):
            self._progressed(event)
            if event.phase == "run" and outcome.measured_from is None:
                outcome.measured_from = time.time() - max(0.0, event.elapsed_s - self.warmup_s)
        elif isinstance(event, Result):
            outcome.steady_wait = self._wait(event)

    def _progressed(self, news: Progress) -> None:
        assert self._rig is not None
        if news.phase == "warmup":
            second = self._gate.hear(news.elapsed_s, news.done)
            if second is not None:
                self._rig.measure_from(second)
        elif news.phase == "run" and self.warmup_s == self._limit_s:
            self.warmup_s = min(self._limit_s, float(math.floor(news.elapsed_s)))
            self._rig.end_input()

    def _wait(self, result: RunResult) -> SteadyWait:
        judged = self._gate.judged
        return SteadyWait(
            earliest_s=self._gate.earliest_s,
            limit_s=self._limit_s,
            window_s=self._gate.window,
            windows=self._gate.needed,
            waited_s=result.warmup_s,
            reached=self._gate.is_open,
            state=judged.state if judged else "too short to tell",
            change=judged.change if judged else None,
            per_s=self._gate.per_s,
        )
