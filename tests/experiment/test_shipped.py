"""The experiments that come with acidtest are ones that it accepts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from acidtest import experiment, plan
from acidtest.cli import app, shipped
from acidtest.cli.experiments import copy
from acidtest.conductor import verify
from acidtest.errors import BadInput
from acidtest.plan.verdicts import shown_nothing
from acidtest.question import ENOUGH

SIZES_FOR_A_TREND = 4
SHIPPED = sorted((Path(__file__).parents[2] / "experiments").glob("*.toml"))


@pytest.mark.parametrize("quick", [False, True], ids=["whole", "quick"])
@pytest.mark.parametrize("file", SHIPPED, ids=[file.stem for file in SHIPPED])
def test_it_is_accepted(file: Path, quick: bool) -> None:
    read = experiment.read(file, quick=quick)
    assert read.title
    assert read.question
    assert read.name == file.stem
    verify(plan.make(read), file)


@pytest.mark.parametrize("quick", [False, True], ids=["whole", "quick"])
@pytest.mark.parametrize("file", SHIPPED, ids=[file.stem for file in SHIPPED])
def test_it_can_answer_its_question(file: Path, quick: bool) -> None:
    """Enough repetitions for every comparison that the report makes; of curves enough sizes, of rates enough runs."""
    read = experiment.read(file, quick=quick)
    if read.growth is not None:
        assert read.repetitions >= ENOUGH or len(read.growth.sizes) >= SIZES_FOR_A_TREND
    elif read.search is not None:
        assert read.repetitions >= ENOUGH
    elif "too-few-repetitions" not in experiment.read(file).waive:  # by which it says that it asks for no rate
        assert shown_nothing(plan.make(read)) is None


@pytest.mark.parametrize("name", shipped.experiments())
def test_its_copy_has_all_that_it_names(name: str, tmp_path: Path) -> None:
    copy(name, tmp_path)
    (file,) = tmp_path.glob(f"*/{name}.toml")
    read = experiment.read(file)
    verify(plan.make(read), file)
    if read.program is not None:  # of whose commands verify runs none
        there = {path.name for path in (file.parent / name).iterdir()}
        assert there == {path.name for path in shipped.experiments()[name].with_suffix("").iterdir()}


def test_a_copy_overwrites_nothing_and_is_whole_or_not_there(tmp_path: Path) -> None:
    copy("your-workload", tmp_path)
    changed = tmp_path / "workloads" / "shop" / "schema.sql"
    changed.write_text("mine")
    with pytest.raises(BadInput, match=r"schema\.sql: is there already"):
        copy("replay", tmp_path)
    assert changed.read_text() == "mine"
    assert not (tmp_path / "experiments" / "replay.toml").exists()


def test_every_command_takes_it_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    taken = [parameter for parameter in parameters(typer.main.get_command(app)) if parameter.metavar == "FILE.toml"]
    assert len(taken) > 5
    for parameter in taken:
        context = typer.Context(typer.main.get_command(app))
        assert parameter.process_value(context, "@steady") == shipped.experiments()["steady"]
        assert parameter.process_value(context, "mine.toml") == Path("mine.toml")
        with pytest.raises(BadInput, match=r"@staedy.*did you mean @steady"):
            parameter.process_value(context, "@staedy")
    Path("@staedy").touch()
    assert shipped.experiment_file(Path("@staedy")) == Path("@staedy")


def parameters(command: Any) -> Iterator[Any]:
    """Of a command and all below it."""
    yield from command.params
    for name in getattr(command, "commands", ()):
        yield from parameters(command.commands[name])
