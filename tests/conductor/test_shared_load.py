"""A load that is driven by parts, each by a real rig, against the same load driven by one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from acidtest.analysis.merge import Part, acknowledged_totals, together
from acidtest.conductor import shared_load
from acidtest.conductor.generators import Brought, Moment
from acidtest.conductor.rig import converse
from acidtest.engine import Instance, catalogue
from acidtest.errors import CellFailed
from acidtest.journal.protocol import (
    Checked,
    CheckPhase,
    Duration,
    Job,
    LoadPhase,
    OpenLoop,
    Phase,
    Result,
    RunPhase,
    Share,
)
from acidtest.place import Ledger
from acidtest.workload.tpcb import TpcbWorkload

RATE, WARMUP_S, LENGTH_S = 200.0, 0.5, 2.0


@contextmanager
def loaded(directory: Path, ledger: Ledger) -> Iterator[Instance]:
    directory.mkdir()
    instance = catalogue.find("sqlite").create(directory, {})
    instance.start(ledger)
    try:
        done(instance, ledger, LoadPhase())
        yield instance
    finally:
        instance.release()


def job(instance: Instance, *phases: Phase) -> Job:
    return Job(seed=3, target=instance.target(), workload=TpcbWorkload(scale=1), inspect=[], phases=list(phases))


def done(instance: Instance, ledger: Ledger, *phases: Phase) -> list[object]:
    with closing(converse(job(instance, *phases), ledger, instance.environment())) as events:
        return list(events)


def plan(share: Share | None) -> RunPhase:
    return RunPhase(
        terminals=3,
        pacing=OpenLoop(rate_per_s=RATE, arrivals="poisson"),
        warmup_s=WARMUP_S,
        extent=Duration(seconds=LENGTH_S),
        retries=1000,
        share=share,
    )


def driven(instance: Instance, ledger: Ledger, parts: int) -> list[Brought]:
    """All parts of the load at once, which begin together when all are ready."""
    barrier, found = threading.Barrier(parts), {}
    began: list[int] = []

    def ready() -> Moment:
        if barrier.wait(120) == 0:
            began.append(time.time_ns() + 200_000_000)
        barrier.wait(120)
        return Moment(began[0], 0.0, 0.0)

    def drive(number: int) -> None:
        part = job(instance, plan(Share(number=number, of=parts)))
        found[number] = shared_load.drive(
            part, ledger, instance.environment(), f"host-{number}", ready, lambda event: None
        )

    threads = [threading.Thread(target=drive, args=(number,)) for number in range(parts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == parts
    return [found[number] for number in range(parts)]


def scheduled(parts: list[Brought]) -> int:
    return sum(part.result.arrivals.scheduled for part in parts if part.result.arrivals)


@pytest.mark.parametrize("parts", [pytest.param(2, marks=pytest.mark.long), 3])
def test_parts_have_the_arrivals_of_one_rig_and_the_check_knows_all_commits(
    tmp_path: Path, ledger: Ledger, parts: int
) -> None:
    with loaded(tmp_path / "one", ledger) as instance:
        events = done(instance, ledger, plan(None))
    (whole,) = [event for event in events if isinstance(event, Result)]
    assert whole.arrivals is not None
    with loaded(tmp_path / "many", ledger) as instance:
        brought = driven(instance, ledger, parts)
        assert scheduled(brought) == whole.arrivals.scheduled
        everything = acknowledged_totals([one.shared for one in brought])
        (checked,) = [e for e in done(instance, ledger, CheckPhase(told=everything)) if isinstance(e, Checked)]
        assert all(condition.holds for condition in checked.conditions)
        # One commit more than there was does not pass.
        more = everything.model_copy(update={"committed": everything.committed + 1})
        (checked,) = [e for e in done(instance, ledger, CheckPhase(told=more)) if isinstance(e, Checked)]
        assert [condition.name for condition in checked.conditions if not condition.holds] == [
            "history_matches_acknowledged"
        ]
    result = together([Part(one.result, one.shared) for one in brought])
    assert result.terminals == 3
    assert result.latency.count == result.counts.committed == sum(one.result.counts.committed for one in brought)
    assert sum(one.committed for one in result.series) == everything.committed


def test_one_part_that_is_all_comes_together_as_the_rig_told_it(tmp_path: Path, ledger: Ledger) -> None:
    with loaded(tmp_path / "one", ledger) as instance:
        (alone,) = driven(instance, ledger, 1)
    assert rounded(together([Part(alone.result, alone.shared)]).model_dump()) == rounded(
        alone.result.model_dump(exclude={"event"})
    )


def rounded(value: Any) -> Any:
    """The same with twelve figures: a mean of means is rounded once more than the mean itself."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def test_a_rig_that_is_told_late_measures_the_same_time_and_says_how_late(tmp_path: Path, ledger: Ledger) -> None:
    with loaded(tmp_path / "one", ledger) as instance:
        late = job(instance, plan(Share(number=0, of=2)))
        moment = Moment(time.time_ns() - 700_000_000, 0.0, 0.0)
        brought = shared_load.drive(late, ledger, {}, "late", lambda: moment, lambda event: None)
    assert brought.shared.began_late_ns >= 700_000_000
    assert brought.result.arrivals is not None
    # Those of the warm-up that were past are begun late, and none is dropped.
    assert sum(second.committed for second in brought.shared.seconds) >= brought.result.counts.committed > 0


def test_a_rig_that_dies_before_the_load_begins_is_told(tmp_path: Path, ledger: Ledger) -> None:
    with loaded(tmp_path / "one", ledger) as instance:
        of_three = plan(Share(number=0, of=3)).model_copy(update={"terminals": 2})
        with pytest.raises(CellFailed, match="so few terminals"):
            shared_load.drive(
                job(instance, of_three), ledger, {}, "x", lambda: Moment(time.time_ns(), 0, 0), lambda event: None
            )
