"""Runs of searches: made as somebody decides, kept at once, and not made again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from acidtest import experiment, plan
from acidtest.conductor.conduct import RunOutcome
from acidtest.conductor.run import run
from acidtest.conductor.search import Wanted, search
from acidtest.errors import BadInput
from acidtest.journal.models import Recording
from acidtest.journal.reader import SEARCH
from acidtest.plan import Plan, searches, typical_seconds
from support import journal_lines

TEXT = (
    'name = "searched"\nengine = "sqlite"\ndurability = "os"\nrepetitions = 5\n[factors]\nterminals = [1, 2]\n'
    '[search]\nlimit = "p99 < 1 s"\n[workload.commits]\nduration_s = 0.3\n'
)
RATES = [None, 50.0, 80.0, 80.0]


def decide(recordings: Sequence[Recording]) -> Wanted | None:
    """These rates, whatever the runs show."""
    done = len(recordings)
    if done == len(RATES):
        return None
    number = RATES[:done].count(RATES[done]) + 1
    return Wanted(RATES[done], number, done + 1, len(RATES) - done)


class Bench:
    def __init__(self, root: Path) -> None:
        self.file, self.out = root / "experiment.toml", root / "out"
        self.file.write_text(TEXT)
        self.plan: Plan = plan.make(experiment.read(self.file))

    def run(self, **watches: Callable[..., None]) -> RunOutcome:
        return search(self.plan, self.file, self.out, Mock(**watches), decide)

    def cells(self) -> list[str]:
        return [line["cell"] for line in self.lines()]

    def lines(self) -> list[dict[str, Any]]:
        return journal_lines(self.out, SEARCH)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path / "home"))
    return Bench(tmp_path)


def test_each_combination_has_the_runs_that_are_decided_on_and_they_take_turns(bench: Bench) -> None:
    assert len(searches(bench.plan).cells) == 2
    bench.run()
    found = bench.lines()
    assert len(found) == 8
    assert {one["status"] for one in found} == {"done"}, [one["reason"] for one in found]
    of_one = [one for one in found if one["levels"]["terminals"] == "1"]
    assert [one["cell"] for one in of_one] == [
        f"commits/sqlite/os/1/{level}" for level in ("closed loop#1", "50#1", "80#1", "80#2")
    ]
    assert [one["workload"]["rate_per_s"] for one in of_one] == RATES
    assert [one["result"]["arrivals"] is None for one in of_one] == [True, False, False, False]
    assert all(one["result"]["arrivals"]["lateness"] is not None for one in of_one[1:])
    assert len({one["seed"] for one in of_one}) == 4, "no two runs have the same moments of arrival"
    turns = [{one["levels"]["terminals"] for one in found[n : n + 2]} for n in range(0, 8, 2)]
    assert turns == [{"1", "2"}] * 4
    before = (bench.out / SEARCH).read_bytes()
    assert bench.run().ran == 0
    assert (bench.out / SEARCH).read_bytes() == before


def test_an_interrupted_search_goes_on_with_the_run_that_it_lacked(bench: Bench) -> None:
    ended: list[str] = []

    def interrupt(cell: plan.Cell, left_s: float) -> None:
        if len(ended) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.run(cell_ended=lambda cell, *rest: ended.append(cell.id), cell_begins=interrupt)
    assert bench.cells() == ended
    bench.run()
    assert bench.cells()[:3] == ended
    assert len(set(bench.cells())) == len(bench.cells()) == 8


def test_another_limit_is_another_experiment(bench: Bench) -> None:
    bench.run()
    bench.file.write_text(TEXT.replace("1 s", "2 s"))
    bench.plan = plan.make(experiment.read(bench.file))
    with pytest.raises(BadInput, match="holds the results of another experiment"):
        bench.run()


def test_an_experiment_for_a_search_is_no_ordinary_run(bench: Bench) -> None:
    with pytest.raises(BadInput, match="another command's work"):
        run(bench.plan, bench.file, bench.out, Mock())


def test_a_plan_tells_runs_and_time(bench: Bench) -> None:
    assert plan.typical_runs(bench.plan) == 17
    assert typical_seconds(bench.plan) > 2 * 17 * 0.3


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("rate_per_s = 5\nduration_s = 0.3", "workload.commits.rate_per_s: a search chooses the rates"),
        ("think_ms = 5\nduration_s = 0.3", "workload.commits.think_ms: a search offers rates"),
        ("count = 5", "workload.commits.count: a search needs runs of a set length"),
    ],
)
def test_what_cannot_be_searched_is_refused(bench: Bench, written: str, said: str) -> None:
    bench.file.write_text(TEXT.replace("duration_s = 0.3", written))
    bench.plan = plan.make(experiment.read(bench.file))
    with pytest.raises(BadInput, match=said):
        bench.run()


def test_a_kind_that_the_workload_does_not_have_is_refused(bench: Bench) -> None:
    bench.file.write_text(TEXT.replace('"p99 < 1 s"', '"new_order p99 < 1 s"'))
    bench.plan = plan.make(experiment.read(bench.file))
    with pytest.raises(BadInput, match="the limit names new_order, which is no kind of transaction"):
        bench.run()
