"""A cell's engine at work: what its rigs are to do, and what comes of that into the outcome."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

from acidtest.conductor.base import RunContext
from acidtest.conductor.instruments import Instrument
from acidtest.conductor.recording import CellOutcome
from acidtest.conductor.rig import Start, converse, job_for
from acidtest.engine import Instance
from acidtest.engine.base import Launcher
from acidtest.journal.models import OwnReport
from acidtest.journal.protocol import (
    AcknowledgedTotals,
    Answered,
    AskPhase,
    Checked,
    CheckPhase,
    Event,
    Hello,
    Loaded,
    Maintained,
    Phase,
    Progress,
    Replayed,
    Result,
    Settings,
)
from acidtest.plan import Cell


@dataclass(frozen=True)
class RigWork:
    """What the rigs of one cell have in common. ``start`` starts them elsewhere than as processes of this machine."""

    cell: Cell
    context: RunContext
    instance: Instance
    launcher: Launcher
    outcome: CellOutcome
    instruments: Sequence[Instrument] = ()
    start: Start | None = None
    answers: list[Settings] = field(default_factory=list)  # of all sessions

    def before(self, given: Sequence[Phase]) -> list[Phase]:
        """The phases before the run: those ``given``, and the check.

        A check reads the whole database. Where the file cache must stay as it was made, the one after the load stands
        for the check of its copy.
        """
        checks_now = self.outcome.needs_checks and self.outcome.checks_before is None
        return [*given, *([CheckPhase()] if checks_now else [])]

    def after(self, told: AcknowledgedTotals | None = None) -> list[Phase]:
        """The phases after the run; ``told`` is what was acknowledged to several rigs."""
        questions = list(dict.fromkeys(question.sql for question in self.cell.workload.questions()))
        asks = [AskPhase(questions=questions)] if questions else []
        return [*asks, *([CheckPhase(told=told)] if self.outcome.needs_checks else [])]

    def do(self, phases: Sequence[Phase]) -> None:
        """Have one rig do the phases, unless there are none. Raises CellFailed when it cannot go on."""
        if not phases:
            return
        job = job_for(self.cell, self.instance, phases, workload=self.outcome.workload, inspected=True)
        for instrument in self.instruments:
            job = instrument.ask(job)
        with closing(converse(job, self.launcher, self.instance.environment(), self.start)) as events:
            for event in events:
                self.hear(event)

    def hear(self, event: Event) -> None:
        """Note what an event says, and pass it on to the instruments."""
        for instrument in self.instruments:
            instrument.hear(event, self.outcome)
        outcome = self.outcome
        match event:
            case Hello():
                outcome.engine_version = event.engine_version
            case Settings():
                self.answers.append(event)
            case Loaded():
                outcome.load = event
            case Checked() if outcome.result is None:
                outcome.checks_before = event
            case Checked():
                outcome.checks_after = event
            case Result():
                outcome.result = event
            case Maintained():
                outcome.maintenance = event
            case Replayed():
                outcome.replay = event
            case Answered():
                outcome.own_reports.append(self._report(event))
            case Progress():
                if event.phase == "run" and outcome.measured_from is None and self.start is None:
                    outcome.measured_from = time.time() - max(0.0, event.elapsed_s - self.cell.workload.warmup_s)
                self.context.watcher.progress(self.cell, event)

    def _report(self, event: Answered) -> OwnReport:
        asked = next(question for question in self.cell.workload.questions() if question.sql == event.question)
        return OwnReport(title=asked.title, columns=list(asked.columns), rows=event.rows, by_kind=asked.by_kind)
