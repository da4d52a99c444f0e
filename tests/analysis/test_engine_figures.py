"""What sessions waited for: of those at work, over all looks of all repetitions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest

import factory
from acidtest.analysis import stalls
from acidtest.analysis.engine_figures import waits
from acidtest.analysis.samples import Row
from acidtest.engine.postgres import figures
from acidtest.journal.models import AT_WORK, AT_WORK_IN
from acidtest.report import shapes

LEVELS = {"workload": "tpcb", "engine": "mine", "durability": "drive"}


def row(*runs: Mapping[str, Sequence[int | None]] | None) -> Row:
    done = []
    for n, of in enumerate(runs, start=1):
        one = factory.recording(LEVELS, n)
        done.append(one.model_copy(update={"engine_samples": factory.engine_samples(of) if of else None}))
    return Row(LEVELS, done, [], [])


def test_shares_are_of_the_sessions_at_work() -> None:
    first = {AT_WORK: [4, 4, 0], "at work: WALSync": [3, None, None], "at work: processor": [1, 2, None]}
    first |= {"at work: WALWrite (LWLock)": [None, 2, None], "waiting_for_io": [4, 4, 4]}
    second = {AT_WORK: [2, None], "at work: WALSync": [2, None]}
    found = waits(row(first, second))
    assert found is not None
    assert (found.looks, found.sessions) == (4, 10)
    assert [(one.what, one.count, one.share) for one in found.seen] == [
        ("WALSync", 5, 0.5), ("processor", 3, 0.3), ("WALWrite (LWLock)", 2, 0.2),
    ]  # fmt: skip
    assert shapes.waited(row(first, second)) == [
        "of the sessions that were at work: 50% WALSync, 30% processor, 20% WALWrite (LWLock) (10 sessions in 4 looks, "
        "one a second)."
    ]


@pytest.mark.parametrize("run", [None, {"waiting_for_io": [4, 4]}, {AT_WORK: [0, 0]}])
def test_nothing_is_said_where_nobody_was_seen_at_work(run: Mapping[str, Sequence[int | None]] | None) -> None:
    assert waits(row(run)) is None
    assert shapes.waited(row(run)) == []


def test_seldom_waits_are_put_together() -> None:
    counts = (40, 30, 15, 8, 5, 1, 1)
    (said,) = shapes.waited(row({AT_WORK: [100], **{f"{AT_WORK_IN}{n}": [many] for n, many in enumerate(counts)}}))
    assert "2% something else (100 sessions in 1 look, one a second)" in said


def test_a_stall_tells_waits_by_their_kinds_alone() -> None:
    rates = [100, 100, 100, 100, 20, 10, 100, 100, 100, 100]
    one = factory.recording(LEVELS, found=factory.result(seconds=10, rates=rates))
    samples = factory.engine_samples({AT_WORK: [4] * 11, "at work: WALSync": [4] * 11, "waiting": [4] * 11})
    (stall,) = stalls.of_recording(one.model_copy(update={"engine_samples": samples}))
    assert stall.engine is not None
    assert len(stall.engine) == 1


def test_what_a_postgresql_answers_with_is_what_is_wanted_of_it() -> None:
    names = [figure.name for figure in figures.TABLE]
    assert len(set(names)) == len(names)
    labels = re.findall(r"\('\w+', '\w+', '([^']+)'\)", figures.OF_SESSIONS)
    assert labels
    assert {f"{AT_WORK_IN}{label}" for label in (*labels, figures.PROCESSOR, figures.OTHER)} <= set(names)
