"""The experiment of a diagnosis: what was found beside sane settings."""

from __future__ import annotations

import pytest

from acidtest import conductor, experiment
from acidtest.cli.answering import chosen
from acidtest.question import Answers, Storage
from acidtest.question.base import ENOUGH
from acidtest.question.configuration import Configuration, sane
from acidtest.question.text import Scalar


@pytest.mark.parametrize(
    ("engine", "settings", "level", "wanted"),
    [
        ("sqlite", {"page_size": 1024}, "drive", {("found", "drive"), ("sane", "drive")}),
        (
            "postgresql-17",
            {"fsync": False, "shared_buffers_mb": 64},
            "os",
            {("found", "os"), ("found-durable", "drive"), ("sane", "drive")},
        ),
        ("mariadb-11.8", {}, "drive", {("found", "drive"), ("sane", "drive")}),
        ("firebird-5.0", {"page_size": 8192, "page_buffers": 16384}, "drive", {(None, "drive")}),
        (
            "firebird-5.0",
            {"forced_writes": False},
            "os",
            {("found", "os"), ("found-durable", "drive"), ("sane", "drive")},
        ),
    ],
)
def test_it_can_be_run(
    engine: str, settings: dict[str, Scalar], level: str, wanted: set[tuple[str | None, str]]
) -> None:
    engines = chosen([engine])
    question = Configuration("found", settings, level, {"fsync", "forced_writes"})
    answers = Answers(engines, Storage("directory", ("/tmp",)), file="diagnosis.toml", name="diagnosis")
    for sketch, workloads in zip(question.sketches(answers), ({"commits", "tpcb"}, {"commits"}), strict=True):
        text = sketch.draw(ENOUGH, 0.5).text(question.heading(answers))
        plan = conductor.plan_of(experiment.parse(text, "diagnosis.toml"))
        assert {(cell.levels.get("configuration"), cell.durability) for cell in plan.cells} == wanted
        assert {cell.levels["workload"] for cell in plan.cells} == workloads
        assert len(plan.cells) == ENOUGH * len(wanted) * len(workloads)
        assert {cell.workload.terminals for cell in plan.cells} == {1}
        if wanted == {(None, "drive")}:
            assert plan.cells[0].settings == sane(engines[0])
