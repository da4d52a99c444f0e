"""The driver of conductors: what it refuses, in which order it asks, and that cells may end in any order."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import factory
from acidtest import plan
from acidtest.conductor.admission import refuse_changed_engines
from acidtest.conductor.base import Begun, Conductor, Ended, RunContext, Steps
from acidtest.conductor.conduct import conduct
from acidtest.conductor.grid import _place_of
from acidtest.conductor.output import Output, header
from acidtest.conductor.recording import CellOutcome, RecordingBuilder
from acidtest.conductor.run import output_of
from acidtest.engine import Engine
from acidtest.errors import AcidtestError, BadInput, CellFailed
from acidtest.experiment import parse
from acidtest.journal.models import BuildFacts, EngineFacts
from acidtest.plan import Cell, Plan
from support import journal_lines

TEXT = 'name = "t"\nrepetitions = 3\nengine = "sqlite"\ndurability = "os"\n[workload.commits]\ncount = 1\n'


@pytest.fixture
def three_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path / "home"))
    return plan.make(parse(TEXT, "t.toml"))


class AllAtOnce(Conductor):
    """Begins all cells before the first has ended, and ends them in the reverse order, as several machines may."""

    needed = 0
    engine_version, status = "", "failed"

    def needed_bytes(self, cells: Sequence[Cell], engines: Mapping[str, Engine], parent: Path) -> int:
        return self.needed

    def run(self, cells: Sequence[Cell], context: RunContext) -> Steps:
        builders = {cell.id: RecordingBuilder(cell, context.engine(cell), context.machine) for cell in cells}
        for cell in cells:
            yield Begun(cell)
        for cell in reversed(cells):
            outcome = CellOutcome(engine_version=self.engine_version)
            yield Ended(cell, [builders[cell.id].build(outcome, self.status, "nothing was run")])  # type: ignore[arg-type]

    def left_s(self, cells: Sequence[Cell]) -> float:
        return float(len(cells))


def test_cells_may_be_at_work_together_and_end_in_another_order(three_cells: Plan, tmp_path: Path) -> None:
    watcher = Mock()
    outcome = conduct(three_cells, AllAtOnce(), Output(tmp_path / "out", header(three_cells)), Path("t.toml"), watcher)
    assert outcome.ran == 3
    ids = [cell.id for cell in three_cells.cells]
    assert [line["cell"] for line in journal_lines(tmp_path / "out")] == ids[::-1]
    assert [call.args[1] for call in watcher.cell_begins.call_args_list] == [3.0, 3.0, 3.0]
    assert [(call.args[0].id, call.args[2]) for call in watcher.cell_ended.call_args_list] == [
        (ids[2], 2.0), (ids[1], 1.0), (ids[0], 0.0),
    ]  # fmt: skip


def test_what_a_conductor_refuses_is_refused_before_anything_is_made(three_cells: Plan, tmp_path: Path) -> None:
    class Picky(AllAtOnce):
        def admit(self, cells: Sequence[Cell], engines: Mapping[str, Engine], where: Path) -> None:
            raise BadInput(f"{where}: {len(cells)} cells are too many", "leave some out")

    with pytest.raises(BadInput, match=r"t\.toml: 3 cells are too many"):
        conduct(three_cells, Picky(), Output(tmp_path / "out", header(three_cells)), Path("t.toml"), Mock())
    assert not (tmp_path / "out").exists()


def test_what_needs_more_than_is_free_is_refused_with_what_it_needs(three_cells: Plan, tmp_path: Path) -> None:
    conductor = AllAtOnce()
    conductor.needed = 10**18
    with pytest.raises(BadInput, match=r"needs about 1,000,000,000,032 MB for what this run writes"):
        conduct(three_cells, conductor, Output(tmp_path / "out", header(three_cells)), Path("t.toml"), Mock())
    assert journal_lines(tmp_path / "out") == []


def test_what_could_not_be_released_ends_the_run_with_the_remedy(three_cells: Plan, tmp_path: Path) -> None:
    class Stuck(AllAtOnce):
        def run(self, cells: Sequence[Cell], context: RunContext) -> Steps:
            yield Begun(cells[0])
            raise OSError(errno.EBUSY, "Device or resource busy", "/mnt/x")

    with pytest.raises(AcidtestError, match="/mnt/x: could not be released: Device or resource busy") as raised:
        conduct(three_cells, Stuck(), Output(tmp_path / "out", header(three_cells)), Path("t.toml"), Mock())
    assert raised.value.remedy == "end what uses it, run acidtest clean, then the same command again"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["journal.jsonl"]


def test_recordings_that_do_not_count_are_run_again(three_cells: Plan, tmp_path: Path) -> None:
    out = tmp_path / "out"
    again = Output(out, header(three_cells), runs_again=lambda one: one.status == "failed" and one.repetition == 2)
    conduct(three_cells, AllAtOnce(), again, Path("t.toml"), Mock())
    assert conduct(three_cells, AllAtOnce(), again, Path("t.toml"), Mock()).ran == 1
    assert len(journal_lines(out)) == 4
    for asked, runs in ((False, 0), (True, 3)):
        retried = output_of(three_cells, out, retry_failed=asked)
        assert conduct(three_cells, AllAtOnce(), retried, Path("t.toml"), Mock()).ran == runs


def test_an_engine_that_was_upgraded_between_two_calls_of_a_run_is_refused(three_cells: Plan, tmp_path: Path) -> None:
    """The SQLite of an acidtest that was upgraded; what has failed has no figures, and what is left alone needs none."""
    output = Output(tmp_path / "out", header(three_cells), runs_again=lambda recording: recording.repetition == 2)
    earlier = AllAtOnce()
    earlier.engine_version = "3.1.0"
    conduct(three_cells, earlier, output, Path("t.toml"), Mock())
    earlier.status = "done"
    assert conduct(three_cells, earlier, replace(output, runs_again=lambda _: True), Path("t.toml"), Mock()).ran == 3
    words = (
        r"t\.toml: engine sqlite is 3\.\d+\.\d+ \(built .+\), and cells of this run were measured with 3\.1\.0 \(built"
    )
    with pytest.raises(BadInput, match=words) as refused:
        conduct(three_cells, AllAtOnce(), output, Path("t.toml"), Mock())
    assert refused.value.remedy == "run the experiment into another directory (--out), or put the earlier engine back"
    whole = replace(output, runs_again=lambda _: False)
    assert conduct(three_cells, AllAtOnce(), whole, Path("t.toml"), Mock()).ran == 0


DEBIAN = "Debian testing, firebird3.0-server 3.0.14.ds7-1, sha256 c49b"
SYSTEM = "the system's package with /usr/sbin/mariadbd"


@pytest.mark.parametrize(
    ("before", "now", "is_refused"),
    [
        ({"version": "3.0.14", "source": DEBIAN}, {"version": "3.0.14.33856", "source": DEBIAN}, False),
        ({"version": "3.0.14", "source": DEBIAN}, {"version": "3.0.14.33856", "source": f"{DEBIAN}4"}, True),
        ({"version": "10.11.19-MariaDB", "source": SYSTEM}, {"version": "10.11.19", "source": SYSTEM}, False),
        ({"version": "10.11.19-MariaDB", "source": SYSTEM}, {"version": "10.11.20", "source": SYSTEM}, True),
        ({"version": "18.1", "source": "postgresql://me@db:5432/t"}, {"source": "postgresql://me@db:5432/t"}, False),
        ({"build": "a"}, {"build": "a"}, False),
        ({"build": "a"}, {"build": "b"}, True),
        ({"mode": "program", "version": "1"}, {"mode": "program", "version": "2"}, False),  # see test_programs.py
    ],
)  # fmt: skip
def test_which_engines_are_the_same_as_before(before: dict[str, str], now: dict[str, str], is_refused: bool) -> None:
    def facts(build: str = "", **given: str) -> EngineFacts:
        made = BuildFacts(file="/opt/pg", sha256=build, options=[], series="postgresql-18") if build else None
        kept: dict[str, Any] = {
            "id": "e",
            "version": "",
            "architecture": "x86-64",
            "source": "",
            "mode": "server",
            **given,
        }
        return EngineFacts(**kept, build=made)

    held = factory.journal([factory.recording(engine=facts(**before))])
    with pytest.raises(BadInput, match="were measured with") if is_refused else nullcontext():
        refuse_changed_engines(held, {"e": facts(**now)}, Path("t.toml"))


def test_the_place_of_a_cell_that_fails_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    place, context = Mock(), Mock(holds=Mock(return_value=False))
    monkeypatch.setattr("acidtest.conductor.grid.make_place", Mock(return_value=place))
    monkeypatch.setattr("acidtest.conductor.grid.template_bytes", Mock(return_value=0))
    with pytest.raises(CellFailed), _place_of(Mock(), context) as made:
        assert made is place
        raise CellFailed("the engine did not start")
    place.release.assert_called_once()
