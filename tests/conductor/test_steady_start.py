"""What the rig is told in its warm-up, and what is kept of it; and the rig itself, told or not."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import factory
from acidtest.conductor.recording import CellOutcome
from acidtest.conductor.rig import Warming, converse
from acidtest.conductor.steady_start import SteadyStart
from acidtest.engine.sqlite.engine import Sqlite
from acidtest.journal.models import SteadyWait
from acidtest.journal.protocol import ClosedLoop, Count, Duration, Job, LoadPhase, Progress, Result, RunPhase
from acidtest.place import Ledger
from acidtest.workload.commits import Commits


class Rig:
    def __init__(self) -> None:
        self.said: list[int] = []
        self.ended = 0

    def measure_from(self, second: int) -> None:
        self.said.append(second)

    def end_input(self) -> None:
        self.ended += 1


def news(phase: str, at_s: float, done: int) -> Progress:
    return Progress.model_validate(
        {"event": "progress", "phase": phase, "fraction": None, "elapsed_s": at_s, "done": done, "rate_per_s": 0.0, "at": None}
    )  # fmt: skip


def started() -> tuple[SteadyStart, Rig]:
    workload = Commits(kind="commits", duration_s=8.0, warmup_s=2.0, warmup_limit_s=30)
    made, rig = SteadyStart(workload, launcher=Any), Rig()  # type: ignore[arg-type]
    made._rig = rig  # type: ignore[assignment]
    return made, rig


def measured(made: SteadyStart, at_s: float, done: int) -> SteadyWait:
    """What is kept when the measurement has begun then."""
    outcome = CellOutcome()
    made.hear(news("run", at_s, done), outcome)
    made.hear(Result(**dict(factory.result(), warmup_s=float(int(at_s)))), outcome)
    assert outcome.measured_from is not None and outcome.steady_wait is not None
    return outcome.steady_wait


def test_a_steady_rate_is_measured_from_the_next_second_on() -> None:
    made, rig = started()
    for second in range(1, 12):
        made.hear(news("warmup", second + 0.002, 100 * second), CellOutcome())
    assert rig.said == [12]
    kept = measured(made, 12.0003, 1200)
    assert made.warmup_s == 12.0
    assert (kept.reached, kept.waited_s, kept.limit_s, kept.window_s, kept.windows) == (True, 12.0, 30.0, 8, 4)
    assert kept.state == "steady" and len(kept.per_s) == 11


def test_a_rate_that_goes_on_rising_is_measured_at_the_bound() -> None:
    made, rig = started()
    done = 0
    for second in range(1, 30):
        done += 100 * 2**second
        made.hear(news("warmup", second + 0.002, done), CellOutcome())
    kept = measured(made, 30.0001, done)
    assert rig.said == [] and rig.ended == 1  # else it would wait for another job
    assert (kept.reached, kept.state, kept.waited_s) == (False, "steps", 30.0)
    assert kept.change is not None and kept.change > 1


@pytest.mark.parametrize(
    ("second", "extent"), [(2, Duration(seconds=1.0)), (2, Count(transactions=50)), (None, Count(transactions=50))]
)
def test_the_rig_measures_when_it_is_told_and_else_at_the_bound(
    tmp_path: Path, second: int | None, extent: Any
) -> None:
    limit_s = 600.0 if second else 2.0
    instance = Sqlite().create(tmp_path, {})
    phase = RunPhase(
        terminals=2, pacing=ClosedLoop(think_ms=1.0), warmup_s=limit_s, may_start_early=True, extent=extent, retries=0
    )
    job = Job(
        seed=1, target=instance.target(), workload=Commits(kind="commits", count=1, terminals=2).message(), inspect=[],
        phases=[LoadPhase(), phase],
    )  # fmt: skip
    rigs: list[Warming] = []
    results: list[Result] = []
    with closing(Ledger()) as ledger:

        def start(text: bytes, environment: Any) -> Warming:
            rigs.append(Warming(ledger, text, environment))
            return rigs[0]

        heard: list[str] = []
        with closing(converse(job, ledger, {}, start)) as events:
            for event in events:
                if isinstance(event, Progress):
                    if event.phase == "warmup" and second and "warmup" not in heard:
                        rigs[0].measure_from(second)
                    elif event.phase == "run" and "run" not in heard:
                        rigs[0].end_input()
                    heard.append(event.phase)
                elif isinstance(event, Result):
                    results.append(event)
    (result,) = results
    assert result.warmup_s == int(result.warmup_s) >= 2
    assert result.warmup_s < 600 if second else result.warmup_s == 2
    assert result.series[0].at_s == -result.warmup_s
    # Of a run by count what each terminal had under way when the measurement began is none of the count, and may end in
    # its first second.
    beside = sum(one.committed for one in result.series if one.at_s >= 0) - result.counts.committed
    assert 0 <= beside <= (2 if isinstance(extent, Count) else 0)
    if isinstance(extent, Count):
        assert result.counts.committed == 50
    else:
        assert result.measured_s >= 1.0
