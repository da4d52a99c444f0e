"""The experiments that come with acidtest are ones that it accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest import experiment, plan
from acidtest.conductor import verify
from acidtest.question import ENOUGH
from acidtest.question.verdicts import shown_nothing

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
