"""A cell whose measurement begins when the rate is steady, or at a bound."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from acidtest.analysis.steady import Gate
from acidtest.conductor.instruments import Instrument
from acidtest.conductor.recording import CellOutcome
from acidtest.conductor.rig import Warming
from acidtest.engine.base import ProcessStarter
from acidtest.journal.models import SteadyWait
from acidtest.journal.protocol import Event, Progress, Result, RunResult
from acidtest.workload import WorkloadSpec


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
