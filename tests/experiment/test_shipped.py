"""The experiments that come with acidtest are ones that it accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest import experiment, plan
from acidtest.conductor import verify

SHIPPED = sorted((Path(__file__).parents[2] / "experiments").glob("*.toml"))


@pytest.mark.parametrize("quick", [False, True], ids=["whole", "quick"])
@pytest.mark.parametrize("file", SHIPPED, ids=[file.stem for file in SHIPPED])
def test_it_is_accepted(file: Path, quick: bool) -> None:
    read = experiment.read(file, quick=quick)
    assert read.title
    assert read.question
    assert read.name == file.stem
    verify(plan.make(read), file)
