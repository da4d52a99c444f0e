"""Experiments of many cells: what each of them costs does not depend on how many there are, and too many are refused."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidtest import conductor, experiment, plan
from acidtest.cli.plan import SHOWN_FIRST, SHOWN_LAST, SHOWN_MAX
from acidtest.cli.plan import plan as plan_command
from acidtest.cli.powercut import powercut
from acidtest.cli.run import run
from acidtest.cli.trace import trace
from acidtest.conductor.conduct import Estimate
from acidtest.conductor.output import Output, header
from acidtest.errors import BadInput
from acidtest.journal.models import Journal
from acidtest.journal.writer import JournalWriter
from acidtest.plan import cells as crossing
from acidtest.powercut.conductor import chosen
from factory import recording
from support import work_of

pytestmark = pytest.mark.slow

# SQLite has no page_buffers, so that combinations become equal; one entry excludes some.
TEXT = """
name = "many"
title = "Many [of] them"
repetitions = {repetitions}
base = {{ engine = "sqlite" }}
[factors]
engine = ["sqlite", "firebird-5.0", "mine"]
durability = ["os", "drive"]
"firebird.page_buffers" = [100, 200]
"sqlite.page_size" = [4096, 8192]
terminals = {terminals}
[[exclude]]
engine = "mine"
durability = "os"
[servers.mine]
url = "postgresql://me@db/test"
[workload.commits]
count = 100
"""


def written(directory: Path, terminals: int, repetitions: int = 1) -> Path:
    file = directory / f"{terminals}-{repetitions}.toml"
    file.write_text(TEXT.format(repetitions=repetitions, terminals=list(range(1, terminals + 1))))
    return file


def planned(directory: Path, terminals: int, repetitions: int = 1) -> plan.Plan:
    return conductor.plan_of(experiment.read(written(directory, terminals, repetitions)))


def planning(file: Path) -> Callable[[], object]:
    """All that ``acidtest plan`` does."""
    return lambda: plan_command(file, all_=True)


def grows_evenly(small: int, middle: int, large: int) -> bool:
    """Whether from the first to the second as much is added as for each of twice as many from the second to the third.

    Of work that grows with the square three times as much would be added.
    """
    return 0 < large - middle < 2.2 * (middle - small)


@pytest.mark.parametrize(
    "sizes", [((20, 1), (40, 1), (80, 1)), ((10, 4), (10, 8), (10, 16))], ids=["levels", "repetitions"]
)
def test_each_cell_costs_the_same_to_plan_whatever_their_number(
    tmp_path: Path, sizes: tuple[tuple[int, int], ...], capsys: pytest.CaptureFixture[str]
) -> None:
    files = [written(tmp_path, *size) for size in sizes]
    planning(files[0])()  # what is imported and kept by the first call is not counted
    assert grows_evenly(*(work_of(planning(file)) for file in files))


def test_engines_are_looked_up_as_often_for_many_cells_as_for_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counts: list[int] = []
    all_engines = conductor.engines.catalogue.all_engines

    def counted() -> object:
        counts.append(1)
        return all_engines()

    monkeypatch.setattr(conductor.engines.catalogue, "all_engines", counted)
    often = []
    for terminals in (2, 40):
        counts.clear()
        planning(written(tmp_path, terminals))()
        often.append(len(counts))
    assert often[0] == often[1] < 10


def test_each_cell_costs_the_same_to_find_in_a_journal_and_to_cut(tmp_path: Path) -> None:
    one = recording()

    def resumed(cells: plan.Plan) -> Callable[[], object]:
        done = [one.model_copy(update={"cell": cell.id}) for cell in cells.cells[::2]]
        journal = Journal(path="", header=header(cells), recordings=done, torn_bytes=0)
        return lambda: (Output(tmp_path, header(cells)).remaining(cells, journal), chosen(cells))

    plans = [planned(tmp_path, size, 2) for size in (20, 40, 80)]
    assert grows_evenly(*(work_of(resumed(plan)) for plan in plans))
    left = Output(tmp_path, header(plans[0])).remaining(
        plans[0], Journal(path="", header=header(plans[0]), recordings=[], torn_bytes=0)
    )
    assert left == list(plans[0].cells)


def test_each_recording_costs_the_same_to_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    one = recording()
    with JournalWriter(tmp_path, header(planned(tmp_path, 1))) as writer:

        def append(first: int, last: int) -> Callable[[], object]:
            return lambda: [writer.append(one.model_copy(update={"cell": f"c#{n}"})) for n in range(first, last)]

        assert work_of(append(0, 10)) == work_of(append(10, 20)) == work_of(append(20, 30))
        writer.append(one.model_copy(update={"cell": "c#3"}))
        assert [held.cell for held in writer.journal.recordings] == [*(f"c#{n}" for n in range(30) if n != 3), "c#3"]


def test_the_time_left_is_asked_for_so_seldom_that_it_costs_little(tmp_path: Path) -> None:
    looked_at, now = [0], [0.0]

    def left_s(cells: object) -> float:
        looked_at[0] += len(cells)  # type: ignore[arg-type]
        return 3.0 * len(cells)  # type: ignore[arg-type]

    def told(cells: int) -> Iterator[float]:
        estimate, looked_at[0] = Estimate(left_s, clock=lambda: now[0]), 0
        left = dict.fromkeys(range(cells))
        for cell in range(cells):
            yield estimate.seconds(left)  # type: ignore[arg-type]
            now[0] += 3.0
            del left[cell]
        yield estimate.seconds(left)  # type: ignore[arg-type]

    for cells in (10, 10_000):
        assert list(told(cells)) == pytest.approx([3.0 * left for left in range(cells, -1, -1)])
    assert looked_at[0] < 10_000 * Estimate.ASKED_PER * 8  # and not 10,000 * 10,000 / 2


# ------------------------------------------------------------------------------------------------ too many


@pytest.mark.parametrize(
    "command",
    [
        plan_command,
        lambda file: run(file, file.parent / "out"),
        lambda file: powercut(file, file.parent / "out"),
        trace,
    ],
    ids=["plan", "run", "powercut", "trace"],
)
def test_too_many_cells_are_refused_before_they_are_crossed(
    command: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(crossing, "_cross")
    with pytest.raises(BadInput) as refused:
        command(written(tmp_path, 2_500, 50))
    product = (
        "engine 3 x durability 2 x firebird.page_buffers 2 x sqlite.page_size 2 x terminals 2,500 x repetitions 50"
    )
    assert refused.value.message == (
        f"{tmp_path}/2500-50.toml: {product} = 3,000,000 cells, before [[exclude]]; an experiment has at most 200,000"
    )
    assert "fewer levels or repetitions" in refused.value.remedy
    assert not (tmp_path / "out").exists()


def test_sizes_count_as_levels(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    sizes = [f"{n} MB" for n in range(1, 402)]
    file.write_text(
        f'name = "t"\nengine = "sqlite"\ndurability = "os"\nrepetitions = 500\n[growth]\nsizes = {sizes}\n'
        "[workload.tpcc]\nduration_s = 1\n"
    )
    with pytest.raises(
        BadInput, match=r"t\.toml: size 401 x repetitions 500 = 200,500 cells; an experiment has at most"
    ):
        plan_command(file)


# ------------------------------------------------------------------------------------------------ what is shown


def test_of_many_combinations_the_first_and_the_last_are_shown_and_their_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, 60, 2)
    combinations = conductor.plan_of(experiment.read(file)).combinations()
    assert len(combinations) > SHOWN_MAX
    plan_command(file)
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if re.match("sqlite|firebird|mine", line)]
    assert len(rows) == SHOWN_FIRST + SHOWN_LAST
    assert rows[0].split()[:5] == ["sqlite", "os", "–", "4096", "1"]
    assert rows[-1].split()[:5] == ["mine", "drive", "–", "–", "60"]
    text = "\n".join(lines)
    assert (
        f"{len(combinations) - 25:,} of {len(combinations):,} combinations are not shown: --all shows every one" in text
    )
    assert f"{2 * len(combinations):,} cells ({len(combinations):,} combinations" in text.replace("\n", " ")


def test_all_of_them_are_shown_when_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, 60, 2)
    combinations = conductor.plan_of(experiment.read(file)).combinations()
    plan_command(file, all_=True)
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if re.match("sqlite|firebird|mine", line)]
    assert [row.split()[:5] for row in rows] == [list(cell.levels.values())[1:] for cell in combinations]
    assert "not shown" not in "\n".join(lines)
    assert lines[0] == "Many [of] them"
    plan_command(file, json=True)
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [cell["order"] for cell in cells] == list(range(1, 2 * len(combinations) + 1))
    assert {cell["id"] for cell in cells} == {
        f"{combination.combination}#{n}" for combination in combinations for n in (1, 2)
    }


def test_few_combinations_are_shown_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan_command(written(tmp_path, 3))
    text = capsys.readouterr().out
    assert len(re.findall("^(?:sqlite|firebird|mine)", text, re.MULTILINE)) == 3 * (2 * 2 + 2 * 2 + 1)
    assert "…" not in text
