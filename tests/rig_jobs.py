"""What a test has the rig do on an instance: one job of some phases, and what was answered."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, TypeVar

from acidtest.conductor.rig import converse
from acidtest.engine import Instance
from acidtest.journal.protocol import (
    Answered,
    AskPhase,
    ClosedLoop,
    Count,
    Duration,
    Event,
    Job,
    Phase,
    RunPhase,
    Settings,
    WorkloadMessage,
)
from acidtest.place import Ledger
from acidtest.workload.commits import CommitsWorkload

COMMITS = CommitsWorkload(row_bytes=50)
Kind = TypeVar("Kind")


def run(terminals: int = 1, transactions: int = 50, **changes: Any) -> RunPhase:
    """A closed loop without warm-up, with these fields otherwise."""
    fields = {
        "pacing": ClosedLoop(think_ms=0),
        "warmup_s": 0,
        "extent": Count(transactions=transactions),
        "retries": 10,
    }
    return RunPhase(terminals=terminals, **(fields | changes))


def endless(terminals: int) -> RunPhase:
    return run(terminals, extent=Duration(seconds=600))


def job_of(instance: Instance, *phases: Phase, workload: WorkloadMessage = COMMITS, **fields: Any) -> Job:
    """A job of these phases on the instance, with its fields otherwise."""
    return Job(
        **{"seed": 1, "target": instance.target(), "inspect": [], **fields}, workload=workload, phases=list(phases)
    )


def talking(instance: Instance, ledger: Ledger, *phases: Phase, **fields: Any) -> Generator[Event]:
    """Each event as it comes."""
    return converse(job_of(instance, *phases, **fields), ledger, instance.environment())


def talk(instance: Instance, ledger: Ledger, *phases: Phase, **fields: Any) -> list[Event]:
    """All events, when the rig has ended."""
    return list(talking(instance, ledger, *phases, **fields))


def of(kind: type[Kind], events: Iterable[object]) -> list[Kind]:
    return [event for event in events if isinstance(event, kind)]


def ask(instance: Instance, ledger: Ledger, *questions: str, **fields: Any) -> list[list[str | None]]:
    """The rows that the last question is answered with."""
    return of(Answered, talk(instance, ledger, AskPhase(questions=list(questions)), **fields))[-1].rows


def in_force(instance: Instance, events: Iterable[object]) -> dict[str, Any]:
    """The settings in force by their names, out of what the rig's sessions answered."""
    return {setting.name: setting for setting in instance.settings_in_force(of(Settings, events))}
